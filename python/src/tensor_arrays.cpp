// Tensors by the buffer protocol, by NumPy's attributes and by __cuda_array_interface__.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "addresses.h"
#include "dtypes.h"
#include "errors.h"
#include "numbers.h"
#include "tensors.h"

namespace estoc::python {
namespace {

/// A buffer that is held until it is released.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    held_ = PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) == 0;
    if (!held_) PyErr_Clear();
  }
  ~Buffer() {
    if (held_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool held() const { return held_; }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

std::optional<Dtype> dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return Dtype::u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (format[0]) {
    case 'd':
      return Dtype::f64;
    case 'f':
      return Dtype::f32;
    case 'e':
      return Dtype::f16;
    case 'i':
    case 'l':
      return size == 4 ? std::optional(Dtype::i32) : std::nullopt;
    case 'b':
      return Dtype::i8;
    case 'B':
      return Dtype::u8;
    case '?':
      return Dtype::boolean;
    default:
      return std::nullopt;
  }
}

struct Modes {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

std::int64_t in_elements(std::int64_t bytes, std::int64_t size, const char* what) {
  if (bytes % size == 0) return bytes / size;
  fail_value(std::string(what) + ".strides: expected multiples of the element's " +
             std::to_string(size) + " bytes, got " + std::to_string(bytes));
}

/// NumPy's strides of modes that are not walked along may be anything.
void tidy(Modes& modes) {
  for (std::size_t mode = 0; mode < modes.shape.size(); ++mode) {
    if (modes.shape[mode] <= 1 && modes.strides[mode] < 0) modes.strides[mode] = 0;
  }
}

/// Whole numbers, as many as a tensor can have modes and one more, by which it is refused.
std::vector<std::int64_t> numbers(nb::handle sequence, const char* what) {
  std::vector<std::int64_t> result;
  for (const nb::handle item : sequence) {
    result.push_back(whole_number(item, what));
    if (result.size() > kMaxRank) break;
  }
  return result;
}

Modes modes_of(nb::handle shape, nb::handle byte_strides, std::int64_t size, const char* what) {
  Modes modes{numbers(shape, what), {}};
  if (byte_strides.is_none()) {
    modes.strides.resize(modes.shape.size());
    set_compact_strides(modes.shape, modes.strides, what);
    return modes;
  }
  for (const std::int64_t bytes : numbers(byte_strides, what)) {
    modes.strides.push_back(in_elements(bytes, size, what));
  }
  if (modes.strides.size() != modes.shape.size()) {
    fail_value(std::string(what) + ".strides: expected " + std::to_string(modes.shape.size()) +
               ", one for each mode, got " + std::to_string(modes.strides.size()));
  }
  tidy(modes);
  return modes;
}

[[noreturn]] void fail_dtype(const char* what, const std::string& got) {
  fail_type(std::string(what) + ".dtype: expected one that Estoc has, got " + got);
}

/// The dtype of a NumPy array whose own name says what it is; ml_dtypes' four-bit types take a
/// byte.
Dtype dtype_of_array(nb::handle dtype, const char* what) {
  const auto name = nb::cast<std::string>(dtype.attr("name"));
  const std::optional<Dtype> found = dtype_of_name(name);
  if (!found) fail_dtype(what, name);
  if (is_packed(*found)) {
    fail_type(std::string(what) + ".dtype: expected two elements to a byte, got NumPy's " + name +
              " with one: pack them and give estoc.Tensor(bytes, dtype, shape)");
  }
  const auto order = nb::cast<std::string>(dtype.attr("byteorder"));
  if (order == ">") fail_dtype(what, "big-endian " + name);
  return *found;
}

/// The dtype of an array interface's "typestr", such as "<f4".
std::optional<Dtype> dtype_of_typestr(std::string_view text) {
  struct Entry {
    std::string_view text;
    Dtype dtype;
  };
  static constexpr std::array<Entry, 7> kEntries{{{"f8", Dtype::f64},
                                                  {"f4", Dtype::f32},
                                                  {"f2", Dtype::f16},
                                                  {"i4", Dtype::i32},
                                                  {"i1", Dtype::i8},
                                                  {"u1", Dtype::u8},
                                                  {"b1", Dtype::boolean}}};
  if (text.size() != 3 || text[0] == '>') return std::nullopt;
  for (const Entry& entry : kEntries) {
    if (entry.text == text.substr(1)) return entry.dtype;
  }
  return std::nullopt;
}

/// The CUDA device of an object with __cuda_array_interface__, which does not name it.
Device cuda_device_of(nb::handle object, const char* what) {
  nb::object device = nb::getattr(object, "device", nb::none());
  device = nb::getattr(device, "id", device);
  if (nb::isinstance<nb::int_>(device)) return cuda_device(whole_number(device, what), what);
  if (nb::hasattr(object, "__dlpack_device__")) {
    const nb::object pair = object.attr("__dlpack_device__")();
    return cuda_device(whole_number(pair[1], what), what);
  }
  return Device::cuda();
}

/// What the interface says of the stream that has the work on the array; it need not say anything.
std::optional<void*> stream_of(nb::handle interface, const char* what) {
  constexpr std::int64_t kLegacy = 1;
  const nb::object given = interface.attr("get")("stream");
  if (given.is_none()) return std::nullopt;
  const std::string name = std::string(what) + ".stream";
  const std::int64_t stream = whole_number(given, name.c_str());
  if (stream < 1) {
    fail_value(name + ": expected 1, 2 or an address, got " + std::to_string(stream));
  }
  return stream == kLegacy ? nullptr : pointer_at(static_cast<std::uintptr_t>(stream));
}

void require_no_mask(nb::handle interface, const char* what) {
  if (interface.attr("get")("mask").is_none()) return;
  fail_type(std::string(what) + ": expected a tensor without a mask, got one with a mask");
}

/// What NumPy's __array_struct__ points to.
struct ArrayStruct {
  int version;
  int rank;
  char kind;
  int element_bytes;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  ///< in bytes
  void* data;
  PyObject* description;
};

/// NumPy's dtypes that its buffers do not know, those of ml_dtypes, met before; they stay alive.
std::unordered_map<PyObject*, std::pair<nb::object, Dtype>>& extension_dtypes() {
  static auto* const map = new std::unordered_map<PyObject*, std::pair<nb::object, Dtype>>;
  return *map;
}

constexpr std::size_t kMaxExtensions = 64;

/// An array of such a dtype; false for others. Arrays of other dtypes do not pay for it where no
/// such dtype was met.
bool import_extension(nb::handle object, const char* what, Tensor& result) {
  if (extension_dtypes().empty()) return false;
  const nb::object dtype = object.attr("dtype");
  const auto found = extension_dtypes().find(dtype.ptr());
  if (found == extension_dtypes().end()) return false;
  const nb::object capsule = object.attr("__array_struct__");
  if (!PyCapsule_IsValid(capsule.ptr(), nullptr)) return false;
  const auto* array = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  constexpr int kVersion = 2;
  constexpr int kWriteable = 0x400;
  if (array->version != kVersion || array->rank > kMaxRank) return false;
  const auto rank = static_cast<std::size_t>(array->rank);
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::copy_n(array->shape, rank, shape.begin());
  for (std::size_t mode = 0; mode < rank; ++mode) {
    strides[mode] = in_elements(array->strides[mode], array->element_bytes, what);
    if (shape[mode] <= 1 && strides[mode] < 0) strides[mode] = 0;
  }
  result.view = TensorView(array->data, found->second.second, std::span(shape.data(), rank),
                           std::span(strides.data(), rank), Device::cpu(), what);
  result.source = nb::borrow(object);
  result.framework = Framework::numpy;
  result.read_only = (array->flags & kWriteable) == 0;
  return true;
}

}  // namespace

Tensor import_buffer(nb::handle object, const char* what, bool numpy) {
  if (Tensor extension; numpy && import_extension(object, what, extension)) return extension;
  auto buffer = std::make_unique<Buffer>(object);
  if (!buffer->held()) return import_array_attributes(object, what);
  const Py_buffer& raw = buffer->view();
  const std::optional<Dtype> dtype = dtype_of_format(raw.format, raw.itemsize);
  if (!dtype) {
    if (numpy) return import_array_attributes(object, what);
    fail_dtype(what, std::string("format \"") + raw.format + "\"");
  }
  const auto rank = static_cast<std::size_t>(raw.ndim);
  if (rank > kMaxRank) {
    fail_value(std::string(what) + ": expected at most " + std::to_string(kMaxRank) +
               " modes, got " + std::to_string(rank));
  }
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t compact = raw.itemsize;  // ctypes leaves strides out although they are requested
  for (std::size_t mode = rank; mode-- > 0;) {
    shape[mode] = raw.shape[mode];
    const std::int64_t bytes = raw.strides == nullptr ? compact : raw.strides[mode];
    (void)__builtin_mul_overflow(compact, shape[mode], &compact);  // only where there is no element
    strides[mode] = in_elements(bytes, raw.itemsize, what);
    if (shape[mode] <= 1 && strides[mode] < 0) strides[mode] = 0;
  }
  Tensor result;
  result.view = TensorView(raw.buf, *dtype, std::span(shape.data(), rank),
                           std::span(strides.data(), rank), Device::cpu(), what);
  result.source = nb::borrow(object);
  result.framework = numpy ? Framework::numpy : Framework::other;
  result.read_only = raw.readonly != 0;
  if (!numpy) {  // an array's memory stays where it is; a bytearray's only while it is held
    result.owner = nb::capsule(buffer.release(),
                               [](void* held) noexcept { delete static_cast<Buffer*>(held); });
  }
  return result;
}

Tensor import_array_attributes(nb::handle object, const char* what) {
  if (!nb::hasattr(object, "__array_interface__")) {
    fail_type(std::string(what) + ": expected a tensor, got " + class_name(object) +
              ", whose memory cannot be seen");
  }
  const nb::object interface = object.attr("__array_interface__");
  const nb::object type = object.attr("dtype");
  const Dtype dtype = dtype_of_array(type, what);
  if (extension_dtypes().size() < kMaxExtensions) {
    extension_dtypes().emplace(type.ptr(), std::pair{type, dtype});
  }
  const Modes modes =
      modes_of(interface["shape"], interface["strides"], dtype_bits(dtype) / 8, what);
  const nb::object data = interface["data"];
  Tensor result;
  result.view =
      TensorView(pointer_of(data[0]), dtype, modes.shape, modes.strides, Device::cpu(), what);
  result.source = nb::borrow(object);
  result.framework = Framework::numpy;
  result.read_only = nb::cast<bool>(data[1]);
  return result;
}

Tensor import_cuda_array(nb::handle object, const char* what, Framework framework) {
  const nb::object interface = object.attr("__cuda_array_interface__");
  require_no_mask(interface, what);
  const auto text = nb::cast<std::string>(interface["typestr"]);
  std::optional<Dtype> dtype = dtype_of_typestr(text);
  if (!dtype && nb::hasattr(object, "dtype")) dtype = try_dtype(object.attr("dtype"));
  if (!dtype || is_packed(*dtype)) fail_dtype(what, "\"" + text + "\"");
  const nb::object strides = interface.attr("get")("strides");
  const Modes modes = modes_of(interface["shape"], strides, dtype_bits(*dtype) / 8, what);
  const nb::object data = interface["data"];
  Tensor result;
  result.view = TensorView(pointer_of(data[0]), *dtype, modes.shape, modes.strides,
                           cuda_device_of(object, what), what);
  result.source = nb::borrow(object);
  result.framework = framework;
  if (framework == Framework::other) result.stream = stream_of(interface, what);
  result.read_only = nb::cast<bool>(data[1]);
  return result;
}

}  // namespace estoc::python
