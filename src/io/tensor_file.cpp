// Implements opening and saving of tensors in files.
#include "estoc/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "core/text.h"
#include "estoc/status.hpp"
#include "io/file_format.h"
#include "io/npy.h"
#include "io/row_major.h"
#include "io/safetensors.h"
#include "io/tensor_path.h"

namespace estoc {
namespace {

using core::AtomicFile;
using core::MappedFile;
using io::FileFormat;
using io::NpyHeader;
using io::SafetensorsEntry;
using io::TensorPath;

constexpr std::string_view kDefaultName = "out";
constexpr std::size_t kCopyAlignment = 64;
constexpr std::size_t kLongestGuess = 256;  // edit distance is quadratic
constexpr std::size_t kNamesListed = 8;

/// Bytes in a file, and what keeps them in memory.
struct Storage {
  std::shared_ptr<const void> owner;
  const std::byte* data;
};

/// The part of the file at `offset`; copied to aligned memory if the file does not align it.
Storage aligned_storage(std::shared_ptr<const MappedFile> mapping, std::size_t offset,
                        std::size_t size, std::size_t alignment) {
  const std::byte* const data = mapping->bytes().data() + offset;
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return {std::move(mapping), data};
  constexpr std::align_val_t kAlignment{kCopyAlignment};
  auto* const copy = static_cast<std::byte*>(::operator new(size, kAlignment));
  std::shared_ptr<const void> owner(
      copy, [](std::byte* memory) { ::operator delete(memory, kAlignment); });
  std::memcpy(copy, data, size);
  return {std::move(owner), copy};
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape, bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t mode = fortran_order ? i : shape.size() - 1 - i;
    strides[mode] = stride;
    stride *= std::max<std::int64_t>(shape[mode], 1);
  }
  return strides;
}

std::string list_names(const std::vector<SafetensorsEntry>& entries) {
  std::string list;
  for (std::size_t i = 0; i < std::min(entries.size(), kNamesListed); ++i)
    list += (i == 0 ? "" : ", ") + io::in_quotes(entries[i].name);
  const std::size_t more = entries.size() - std::min(entries.size(), kNamesListed);
  return more == 0 ? list : fmt::format("{} and {} more", list, more);
}

[[noreturn]] void throw_missing_tensor(const std::string& file, const std::string& name,
                                       const std::vector<SafetensorsEntry>& entries) {
  std::vector<std::string_view> names;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name.size() <= kLongestGuess) names.push_back(entry.name);
  }
  std::optional<std::string_view> nearest;
  if (name.size() <= kLongestGuess) nearest = core::nearest_name(name, names);
  const std::string hint = nearest ? fmt::format("did you mean {}?", io::in_quotes(*nearest))
                                   : fmt::format("it has {}", list_names(entries));
  throw Error(ErrorKind::not_found,
              fmt::format("'{}' has no tensor {}; {}", file, io::in_quotes(name), hint));
}

const SafetensorsEntry& find_entry(const TensorPath& path,
                                   const std::vector<SafetensorsEntry>& entries) {
  if (entries.empty()) io::refuse(path.file, "it holds no tensor");
  if (path.tensor) {
    const auto found = std::ranges::find(entries, *path.tensor, &SafetensorsEntry::name);
    if (found == entries.end()) throw_missing_tensor(path.file, *path.tensor, entries);
    return *found;
  }
  if (entries.size() == 1) return entries.front();
  throw Error(ErrorKind::value,
              fmt::format("'{}' holds {} tensors, expected one of them to be named as {}:TENSOR: "
                          "{}",
                          path.file, entries.size(), path.file, list_names(entries)));
}

/// A tensor of a file, before it becomes a view.
struct Located {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::size_t offset = 0;
};

Located locate_npy(const TensorPath& path, std::span<const std::byte> bytes) {
  NpyHeader header = io::parse_npy(bytes, path.file);
  std::vector<std::int64_t> strides = dense_strides(header.shape, header.fortran_order);
  return {header.dtype, std::move(header.shape), std::move(strides), header.data_offset};
}

