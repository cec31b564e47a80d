// What plans promise: other operands, streams and threads, and nothing taken from the heap.
#include "estoc/plan.hpp"

#include <memory>
#include <thread>

#include "counted_heap.h"
#include "features.h"
#include "gemm.h"
#include "recording.h"

namespace estoc::gpu_test {
namespace {

void require_no_allocation(const std::string& what, const auto& action) {
  const std::size_t before = allocations();
  action();
  const bool is_free = allocations() == before;
  require(is_free, what + " takes memory from the heap");
}

void rebind(Plan& plan, const Gemm& gemm) {
  plan.rebind(gemm.a().view().data(), gemm.b().view().data(), gemm.out().view().data());
}

void plans_take_other_operands(Device device) {
  Gemm first(64, 80, 96, 40, device);
  Gemm second(64, 80, 96, 41, device);
  const GemmArguments arguments = first.arguments();
  const DeviceStream streams[] = {DeviceStream(device), DeviceStream(device)};
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    Plan plan(kernel.compile(arguments), arguments);
    plan.run(streams[0].handle());
    for (int round = 0; round < 4; ++round) {
      for (Gemm* gemm : {&second, &first}) {
        gemm->poison();
        synchronize(device);
        const DeviceStream& stream = streams[round % 2];
        const auto launch = [&] {
          rebind(plan, *gemm);
          plan.run(stream.handle());
        };
        if (kernel.metadata().provider == "cuda" && round > 0) {
          require_no_allocation(kernel.name() + ": a plan", launch);
        } else {
          launch();
        }
        stream.synchronize();
        gemm->verify();
      }
    }
  }
}

/// Kernels that are CUDA code need no new bind, and keep what they need after their handles are
/// gone.
void bound_kernels_move(Device device) {
  Gemm first(64, 80, 96, 45, device);
  Gemm second(64, 80, 96, 46, device);
  const GemmArguments arguments = first.arguments();
  KernelQuery query;
  query.providers = {"cuda"};
  const auto bind_first = [&] {
    const Kernel kernel = get_kernels(arguments, query).front();
    return kernel.bind(arguments, kernel.compile(arguments), {});
  };
  BoundKernel bound = bind_first();
  for (Gemm* gemm : {&second, &first, &second}) {
    gemm->poison();
    synchronize(device);
    const GemmArguments moved = gemm->arguments();
    bool has_moved = false;
    require_no_allocation("a move", [&] { has_moved = bound.move_to(moved); });
    require(has_moved, "a move takes a bind");
    bound.launch();
    synchronize(device);
    gemm->verify();
  }
}

void refuses_operands_of_another_device(Device device) {
  Gemm gemm(64, 80, 96, 42, device);
  Plan plan = estoc::plan(gemm.arguments());
  const void* const b = gemm.b().view().data();
  void* const out = gemm.out().view().data();
  refuses(ErrorKind::value, {"A.data: expected memory of", "got a host pointer"},
          [&] { plan.rebind(gemm.host_data(), b, out); });
  plan.run();
  synchronize(device);
  gemm.verify();
}

// A bias that is another in every call is a call like the one before.
void matmul_remembers_epilogues(Device device) {
  std::vector<float> ones(80, 1.0F);
  std::vector<float> twos(80, 2.0F);
  const TensorView host = TensorView::row_major(ones.data(), Dtype::f32, {80});
  const DeviceTensor biases[] = {
      DeviceTensor::copy_of(host, device),
      DeviceTensor::copy_of(TensorView::row_major(twos.data(), Dtype::f32, {80}), device)};
  std::vector<std::uint16_t> zeros(96 * 96);
  const DeviceTensor a =
      DeviceTensor::copy_of(TensorView::row_major(zeros.data(), Dtype::bf16, {64, 96}), device);
  const DeviceTensor b =
      DeviceTensor::copy_of(TensorView::row_major(zeros.data(), Dtype::bf16, {96, 80}), device);
  std::vector<float> result(64 * 80);
  const TensorView host_out = TensorView::row_major(result.data(), Dtype::f32, {64, 80});
  DeviceTensor out = DeviceTensor::copy_of(host_out, device);
  const DeviceStream stream(device);
  for (int round = 0; round < 6; ++round) {
    const EpilogueOperand operands[] = {{"alpha", 2.0 + round}, {"bias", biases[round % 2].view()}};
    const MatmulOptions options{
        .epilogue = "D = alpha * (accum + bias)", .operands = operands, .stream = stream.handle()};
    const bool is_new = matmul(a.view(), b.view(), out.view(), options);
    require(is_new == (round == 0), "matmul: a plan is remembered");
    stream.synchronize();
    out.copy_to(host_out);
    for (const float value : result)
      require(value == static_cast<float>((2 + round) * (1 + round % 2)),
              "matmul: a wrong element");
  }
}

void matmul_from_many_threads(Device device) {
  std::vector<std::string> problems(16);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          Gemm gemm(50, 40, 77, 200 + i, device);
          const GemmArguments arguments = gemm.arguments();
          const DeviceStream stream(device);
          for (int round = 0; round < 5; ++round) {
            gemm.poison();
            synchronize(device);
            matmul(arguments.a().tensor(), arguments.b().tensor(), arguments.out(),
                   {.stream = stream.handle()});
            stream.synchronize();
            gemm.verify();
          }
        } catch (const std::exception& error) {
          problems[i] = error.what();
        }
      });
    }
  }
  for (const std::string& problem : problems)
    require(problem.empty(), problem);
}

