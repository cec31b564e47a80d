// What fused epilogues cost: the first kernel found for a product with an epilogue, beside the
// first one for the plain product and beside what a user would run without fusion. Prints JSON
// lines.
//
// Usage: estoc_epilogue_bench [ROUNDS] [PROVIDER]    (default: 15 rounds, provider cuda)
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "estoc/estoc.hpp"
#include "tune/operand_sets.h"

namespace {

using namespace estoc;

constexpr int kLaunches = 20;

struct Size {
  int m, n, k;
};
constexpr Size kSizes[] = {{8192, 8192, 8192}, {4096, 7168, 2048}, {2048, 2048, 2048}};

struct Fusion {
  const char* name;
  const char* out;
  const char* operands;  ///< and the epilogue, as in problem text
  /// The same by separate kernels after the plain product; each is an elementwise problem.
  std::vector<const char*> separate;
};

const std::vector<Fusion>& fusions() {
  static const std::vector<Fusion> all{
      {"bias, gelu_tanh",
       "bf16",
       "bias=bf16:row epi=\"D = gelu_tanh(accum + bias)\"",
       {"op=add a=bf16 b=bf16:[0,1] out=bf16", "op=gelu a=bf16 out=bf16"}},
      {"bias, gelu",
       "bf16",
       "bias=bf16:row epi=\"D = gelu(accum + bias)\"",
       {"op=add a=bf16 b=bf16:[0,1] out=bf16", "op=gelu a=bf16 out=bf16"}},
      {"linear combination",
       "bf16",
       "C=bf16:t alpha=f32:0.5 beta=f32:0.25 epi=\"D = alpha * accum + beta * C\"",
       {"op=mul a=bf16 b=bf16 out=bf16", "op=add a=bf16 b=bf16 out=bf16"}},
      {"bias, relu, accumulator stored",
       "bf16",
       "bias=bf16:row aux=bf16:t epi=\"D = relu(accum + bias); aux = accum\"",
       {"op=add a=bf16 b=bf16:[0,1] out=bf16", "op=relu a=bf16 out=bf16"}},
      {"absmax of rows, e4m3",
       "e4m3",
       "scale=f32:0.01 amax=f32:column epi=\"D = accum * scale; amax = absmax(D)\"",
       {"op=mul a=bf16 b=bf16 out=e4m3"}},
  };
  return all;
}

/// Kernels one after the other on several sets of random operands.
class Work {
 public:
  Work(const std::vector<std::string>& problems, const std::vector<std::string>& providers,
       const DeviceStream& stream) {
    for (const std::string& text : problems) {
      Problem problem = Problem::parse(text);
      problem.complete();
      Step& step = steps_.emplace_back();
      step.sets = std::make_unique<tune::OperandSets>(problem, Device::cuda(0), 7);
      KernelQuery query;
      query.providers = providers;
      const Kernel kernel = get_kernels(step.sets->arguments(0), query).front();
      if (name_.empty()) name_ = kernel.name();
      const Artifact artifact = kernel.compile(step.sets->arguments(0));
      const std::size_t bytes = kernel.workspace_size(step.sets->arguments(0));
      step.workspace = DeviceMemory(bytes, Device::cuda(0));
      RunOptions options;
      options.stream = stream.handle();
      options.workspace = {step.workspace.data(), bytes};
      for (int set = 0; set < step.sets->count(); ++set)
        step.bound.push_back(kernel.bind(step.sets->arguments(set), artifact, options));
    }
  }

  const std::string& kernel() const { return name_; }

  double seconds(const DeviceStream& stream, DeviceEvent& begin, DeviceEvent& end) {
    begin.record(stream.handle());
    for (int i = 0; i < kLaunches; ++i) {
      for (Step& step : steps_)
        step.bound[static_cast<std::size_t>(i) % step.bound.size()].launch(stream.handle());
    }
    end.record(stream.handle());
    end.synchronize();
    return end.seconds_since(begin) / kLaunches;
  }

 private:
  struct Step {
    std::unique_ptr<tune::OperandSets> sets;
    DeviceMemory workspace;
    std::vector<BoundKernel> bound;
  };
  std::vector<Step> steps_;
  std::string name_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::string> separate_problems(const Fusion& fusion, const Size& s,
                                           const std::string& plain) {
  std::vector<std::string> problems{plain};
  for (const char* step : fusion.separate)
    problems.push_back(fmt::format("elementwise shape={}x{} {}", s.m, s.n, step));
  return problems;
}

void compare(const Fusion& fusion, const Size& s, int rounds,
             const std::vector<std::string>& providers) {
  const DeviceStream stream(Device::cuda(0));
  const std::string gemm = fmt::format("gemm m={} n={} k={} a=bf16:t b=bf16:n", s.m, s.n, s.k);
  const std::string plain_text = fmt::format("{} out={}", gemm, fusion.out);
  Work plain({plain_text}, providers, stream);
  Work fused({fmt::format("{} {}", plain_text, fusion.operands)}, providers, stream);
  Work separate(separate_problems(fusion, s, gemm + " out=bf16"), {"cuda"}, stream);
  DeviceEvent begin(Device::cuda(0));
  DeviceEvent end(Device::cuda(0));
  std::vector<double> plain_times;
  std::vector<double> fused_times;
  std::vector<double> separate_times;
  for (int round = 0; round < rounds + 1; ++round) {
    const double a = plain.seconds(stream, begin, end);
    const double b = fused.seconds(stream, begin, end);
    const double c = separate.seconds(stream, begin, end);
    if (round == 0) continue;  // the first warms up
    plain_times.push_back(a);
    fused_times.push_back(b);
    separate_times.push_back(c);
  }
  const double base = median(plain_times);
  fmt::print(
      "{{\"epilogue\": \"{}\", \"size\": \"{}x{}x{}\", \"plain_us\": {:.2f}, \"fused_us\": {:.2f}, "
      "\"separate_us\": {:.2f}, \"fused_over_plain\": {:.3f}, \"separate_over_plain\": {:.3f}, "
      "\"plain_kernel\": \"{}\", \"fused_kernel\": \"{}\"}}\n",
      fusion.name, s.m, s.n, s.k, 1e6 * base, 1e6 * median(fused_times),
      1e6 * median(separate_times), median(fused_times) / base, median(separate_times) / base,
      plain.kernel(), fused.kernel());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  std::vector<std::string> providers{"cuda"};
  if (argc > 2) providers = {argv[2]};
  if (cuda_devices().empty()) {
    fmt::print(stderr, "there is no CUDA device\n");
    return 3;
  }
  try {
    for (const Size& size : kSizes) {
      for (const Fusion& fusion : fusions())
        compare(fusion, size, rounds, providers);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
