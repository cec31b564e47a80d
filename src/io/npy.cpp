// Implements the .npy header: a strict reader of the Python literal in it, and its writer.
#include "io/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/text.h"
#include "estoc/tensor.hpp"
#include "io/file_format.h"

namespace estoc::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;
/// A header of three entries needs some hundred bytes; anything far longer is not one.
constexpr std::size_t kLongestHeader = 64 * 1024;
constexpr std::size_t kHeaderAlignment = 64;

struct DescrEntry {
  std::string_view descr;
  Dtype dtype;
};

constexpr std::array kDescrs{
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, ...) DescrEntry{npy, Dtype::name},
#include "estoc/dtypes.def"
};

/// Reads the header's dictionary: a Python literal with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    if (at_ != text_.size()) fail("expected the end of the header");
    if (!(has_descr_ && has_order_ && has_shape_)) {
      refuse(file_, "its header lacks one of 'descr', 'fortran_order' and 'shape'");
    }
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    refuse(file_, fmt::format("its header is malformed at character {}: {}", at_ + 1, expected));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("expected '{}'", wanted));
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view parse_string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("expected a string");
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("expected the string to end");
    const std::string_view content = text_.substr(begin, end - begin);
    if (content.find('\\') != std::string_view::npos) fail("expected a string without escapes");
    at_ = end + 1;
    return content;
  }

  void parse_entry() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr") return parse_descr();
    if (key == "fortran_order") return parse_order();
    if (key == "shape") return parse_shape();
    refuse(file_, fmt::format("its header has the unknown key {}", in_quotes(key)));
  }

  void once(bool& seen, std::string_view key) {
    if (seen) refuse(file_, fmt::format("its header has the key '{}' twice", key));
    seen = true;
  }

  void parse_descr() {
    once(has_descr_, "descr");
    if (accept('[') || accept('(')) {
      refuse(file_, "its elements are structured; expected plain numbers");
    }
    const std::string_view descr = parse_string();
    const std::optional<Dtype> dtype = find_descr(descr);
    if (!dtype) {
      const bool big_endian = descr.starts_with('>');
      refuse(file_, big_endian ? fmt::format("dtype {} is big-endian, expected little-endian",
                                             in_quotes(descr))
                               : fmt::format("Estoc has no dtype for {}", in_quotes(descr)));
    }
    header_.dtype = *dtype;
  }

  static std::optional<Dtype> find_descr(std::string_view descr) {
    for (const DescrEntry& entry : kDescrs) {
      if (entry.descr == descr && !descr.empty()) return entry.dtype;
      // Byte order means nothing for single bytes, so any mark will do.
      const bool byte_sized = entry.descr.starts_with('|') && descr.size() == 3;
      const bool marked =
          !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
      if (byte_sized && marked && descr.substr(1) == entry.descr.substr(1)) return entry.dtype;
    }
    return std::nullopt;
  }

  void parse_order() {
    once(has_order_, "fortran_order");
    header_.fortran_order = accept_word("True");
    if (!header_.fortran_order && !accept_word("False")) fail("expected True or False");
  }

  void parse_shape() {
    once(has_shape_, "shape");
    expect('(');
    while (!accept(')')) {
      header_.shape.push_back(parse_extent());
      if (header_.shape.size() > kMaxRank) {
        refuse(file_, fmt::format("it has more than {} modes", kMaxRank));
      }
      const bool comma = accept(',');
      if (accept(')')) {
        if (!comma && header_.shape.size() == 1) fail("expected a comma in a tuple of one");
        return;
      }
      if (!comma) fail("expected ',' or ')'");
    }
  }

  std::int64_t parse_extent() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9')
      ++end;
    if (end == at_) fail("expected a non-negative integer");
    const auto extent = core::parse_int64(text_.substr(at_, end - at_));
    if (!extent) fail("expected an extent below 2^63");
    at_ = end;
    return *extent;
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

/// The little-endian number in `digits`.
std::size_t little_endian(std::string_view digits) {
  std::size_t number = 0;
  for (std::size_t i = digits.size(); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(digits[i]);
  return number;
}

/// Bytes of the field that holds the header's length, by the format's version.
std::size_t length_field(std::string_view text, std::string_view file) {
  if (!text.starts_with(kMagic)) refuse(file, "it is not a .npy file (wrong first bytes)");
  if (text.size() < kVersionEnd) refuse(file, "it is truncated");
  const int major = static_cast<unsigned char>(text[6]);
  const int minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(file, fmt::format(".npy version {}.{} is unknown, expected 1.0 to 3.0", major, minor));
  }
  return major == 1 ? 2 : 4;
}

void check_size(const NpyHeader& header, std::size_t available, std::string_view file) {
  const int bits = dtype_bits(header.dtype);
  if (!padded_elements(header.shape, bits)) {
    refuse(file, fmt::format("its shape ({}) overflows", fmt::join(header.shape, ", ")));
  }
  const auto expected =
      static_cast<std::size_t>(storage_bytes(header.dtype, count_elements(header.shape)));
  if (expected != available) {
    refuse(file, fmt::format("its header describes {} bytes of data, the file has {}", expected,
                             available));
  }
}

}  // namespace

NpyHeader parse_npy(std::span<const std::byte> bytes, std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t begin = kVersionEnd + length_field(text, file);
  if (text.size() < begin) refuse(file, "it is truncated");
  const std::size_t length = little_endian(text.substr(kVersionEnd, begin - kVersionEnd));
  if (length > kLongestHeader) {
    refuse(file,
           fmt::format("its header claims {} bytes, expected at most {}", length, kLongestHeader));
  }
  if (length > text.size() - begin) refuse(file, "it is truncated within its header");
  NpyHeader header = HeaderParser(text.substr(begin, length), file).parse();
  header.data_offset = begin + length;
  check_size(header, text.size() - header.data_offset, file);
  return header;
}

std::string npy_header(Dtype dtype, std::span<const std::int64_t> shape) {
  const std::string extents =
      shape.size() == 1 ? fmt::format("{},", shape[0]) : fmt::format("{}", fmt::join(shape, ", "));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 npy_descr(dtype).value(), extents);
  const std::size_t fixed = kVersionEnd + 2;
  const std::size_t total =
      (fixed + text.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  text.append(total - fixed - text.size() - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::optional<std::string_view> npy_descr(Dtype dtype) {
  const std::string_view descr = kDescrs[static_cast<std::size_t>(dtype)].descr;
  return descr.empty() ? std::nullopt : std::optional(descr);
}

}  // namespace estoc::io