// Sums of rows need workspace: of the caller's where there is a function that gives some.
void matmul_takes_workspace_of_the_caller(Device device) {
  Gemm gemm(64, 320, 96, 43, device);
  std::vector<float> zeros(64);
  const DeviceTensor rows =
      DeviceTensor::copy_of(TensorView::row_major(zeros.data(), Dtype::f32, {64, 1}), device);
  const GemmArguments arguments = gemm.arguments();
  const char* const text = "D = accum; rows = sum(accum)";
  const EpilogueOperand operands[] = {{"rows", rows.view()}};
  const GemmArguments fused(arguments.a(), arguments.b(), arguments.out(), Dtype::f32, {},
                            {text, {operands[0]}});
  const std::size_t needed = estoc::plan(fused).workspace_size();
  if (needed == 0) throw Skipped("the kernel to use first needs no workspace");
  const DeviceMemory memory(needed, device);
  int asked = 0;
  for (int round = 1; round < 4; ++round) {
    gemm.poison();
    synchronize(device);
    matmul(arguments.a().tensor(), arguments.b().tensor(), arguments.out(),
           {.epilogue = text, .operands = operands, .workspace = [&](std::size_t bytes) {
              ++asked;
              require(bytes == needed, "workspace: another size is asked for");
              return Workspace{memory.data(), memory.bytes()};
            }});
    synchronize(device);
    gemm.verify();
    require(asked == round, "workspace: it is not asked for once a call");
  }
}

// A graph would keep the library's workspace for good: a captured call does without, also where the
// plan of a call before it has some.
void matmul_is_captured_without_workspace(Device device) {
  Gemm gemm(64, 64, 16384, 44, device);
  const GemmArguments arguments = gemm.arguments();
  if (estoc::plan(arguments).workspace_size() == 0)
    throw Skipped("the kernel to use first needs no workspace");
  for (const bool is_known : {false, true}) {
    Recording recording(device);
    const auto call = [&] {
      matmul(arguments.a().tensor(), arguments.b().tensor(), arguments.out(),
             {.stream = recording.stream()});
    };
    if (is_known) call();
    recording.begin(Recording::Forbids::here);
    call();
    recording.end();
    gemm.poison();
    synchronize(device);
    recording.replay();
    gemm.verify();
  }
}

}  // namespace

std::vector<Feature> plan_features() {
  return {{"plans_take_other_operands", plans_take_other_operands},
          {"bound_kernels_move", bound_kernels_move},
          {"plans_refuse_operands_of_another_device", refuses_operands_of_another_device},
          {"matmul_remembers_epilogues", matmul_remembers_epilogues},
          {"matmul_from_many_threads", matmul_from_many_threads},
          {"matmul_takes_workspace_of_the_caller", matmul_takes_workspace_of_the_caller},
          {"matmul_is_captured_without_workspace", matmul_is_captured_without_workspace}};
}

}  // namespace estoc::gpu_test
