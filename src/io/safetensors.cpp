// Implements the .safetensors header: a strict, event-driven reader of its JSON, and its writer.
#include "io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "estoc/status.hpp"
#include "io/file_format.h"

namespace estoc::io {
namespace {

using nlohmann::json;

constexpr std::size_t kPrefix = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxModes = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct DtypeEntry {
  std::string_view name;
  int bits;
  std::optional<Dtype> dtype;
};

// Those that Estoc has, then those of which it knows the size.
constexpr std::array kDtypes{
#define ESTOC_DTYPE_NAMES(name, safetensors, ...) \
  DtypeEntry{safetensors, dtype_bits(Dtype::name), Dtype::name},
#include "estoc/dtypes.def"
    DtypeEntry{"I64", 64, std::nullopt},    DtypeEntry{"U64", 64, std::nullopt},
    DtypeEntry{"U32", 32, std::nullopt},    DtypeEntry{"I16", 16, std::nullopt},
    DtypeEntry{"U16", 16, std::nullopt},    DtypeEntry{"C64", 64, std::nullopt},
    DtypeEntry{"F6_E2M3", 6, std::nullopt}, DtypeEntry{"F6_E3M2", 6, std::nullopt},
    DtypeEntry{"F4", 4, std::nullopt},
};

const DtypeEntry* find_dtype(std::string_view name) {
  const auto* found = std::ranges::find(kDtypes, name, &DtypeEntry::name);
  return found == kDtypes.end() || name.empty() ? nullptr : found;
}

/// Receives the events of the JSON parser, accepts the one structure the format allows and
/// collects the tensors. Each event returns false to stop, with the reason in `error`.
class HeaderHandler {
 public:
  std::vector<SafetensorsEntry> entries;
  std::string error;

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_float(double, const std::string&) {
    return unexpected("a number that is no integer below 2^64");
  }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool binary(json::binary_t&) { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t number) {
    if (place_ == Place::shape) return add_extent(number);
    if (place_ == Place::offsets) return add_offset(number);
    return unexpected("a number");
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::tensor || field_ != Field::dtype) return unexpected("a string");
    entries.back().dtype = std::move(text);
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) return enter(Place::file);
    if (place_ != Place::file) return unexpected("an object");
    return enter(in_metadata_ ? Place::metadata : Place::tensor);
  }

  bool key(std::string& name) {
    if (place_ == Place::file) return start_entry(name);
    if (place_ == Place::tensor) return start_field(name);
    return true;
  }

  bool end_object() {
    if (place_ != Place::tensor) return enter(place_ == Place::file ? Place::outside : Place::file);
    if (seen_ != kAllFields || offsets_ != 2) {
      return fail("lacks one of dtype, shape and two data_offsets");
    }
    return enter(Place::file);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::tensor && field_ == Field::shape) return enter(Place::shape);
    if (place_ == Place::tensor && field_ == Field::offsets) return enter(Place::offsets);
    return unexpected("an array");
  }

  bool end_array() { return enter(Place::tensor); }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    error = fmt::format("its header is not valid JSON at byte {}", position + kPrefix);
    return false;
  }

 private:
  enum class Place { outside, file, metadata, tensor, shape, offsets };
  enum class Field : unsigned { dtype = 1, shape = 2, offsets = 4 };
  static constexpr unsigned kAllFields = 7;

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  bool fail(std::string_view why) {
    const bool in_tensor = place_ != Place::outside && place_ != Place::file && !in_metadata_;
    error = in_tensor ? fmt::format("tensor {} {}", in_quotes(entries.back().name), why)
                      : fmt::format("its header {}", why);
    return false;
  }

  bool unexpected(std::string_view what) {
    constexpr std::array kExpected{"an object",
                                   "an object for each tensor",
                                   "text in __metadata__",
                                   "a dtype, a shape and data_offsets",
                                   "extents in its shape",
                                   "two data_offsets"};
    return fail(
        fmt::format("has {}, expected {}", what, kExpected[static_cast<std::size_t>(place_)]));
  }

  bool start_entry(std::string& name) {
    in_metadata_ = name == kMetadata;
    if (in_metadata_ && std::exchange(has_metadata_, true)) return fail("has __metadata__ twice");
    if (in_metadata_) return true;
    entries.emplace_back().name = std::move(name);
    seen_ = 0;
    offsets_ = 0;
    return true;
  }

  bool start_field(std::string_view name) {
    if (name == "dtype") {
      field_ = Field::dtype;
    } else if (name == "shape") {
      field_ = Field::shape;
    } else if (name == "data_offsets") {
      field_ = Field::offsets;
    } else {
      return fail(fmt::format("has the unknown key {}", in_quotes(name)));
    }
    const auto bit = static_cast<unsigned>(field_);
    if ((seen_ & bit) != 0) return fail(fmt::format("has the key {} twice", in_quotes(name)));
    seen_ |= bit;
    return true;
  }

  bool add_extent(std::uint64_t extent) {
    std::vector<std::int64_t>& shape = entries.back().shape;
    if (extent > static_cast<std::uint64_t>(INT64_MAX)) return fail("has a shape that overflows");
    if (shape.size() == kMaxModes) return fail(fmt::format("has over {} modes", kMaxModes));
    shape.push_back(static_cast<std::int64_t>(extent));
    return true;
  }

  bool add_offset(std::uint64_t offset) {
    if (offsets_ == 2) return fail("has more than two data_offsets");
    (offsets_ == 0 ? entries.back().begin : entries.back().end) = offset;
    ++offsets_;
    return true;
  }

  Place place_ = Place::outside;
  Field field_ = Field::dtype;
  unsigned seen_ = 0;
  int offsets_ = 0;
  bool in_metadata_ = false;
  bool has_metadata_ = false;
};

