// Compiles and launches the kernels of the check on a device.
#include "tune/check_kernels.h"

#include <algorithm>
#include <cstdint>

#include "jit/driver.h"
#include "jit/launch.h"
#include "jit/plan_device.h"

namespace estoc::tuning {
namespace {

constexpr const char* kSource = R"(#include <estoc/kernels/check.cuh>

using namespace estoc;
static_assert(sizeof(abi::CheckVectors) == 96 && sizeof(abi::CheckProduct) == 120 &&
              sizeof(abi::CheckOutput) == 112);

extern "C" __global__ void __launch_bounds__(abi::kCheckThreads)
estoc_check_facts(const __grid_constant__ abi::CheckVectors parameters) {
  check::vector_facts(parameters);
}
extern "C" __global__ void __launch_bounds__(abi::kCheckThreads)
estoc_check_reals(const __grid_constant__ abi::CheckProduct parameters) {
  check::product<double>(parameters);
}
extern "C" __global__ void __launch_bounds__(abi::kCheckThreads)
estoc_check_integers(const __grid_constant__ abi::CheckProduct parameters) {
  check::product<u32>(parameters);
}
extern "C" __global__ void __launch_bounds__(abi::kCheckThreads)
estoc_check_look(const __grid_constant__ abi::CheckOutput parameters) {
  check::look(parameters);
}
)";

constexpr std::size_t kFacts = 0;
constexpr std::size_t kReals = 1;
constexpr std::size_t kIntegers = 2;
constexpr std::size_t kLook = 3;

jit::LoadedUnit& load_unit(Device device) {
  const auto unit = jit::compile_unit(check_unit(jit::device_target(device.index)));
  return jit::LoadedUnit::of(*unit, {"estoc_check_facts", "estoc_check_reals",
                                     "estoc_check_integers", "estoc_check_look"});
}

CudaGeometry geometry(std::size_t ctas, unsigned shared_bytes) {
  return {.grid = {static_cast<unsigned>(ctas), 1, 1},
          .block = {abi::kCheckThreads, 1, 1},
          .shared_bytes = shared_bytes};
}

/// Both operands' tiles, their rows padded by one element, and where the rows of A begin.
constexpr unsigned product_bytes(unsigned element) {
  return 2 * abi::kCheckDepth * (abi::kCheckTile + 1) * element + abi::kCheckTile * 8;
}

}  // namespace

jit::UnitRequest check_unit(Target target) {
  return {.name = "check", .source = kSource, .target = target};
}

CheckKernels::CheckKernels(Device device) : device_(device), unit_(load_unit(device)) {}

std::size_t CheckKernels::look_ctas(std::int64_t rows) {
  constexpr std::int64_t kMax = 1024;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 1, kMax));
}

void CheckKernels::facts(const abi::CheckVectors& vectors) const {
  if (vectors.count == 0) return;
  constexpr std::int64_t kMaxCtas = 1 << 16;
  constexpr std::int64_t kPerCta = abi::kCheckThreads / 32;
  const std::int64_t ctas =
      std::min<std::int64_t>((vectors.count + kPerCta - 1) / kPerCta, kMaxCtas);
  LaunchPlan plan(jit::plan_device(device_.index));
  plan.kernel(kFacts, geometry(static_cast<std::size_t>(ctas), 0), vectors);
  start(plan);
}

void CheckKernels::product(const abi::CheckProduct& product, std::size_t tiles,
                           bool integers) const {
  LaunchPlan plan(jit::plan_device(device_.index));
  const unsigned bytes = product_bytes(integers ? 4 : 8);
  plan.kernel(integers ? kIntegers : kReals, geometry(tiles * product.column_tiles, bytes),
              product);
  start(plan);
}

void CheckKernels::look(const abi::CheckOutput& output) const {
  LaunchPlan plan(jit::plan_device(device_.index));
  plan.kernel(kLook, geometry(look_ctas(output.count), abi::kCheckThreads * 16), output);
  start(plan);
}

void CheckKernels::start(const LaunchPlan& plan) const {
  const jit::ContextScope scope(device_.index);
  jit::prepare_plan(plan, unit_, device_.index, scope.context());
  jit::start_plan(jit::driver(), plan, unit_, nullptr, false);
}

unsigned long long address_of(const DeviceMemory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}

abi::Matrix matrix_of(const MatrixView& view) {
  return {.address = reinterpret_cast<std::uintptr_t>(view.data),
          .row_stride = view.row_stride,
          .column_stride = view.column_stride,
          .batch_stride = view.batch_stride};
}

}  // namespace estoc::tuning
