// The handlers that XLA calls for the products of estoc.jax: buffers in, one buffer out.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "binding.h"
#include "dtypes.h"
#include "errors.h"
#include "estoc/plan.hpp"
#include "xla_ffi.h"

namespace estoc::python {
namespace {

/// The minor version of the interface that the runtime of this process has.
std::atomic<int> ffi_minor{1};

Dtype dtype_of(std::int32_t type, const std::string& what) {
  static constexpr int kTypes[] = {
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, dlpack, xla, ...) xla,
#include "estoc/dtypes.def"
  };
  for (const Dtype dtype : all_dtypes())
    if (kTypes[static_cast<std::size_t>(dtype)] == type) return dtype;
  fail_type(what + ".dtype: expected one that Estoc has, got XLA's type " + std::to_string(type));
}

std::span<const std::int64_t> extents_of(const xla::Buffer& buffer) {
  return {buffer.extents, static_cast<std::size_t>(buffer.rank)};
}

/// A buffer, and whether its last two modes are those of the operand the other way round.
struct Matrix {
  const xla::Buffer& buffer;
  const char* name;
  bool swapped = false;

  std::span<const std::int64_t> batch() const { return extents_of(buffer).first(batch_modes()); }
  std::size_t batch_modes() const { return static_cast<std::size_t>(buffer.rank) - 2; }
  std::int64_t rows() const { return buffer.extents[buffer.rank - 2]; }
  std::int64_t columns() const { return buffer.extents[buffer.rank - 1]; }
  bool one_batch() const {
    return std::ranges::all_of(batch(), [](std::int64_t extent) { return extent == 1; });
  }
};

/// Views of matrices on the device of a call.
class Views {
 public:
  explicit Views(Device device) : device_(device) {}

  /// `batches` matrices from number `first` on, `step` of them apart; without a batch mode for one.
  TensorView matrices(const Matrix& matrix, std::int64_t first, std::int64_t batches,
                      std::int64_t step) const {
    const Dtype dtype = dtype_of(matrix.buffer.type, matrix.name);
    const std::int64_t size = matrix.rows() * matrix.columns();
    void* const data =
        static_cast<char*>(matrix.buffer.data) + first * size * dtype_bits(dtype) / 8;
    std::int64_t shape[] = {batches, matrix.rows(), matrix.columns()};
    std::int64_t strides[] = {step * size, matrix.columns(), 1};
    if (matrix.swapped) {
      std::swap(shape[1], shape[2]);
      std::swap(strides[1], strides[2]);
    }
    const std::size_t from = batches == 1 ? 1 : 0;
    return {data,
            dtype,
            std::span<const std::int64_t>(shape).subspan(from),
            std::span<const std::int64_t>(strides).subspan(from),
            device_,
            matrix.name};
  }

  /// The whole buffer, of two or three modes.
  TensorView whole(const Matrix& matrix) const {
    if (matrix.buffer.rank == 2) return matrices(matrix, 0, 1, 0);
    std::int64_t strides[] = {matrix.rows() * matrix.columns(), matrix.columns(), 1};
    std::int64_t shape[] = {matrix.buffer.extents[0], matrix.rows(), matrix.columns()};
    if (matrix.swapped) {
      std::swap(shape[1], shape[2]);
      std::swap(strides[1], strides[2]);
    }
    return {matrix.buffer.data, dtype_of(matrix.buffer.type, matrix.name), shape, strides, device_,
            matrix.name};
  }

  TensorView compact(const xla::Buffer& buffer, const std::string& name) const {
    return TensorView::row_major(buffer.data, dtype_of(buffer.type, name), extents_of(buffer),
                                 device_);
  }

