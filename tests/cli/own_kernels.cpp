// CUDA kernels of a program's own in a copy of the command, one for each thing that may happen to
// them under the emulator.
#include <memory>
#include <string>
#include <string_view>

#include "estoc/arguments.hpp"
#include "estoc/command.hpp"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc {
namespace {

constexpr unsigned kThreads = 64;

// Each thread fetches the element of a thread of the other warp, which stores it to its place.
constexpr const char* kSource = R"(
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>

struct Vectors {
  unsigned long long a, out;
  unsigned count;
};

template <int threads>
__global__ void own_copy(const Vectors v) {
  using namespace estoc;
  const u32 first = ptx::ctaid_x() * threads;
  const u32 other = ptx::tid() ^ 32;
  const u32 shared = ptx::smem_base();
  Words<1> word{{0}};
  if (first + other < LIMIT) word = ptx::ld_global<1>(v.a + 4 * (first + other));
  ptx::st_shared<1>(shared + 4 * other, word);
  BARRIER;
  word = ptx::ld_shared<1>(shared + 4 * ptx::tid());
  if (first + ptx::tid() < v.count) ptx::st_global<1>(v.out + 4 * (first + ptx::tid()), word);
}

template __global__ void own_copy<64>(const Vectors);
)";

struct Vectors {
  const void* a;
  void* out;
  unsigned count;
};

/// out = A, of f32 in one run.
class OwnCopy final : public CudaKernelClass {
 public:
  std::string_view name() const override { return "own_copy"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  CudaCode code(const DesignPoint& point, Target /*target*/) const override {
    const std::string& fault = point.value("fault").text;
    const std::string entry = "_Z8own_copyILi64EEv7Vectors";
    if (fault == "ready")
      return {.source = {},
              .image =
                  "\x7f"
                  "ELF",
              .entries = {entry}};
    std::string text =
        fault == "race" ? "#define BARRIER\n" : "#define BARRIER ptx::barrier_sync()\n";
    text += fault == "bounds" ? "#define LIMIT 1000000\n" : "#define LIMIT v.count\n";
    if (fault == "syntax") text += "float wrong = ;\n";
    if (fault == "missing") text += "void nowhere();\n__global__ void lost() { nowhere(); }\n";
    return {.source = text + kSource, .image = {}, .entries = {entry}};
  }

  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
    const auto count = static_cast<unsigned>(elementwise.out().elements());
    if (count == 0) return;
    plan.kernel({.grid = {(count - 1) / kThreads + 1, 1, 1},
                 .block = {kThreads, 1, 1},
                 .shared_bytes = 4 * kThreads},
                Vectors{elementwise.a().data(), elementwise.out().data(), count});
  }

 private:
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder()
          .ops({&kOp, 1})
          .dtypes(Role::a_dtype, {Dtype::f32})
          .choices("fault", {"none", "race", "bounds", "syntax", "missing", "ready"})
          .build();
};

}  // namespace
}  // namespace estoc

int main(int argc, char** argv) {
  estoc::register_kernel_class("own", std::make_shared<const estoc::OwnCopy>());
  return estoc::run_command(argc, argv);
}
