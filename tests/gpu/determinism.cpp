// Promises about bits: a row of the output has the same whatever M is, and a run those of another.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

constexpr std::int64_t kMaxRows = 70;
constexpr std::int64_t kColumns = 160;
constexpr std::int64_t kDepth = 272;

/// Types of operands and output, and what the kernels may do.
struct Types {
  Dtype in, out;
  PerformanceControls controls;
};

std::vector<Types> all_types(const PerformanceControls& controls) {
  PerformanceControls tf32 = controls;
  tf32.allow_tf32 = true;
  return {{Dtype::bf16, Dtype::bf16, controls},
          {Dtype::f16, Dtype::f32, controls},
          {Dtype::e4m3, Dtype::bf16, controls},
          {Dtype::f32, Dtype::f32, tf32}};
}

/// Operands of the largest M on a device, and the output as bytes.
class Rows {
 public:
  Rows(const Types& types, Device device)
      : types_(types),
        a_(random(types.in, {kMaxRows, kDepth}, 5, device)),
        b_(random(types.in, {kColumns, kDepth}, 6, device)),
        out_(random(types.out, {kMaxRows, kColumns}, 7, device)) {}

  /// Of the first `m` rows of A.
  GemmArguments arguments(std::int64_t m) const {
    const TensorView& b = b_.view();
    return {rows(a_, m),
            TensorView(b.data(), b.dtype(), {kDepth, kColumns}, {1, kDepth}, b.device()),
            rows(out_, m), Dtype::f32, types_.controls};
  }

  std::vector<std::uint8_t> run(const Kernel& kernel, std::int64_t m, void* stream = nullptr) {
    RunOptions options;
    options.stream = stream;
    out_.fill(0xff);
    synchronize(out_.view().device());
    kernel.run(arguments(m), options);
    synchronize(out_.view().device());
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(out_.view().span_bytes()));
    const TensorView& view = out_.view();
    out_.copy_to(TensorView(bytes.data(), view.dtype(), view.shape(), view.strides()));
    bytes.resize(static_cast<std::size_t>(rows(out_, m).span_bytes()));
    return bytes;
  }

 private:
  static DeviceTensor random(Dtype dtype, const std::vector<std::int64_t>& shape,
                             std::uint64_t seed, Device device) {
    std::vector<std::uint64_t> storage(static_cast<std::size_t>(shape[0] * shape[1]));
    const TensorView host = TensorView::row_major(storage.data(), dtype, shape);
    fill_random(host, seed);
    return DeviceTensor::copy_of(host, device);
  }
  static TensorView rows(const DeviceTensor& tensor, std::int64_t m) {
    const TensorView& view = tensor.view();
    const std::int64_t columns = view.shape()[1];
    return {view.data(), view.dtype(), {m, columns}, {columns, 1}, view.device()};
  }

  Types types_;
  DeviceTensor a_, b_, out_;
};

/// Some kernels from the list's beginning to its end, the first among them.
std::vector<Kernel> some_of(const KernelList& kernels) {
  constexpr std::size_t kSome = 4;
  std::vector<Kernel> chosen;
  const std::size_t step = std::max<std::size_t>(kernels.size() / kSome, 1);
  for (std::size_t i = 0; i < kernels.size(); i += step)
    chosen.push_back(kernels[i]);
  return chosen;
}

KernelQuery own_kernels() {
  KernelQuery query;
  query.providers = {"cuda"};
  return query;
}

void rows_do_not_depend_on_m(Device device) {
  PerformanceControls controls;
  controls.batch_invariant = true;
  for (const Types& types : all_types(controls)) {
    Rows rows(types, device);
    std::vector<std::uint8_t> expected;
    std::string first;
    for (const std::int64_t m : {kMaxRows, std::int64_t{1}, std::int64_t{7}, std::int64_t{64}}) {
      for (const Kernel& kernel : some_of(get_kernels(rows.arguments(m), own_kernels()))) {
        const std::vector<std::uint8_t> bytes = rows.run(kernel, m);
        if (expected.empty()) {
          expected = bytes;
          first = kernel.name();
        }
        require(std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0,
                fmt::format("{} rows of {} differ from those of {}", m, kernel.name(), first));
      }
    }
  }
}

void deterministic_runs_are_equal(Device device) {
  constexpr int kRuns = 3;
  PerformanceControls controls;
  controls.deterministic = true;
  for (const Types& types : all_types(controls)) {
    Rows rows(types, device);
    Rows beside(types, device);
    const DeviceStream stream(device);
    const DeviceStream other(device);
    for (const Kernel& kernel : some_of(get_kernels(rows.arguments(kMaxRows), own_kernels()))) {
      const std::vector<std::uint8_t> expected = rows.run(kernel, kMaxRows);
      RunOptions options;
      options.stream = other.handle();
      for (int i = 0; i < kRuns; ++i) {
        kernel.run(beside.arguments(kMaxRows), options);
        require(rows.run(kernel, kMaxRows, stream.handle()) == expected,
                kernel.name() + ": two runs differ");
      }
    }
  }
}

}  // namespace

std::vector<Feature> determinism_features() {
  return {{"rows_do_not_depend_on_m", rows_do_not_depend_on_m},
          {"deterministic_runs_are_equal", deterministic_runs_are_equal}};
}

}  // namespace estoc::gpu_test