 private:
  Device device_;
};

/// The place in a batch of `extents` that broadcasts, of matrix number `number` of out.
std::int64_t place_of(std::int64_t number, std::span<const std::int64_t> out,
                      std::span<const std::int64_t> extents) {
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (std::size_t mode = out.size(); mode-- > 0; number /= out[mode]) {
    if (extents[mode] != 1) place += stride * (number % out[mode]);
    stride *= extents[mode];
  }
  return place;
}

void multiply_matrices(const Views& views, const Matrix& a, const Matrix& b, const Matrix& out,
                       const MatmulOptions& options) {
  std::int64_t batches = 1;
  for (const std::int64_t extent : out.batch())
    batches *= extent;
  const auto is_regular = [&](const Matrix& matrix) {
    return matrix.one_batch() || std::ranges::equal(matrix.batch(), out.batch());
  };
  if (is_regular(a) && is_regular(b)) {
    matmul(views.matrices(a, 0, batches, a.one_batch() ? 0 : 1),
           views.matrices(b, 0, batches, b.one_batch() ? 0 : 1), views.matrices(out, 0, batches, 1),
           options);
    return;
  }
  for (std::int64_t number = 0; number < batches; ++number) {
    matmul(views.matrices(a, place_of(number, out.batch(), a.batch()), 1, 0),
           views.matrices(b, place_of(number, out.batch(), b.batch()), 1, 0),
           views.matrices(out, number, 1, 0), options);
  }
}

/// The operands behind the first ones, by their names, which ',' separates.
std::vector<EpilogueOperand> epilogue_operands(const Views& views, const xla::Call& call,
                                               std::int64_t first) {
  std::vector<EpilogueOperand> operands;
  std::string_view names = call.attributes.text("names");
  for (std::int64_t place = first; place < call.arguments.count; ++place) {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    operands.emplace_back(name, views.compact(call.arguments[place], name));
  }
  return operands;
}

void multiply(const xla::Call& call, Device device, void* stream) {
  const bool grouped = call.attributes.text("kind") == "grouped";
  const std::int64_t operands = grouped ? 3 : 2;
  if (call.arguments.count < operands || call.results.count != 1) {
    fail_value("estoc.jax: expected two operands or more and one result, got " +
               std::to_string(call.arguments.count) + " and " + std::to_string(call.results.count));
  }
  const std::string_view swapped = call.attributes.text("swapped");
  const Matrix a{call.arguments[0], "a", swapped.find('a') != std::string_view::npos};
  const Matrix b{call.arguments[1], "b", swapped.find('b') != std::string_view::npos};
  const Matrix out{call.results[0], "out"};
  const Views views(device);
  const std::vector<EpilogueOperand> given = epilogue_operands(views, call, operands);
  MatmulOptions options{.epilogue = call.attributes.text("epilogue"),
                        .operands = given,
                        .stream = stream,
                        .check_device = RuntimeArguments::CheckDevice::no};
  const std::string_view accumulator = call.attributes.text("accumulator");
  if (!accumulator.empty()) options.accumulator_type = parse_dtype(accumulator);
  if (grouped) {
    const GroupOptions groups{.offsets = views.compact(call.arguments[2], "offs"),
                              .zero_rest = call.attributes.text("rest") == "zero"};
    grouped_mm(views.whole(a), views.whole(b), views.whole(out), groups, options);
  } else {
    multiply_matrices(views, a, b, out, options);
  }
}

xla::Error* error_of(const xla::Call& call, const std::exception& error) noexcept {
  xla::ErrorCreate made{sizeof made, nullptr, error.what(), xla::ErrorCode::internal};
  if (const auto* own = dynamic_cast<const Error*>(&error)) {
    made.code = own->kind() == ErrorKind::unsupported ? xla::ErrorCode::unimplemented
                                                      : xla::ErrorCode::invalid_argument;
  }
  return call.api->create_error(&made);
}

/// Answers a question for metadata; false where the call is one.
bool gave_metadata(const xla::Call& call) {
  if (call.extension == nullptr || call.extension->type != xla::kMetadata) return false;
  auto& metadata = *reinterpret_cast<xla::MetadataExtension*>(call.extension)->metadata;
  metadata.version.major = 0;
  metadata.version.minor = ffi_minor;
  metadata.traits = 0;
  return true;
}

xla::Error* call_on_cpu(xla::Call* call) noexcept {
  if (gave_metadata(*call)) return nullptr;
  try {
    multiply(*call, Device::cpu(), nullptr);
  } catch (const std::exception& error) {
    return error_of(*call, error);
  }
  return nullptr;
}

xla::Error* call_on_cuda(xla::Call* call) noexcept {
  if (gave_metadata(*call)) return nullptr;
  try {
    xla::StreamGet stream{sizeof stream, nullptr, call->context, nullptr};
    if (xla::Error* const error = call->api->get_stream(&stream)) return error;
    xla::DeviceOrdinalGet device{sizeof device, nullptr, call->context, 0};
    if (xla::Error* const error = call->api->get_device_ordinal(&device)) return error;
    multiply(*call, Device::cuda(device.ordinal), stream.stream);
  } catch (const std::exception& error) {
    return error_of(*call, error);
  }
  return nullptr;
}

}  // namespace

void bind_jax_calls(nb::module_& module) {
  module.def(
      "_jax_handlers",
      [](int minor) {
        ffi_minor = minor;
        nb::dict handlers;
        handlers["cpu"] = nb::capsule(reinterpret_cast<void*>(&call_on_cpu));
        handlers["CUDA"] = nb::capsule(reinterpret_cast<void*>(&call_on_cuda));
        return handlers;
      },
      nb::arg("minor"));
}

}  // namespace estoc::python