/// The header's text, after its length has been checked.
std::string_view header_text(std::string_view text, std::string_view file) {
  if (text.size() < kPrefix) refuse(file, "it is truncated");
  std::uint64_t length = 0;
  for (std::size_t i = kPrefix; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(text[i]);
  if (length > kLongestHeader) {
    refuse(file,
           fmt::format("its header claims {} bytes, expected at most {}", length, kLongestHeader));
  }
  if (length > text.size() - kPrefix) refuse(file, "it is truncated within its header");
  const std::string_view header = text.substr(kPrefix, length);
  if (!header.starts_with('{')) refuse(file, "its header does not begin with '{'");
  return header;
}

void check_names(const std::vector<SafetensorsEntry>& entries, std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries)
    names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    refuse(file, fmt::format("tensor {} is there twice", in_quotes(*twice)));
}

void check_size(const SafetensorsEntry& entry, std::string_view file) {
  const DtypeEntry* const known = find_dtype(entry.dtype);
  const int bits = known != nullptr ? known->bits : 1;
  if (!padded_elements(entry.shape, bits)) {
    refuse(file, fmt::format("tensor {} has a shape that overflows: ({})", in_quotes(entry.name),
                             fmt::join(entry.shape, ", ")));
  }
  if (known == nullptr) return;
  const auto total_bits =
      static_cast<std::uint64_t>(count_elements(entry.shape)) * static_cast<std::uint64_t>(bits);
  const std::size_t size = entry.end - entry.begin;
  if (total_bits % 8 != 0 || total_bits / 8 != size) {
    refuse(file, fmt::format("tensor {} has {} bytes of data, expected {} for {} ({})",
                             in_quotes(entry.name), size, (total_bits + 7) / 8, entry.dtype,
                             fmt::join(entry.shape, ", ")));
  }
}

/// Checks that the tensors, offsets counted from the end of the header, fill `size` bytes exactly.
void check_offsets(const std::vector<SafetensorsEntry>& entries, std::size_t size,
                   std::string_view file) {
  std::vector<const SafetensorsEntry*> sorted;
  sorted.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin > entry.end || entry.end > size) {
      refuse(file, fmt::format("tensor {} has the data_offsets [{}, {}], the file has {} bytes of "
                               "data",
                               in_quotes(entry.name), entry.begin, entry.end, size));
    }
    sorted.push_back(&entry);
  }
  std::ranges::sort(sorted, [](const SafetensorsEntry* x, const SafetensorsEntry* y) {
    return std::pair(x->begin, x->end) < std::pair(y->begin, y->end);
  });
  std::size_t filled = 0;
  for (const SafetensorsEntry* entry : sorted) {
    if (entry->begin != filled) {
      const std::string_view what = entry->begin < filled ? "overlap" : "leave a gap before";
      refuse(file, fmt::format("its data {} tensor {}", what, in_quotes(entry->name)));
    }
    filled = entry->end;
  }
  if (filled != size) {
    refuse(file, fmt::format("{} bytes at its end belong to no tensor", size - filled));
  }
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> bytes,
                                                std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view header = header_text(text, file);
  HeaderHandler handler;
  if (!json::sax_parse(header.begin(), header.end(), &handler)) refuse(file, handler.error);

  std::vector<SafetensorsEntry> entries = std::move(handler.entries);
  const std::size_t data = kPrefix + header.size();
  check_names(entries, file);
  check_offsets(entries, text.size() - data, file);
  for (SafetensorsEntry& entry : entries) {
    check_size(entry, file);
    entry.begin += data;
    entry.end += data;
  }
  return entries;
}

void check_safetensors_name(std::string_view name) {
  if (name == kMetadata) {
    throw Error(ErrorKind::value, "a tensor cannot be named __metadata__ in a .safetensors file");
  }
  try {
    static_cast<void>(json(name).dump());
  } catch (const json::exception&) {
    throw Error(ErrorKind::value, fmt::format("the tensor name {} is not UTF-8", in_quotes(name)));
  }
}

std::string safetensors_header(std::string_view name, Dtype dtype,
                               std::span<const std::int64_t> shape) {
  check_safetensors_name(name);
  std::string text =
      fmt::format(R"({{{}:{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
                  json(name).dump(), safetensors_dtype(dtype).value(), fmt::join(shape, ","),
                  storage_bytes(dtype, count_elements(shape)));
  text.append((kPrefix - text.size() % kPrefix) % kPrefix, ' ');
  std::string header;
  for (std::size_t i = 0; i < kPrefix; ++i)
    header += static_cast<char>(std::uint64_t{text.size()} >> (8 * i) & 0xFF);
  return header + text;
}

std::optional<std::string_view> safetensors_dtype(Dtype dtype) {
  const std::string_view name = kDtypes[static_cast<std::size_t>(dtype)].name;
  return name.empty() ? std::nullopt : std::optional(name);
}

std::optional<Dtype> parse_safetensors_dtype(std::string_view name) {
  const DtypeEntry* const known = find_dtype(name);
  return known == nullptr ? std::nullopt : known->dtype;
}

}  // namespace estoc::io