Located locate_safetensors(const TensorPath& path, std::span<const std::byte> bytes) {
  const std::vector<SafetensorsEntry> entries = io::parse_safetensors(bytes, path.file);
  const SafetensorsEntry& entry = find_entry(path, entries);
  const std::optional<Dtype> dtype = io::parse_safetensors_dtype(entry.dtype);
  if (!dtype) {
    io::refuse(path.file, fmt::format("tensor {} is {}, for which Estoc has no dtype",
                                      io::in_quotes(entry.name), io::in_quotes(entry.dtype)));
  }
  if (entry.shape.size() > kMaxRank) {
    io::refuse(path.file, fmt::format("tensor {} has {} modes, expected at most {}",
                                      io::in_quotes(entry.name), entry.shape.size(), kMaxRank));
  }
  return {*dtype, entry.shape, dense_strides(entry.shape, false), entry.begin};
}

/// Throws unless the format can hold the dtype.
void check_dtype(const TensorPath& path, Dtype dtype) {
  const bool npy = path.format == FileFormat::npy;
  if (npy ? io::npy_descr(dtype) : io::safetensors_dtype(dtype)) return;
  const bool other_has_it = npy && io::safetensors_dtype(dtype);
  throw Error(ErrorKind::type,
              fmt::format("cannot write {} to '{}': {}", dtype_name(dtype), path.file,
                          other_has_it ? ".npy does not know that dtype, .safetensors does"
                                       : "neither .npy nor .safetensors holds packed elements"));
}

/// The destination `path` names, after a look at what the dtype and the tensor's name allow.
TensorPath parse_destination(const std::string& path, Dtype dtype) {
  TensorPath destination = io::parse_tensor_path(path);
  check_dtype(destination, dtype);
  if (destination.format == FileFormat::safetensors) {
    if (!destination.tensor) destination.tensor = kDefaultName;
    io::check_safetensors_name(*destination.tensor);
  }
  return destination;
}

void check_source(const TensorView& tensor) {
  if (!tensor.device().is_cpu()) {
    throw Error(ErrorKind::value, fmt::format("cannot save a tensor on {}, expected host memory",
                                              tensor.device().name()));
  }
  if (tensor.described()) throw Error(ErrorKind::value, "cannot save a tensor without data");
}

}  // namespace

FileTensor FileTensor::open(const std::string& path) {
  const TensorPath parts = io::parse_tensor_path(path);
  auto mapping = std::make_shared<const MappedFile>(parts.file);
  const Located found = parts.format == FileFormat::npy
                            ? locate_npy(parts, mapping->bytes())
                            : locate_safetensors(parts, mapping->bytes());

  FileTensor result;
  const std::int64_t elements = io::count_elements(found.shape);
  void* data = nullptr;
  if (elements != 0) {
    const auto size = static_cast<std::size_t>(storage_bytes(found.dtype, elements));
    const auto alignment = static_cast<std::size_t>(dtype_bits(found.dtype)) / 8;
    Storage storage = aligned_storage(std::move(mapping), found.offset, size, alignment);
    result.mapping_ = std::move(storage.owner);
    data = const_cast<std::byte*>(storage.data);
  }
  result.view_ =
      TensorView(data, found.dtype, found.shape, found.strides, Device::cpu(), path.c_str());
  return result;
}

std::vector<std::string> safetensors_names(const std::string& path) {
  const MappedFile file(path);
  std::vector<std::string> names;
  for (SafetensorsEntry& entry : io::parse_safetensors(file.bytes(), path))
    names.push_back(std::move(entry.name));
  return names;
}

void save_tensor(const std::string& path, const TensorView& tensor) {
  check_source(tensor);
  const TensorPath destination = parse_destination(path, tensor.dtype());
  AtomicFile file(destination.file);
  file.write(destination.format == FileFormat::npy
                 ? io::npy_header(tensor.dtype(), tensor.shape())
                 : io::safetensors_header(*destination.tensor, tensor.dtype(), tensor.shape()));
  io::stream_row_major(tensor, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

void check_save(const std::string& path, Dtype dtype) {
  // Creating the temporary is the one test that no mount option or access list can fool.
  const AtomicFile probe(parse_destination(path, dtype).file);
}

}  // namespace estoc
