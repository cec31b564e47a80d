// What fused epilogues cost: the first kernel found for a product with an epilogue over the first
// one for the plain product; the same of cuBLASLt, where it has the epilogue; and what a user would
// run without fusion. All interleaved in one process, in shuffled rounds. Prints JSON lines.
//
// Usage: estoc_epilogue_bench [ROUNDS] [EPILOGUE]    (15 rounds; all, or those whose name has the
// text)
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
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
      {"bias",
       "bf16",
       "bias=bf16:row epi=\"D = accum + bias\"",
       {"op=add a=bf16 b=bf16:[0,1] out=bf16"}},
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

/// Kernels one after the other on several sets of random operands; those found first.
class Work {
 public:
  /// Null when there is no kernel for one of the problems. The first is for `provider`, those after
  /// it are ours.
  static std::unique_ptr<Work> make(const std::vector<std::string>& problems,
                                    const std::string& provider, const DeviceStream& stream) {
    auto work = std::make_unique<Work>();
    for (const std::string& text : problems) {
      if (!work->add(text, work->steps_.empty() ? provider : "cuda", stream)) return nullptr;
    }
    return work;
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
    std::unique_ptr<tuning::OperandPool> pool;
    std::unique_ptr<tuning::OperandSets> sets;
    DeviceMemory workspace;
    std::vector<BoundKernel> bound;
  };

  bool add(const std::string& text, const std::string& provider, const DeviceStream& stream) {
    Problem problem = Problem::parse(text);
    problem.complete();
    Step step;
    step.pool = std::make_unique<tuning::OperandPool>(Device::cuda(0), 7);
    step.sets = std::make_unique<tuning::OperandSets>(problem, *step.pool, kLaunches, 0);
    KernelQuery query;
    query.providers = {provider};
    const KernelList kernels = get_kernels(step.sets->arguments(0), query);
    if (kernels.empty()) return false;
    const Kernel& kernel = kernels.front();
    if (name_.empty()) name_ = kernel.name();
    const Artifact artifact = kernel.compile(step.sets->arguments(0));
    const std::size_t bytes = kernel.workspace_size(step.sets->arguments(0));
    step.workspace = DeviceMemory(bytes, Device::cuda(0));
    RunOptions options;
    options.stream = stream.handle();
    options.workspace = {step.workspace.data(), bytes};
    for (int set = 0; set < step.sets->count(); ++set)
      step.bound.push_back(kernel.bind(step.sets->arguments(set), artifact, options));
    steps_.push_back(std::move(step));
    return true;
  }

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

/// One way to the same result, and how long it took in each round.
struct Candidate {
  const char* key;
  std::unique_ptr<Work> work;
  std::vector<double> times;

  double seconds() const { return median(times); }
};

void print(const Fusion& fusion, const Size& s, const std::vector<Candidate>& all) {
  auto find = [&](std::string_view key) {
    return std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.key == key; });
  };
  auto over = [&](std::string_view key, std::string_view base) -> std::string {
    const auto above = find(key);
    const auto below = find(base);
    if (above->work == nullptr || below->work == nullptr) return "null";
    return fmt::format("{:.3f}", above->seconds() / below->seconds());
  };
  fmt::print("{{\"epilogue\": \"{}\", \"size\": \"{}x{}x{}\"", fusion.name, s.m, s.n, s.k);
  for (const Candidate& candidate : all) {
    if (candidate.work == nullptr) continue;
    fmt::print(", \"{0}_us\": {1:.2f}, \"{0}_kernel\": \"{2}\"", candidate.key,
               1e6 * candidate.seconds(), candidate.work->kernel());
  }
  fmt::print(
      ", \"fused_over_plain\": {}, \"separate_over_plain\": {}, \"cublaslt_fused_over_fused\": {}, "
      "\"cublaslt_plain_over_plain\": {}, \"cublaslt_separate_over_fused\": {}}}\n",
      over("fused", "plain"), over("separate", "plain"), over("cublaslt_fused", "fused"),
      over("cublaslt_plain", "plain"), over("cublaslt_separate", "fused"));
  std::fflush(stdout);
}

void compare(const Fusion& fusion, const Size& s, int rounds) {
  const DeviceStream stream(Device::cuda(0));
  const std::string gemm = fmt::format("gemm m={} n={} k={} a=bf16:t b=bf16:n", s.m, s.n, s.k);
  const std::string plain = fmt::format("{} out={}", gemm, fusion.out);
  const std::string fused = fmt::format("{} {}", plain, fusion.operands);
  const std::vector<std::string> separate = separate_problems(fusion, s, gemm + " out=bf16");
  std::vector<Candidate> all;
  auto add = [&](const char* key, const std::vector<std::string>& problems, const char* provider) {
    all.push_back({key, Work::make(problems, provider, stream), {}});
  };
  add("plain", {plain}, "cuda");
  add("fused", {fused}, "cuda");
  add("separate", separate, "cuda");
  add("cublaslt_plain", {plain}, "cublaslt");
  add("cublaslt_fused", {fused}, "cublaslt");
  add("cublaslt_separate", separate, "cublaslt");
  DeviceEvent begin(Device::cuda(0));
  DeviceEvent end(Device::cuda(0));
  // Each round in an order of its own: what runs after a hungry kernel finds a slower clock.
  std::vector<Candidate*> order;
  for (Candidate& candidate : all) {
    if (candidate.work != nullptr) order.push_back(&candidate);
  }
  std::mt19937 random(7);
  for (int round = 0; round < rounds + 1; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Candidate* candidate : order) {
      const double seconds = candidate->work->seconds(stream, begin, end);
      if (round > 0) candidate->times.push_back(seconds);  // the first warms up
    }
  }
  print(fusion, s, all);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const std::string_view wanted = argc > 2 ? argv[2] : "";
  if (cuda_devices().empty()) {
    fmt::print(stderr, "there is no CUDA device\n");
    return 3;
  }
  try {
    for (const Size& size : kSizes) {
      for (const Fusion& fusion : fusions()) {
        if (std::string_view(fusion.name).find(wanted) != std::string_view::npos) {
          compare(fusion, size, rounds);
        }
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
