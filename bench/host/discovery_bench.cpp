// Time to find kernels: among the library's own classes, and in described spaces of ten thousand to
// a million, of which 30 apply.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace {

using namespace estoc;  // NOLINT: everything here is Estoc's

constexpr Dtype kTypes[] = {Dtype::f16,  Dtype::f64,  Dtype::f32, Dtype::tf32, Dtype::bf16,
                            Dtype::e4m3, Dtype::e5m2, Dtype::i32, Dtype::i8,   Dtype::u8};

/// 30 designs for each combination of operands: 5 tiles, 2 schedules, and those 3 of 6 numbers of
/// stages that a constraint allows. The operands have 8 layouts, 5 alignments, and so many dtypes
/// that the space has `size` kernels and a fifth more.
std::shared_ptr<const DesignSpace> make_space(std::int64_t size) {
  const std::span<const Dtype> all(kTypes);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, all)
      .dtypes(Role::b_dtype, all.first(size > 10'000 ? 10 : 1))
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, all.first(size > 100'000 ? 10 : 1))
      .layouts({"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"})
      .alignments(Role::a_alignment, {2, 4, 8, 16, 32})
      .shapes(Role::tile, {Shape3{64, 64, 32}, Shape3{64, 128, 32}, Shape3{128, 64, 32},
                           Shape3{128, 128, 32}, Shape3{256, 128, 32}})
      .integers(Role::stages, {2, 3, 4, 5, 6, 7})
      .choices(Role::schedule, {"pingpong", "cooperative"})
      .require({"tile", "stages"}, [](const DesignPoint& point) {
        return (point.shape(Role::tile).m / 64 + point.integer(Role::stages)) % 2 == 0;
      });
  return builder.build();
}

/// A class that describes a space and predicts a time for each of its kernels.
class Described final : public KernelClass {
 public:
  explicit Described(std::int64_t size) : space_(make_space(size)) {}
  std::string_view name() const override { return "described"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return targets_; }
  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    return gemm.extents().m >= point.integer(Role::stages) ? Status::success()
                                                           : Status::fail("A.shape: too few rows");
  }
  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& /*arguments*/,
                                    Target /*target*/) const override {
    const Shape3 tile = point.shape(Role::tile);
    return Prediction{1.0 / (tile.m * tile.n + point.integer(Role::stages)), {}};
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }

 private:
  std::shared_ptr<const DesignSpace> space_;
  std::vector<Target> targets_{Target::sm(90, true)};
};

/// Registers a described class for the length of a benchmark.
class Registered {
 public:
  explicit Registered(benchmark::State& state) {
    register_kernel_class("bench", std::make_shared<Described>(state.range(0)));
    state.counters["described"] = static_cast<double>(get_kernels(bench_only()).size());
  }
  ~Registered() { unregister_provider("bench"); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  static KernelQuery bench_only() {
    KernelQuery query;
    query.providers = {"bench"};
    return query;
  }
};

TensorView f16_matrix(std::int64_t rows, std::int64_t columns) {
  const std::array<std::int64_t, 2> shape{rows, columns};
  const std::array<std::int64_t, 2> strides{columns, 1};
  return TensorView::describe(Dtype::f16, shape, strides, Device::cpu(), 2);
}

/// f16, aligned to 2 bytes: one value of each operand dimension fits.
GemmArguments make_arguments() {
  return {f16_matrix(512, 512), f16_matrix(512, 512), f16_matrix(512, 512), Dtype::f32};
}

KernelQuery for_hopper() {
  KernelQuery query;
  query.target = Target::sm(90, true);
  return query;
}

void get_kernels_first_time(benchmark::State& state) {
  const Registered registered(state);
  const GemmArguments arguments = make_arguments();
  const KernelQuery query = for_hopper();
  std::size_t found = 0;
  while (state.KeepRunning()) {
    clear_discovery_cache();
    const auto start = std::chrono::steady_clock::now();
    found = get_kernels(arguments, query).size();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(taken.count());
  }
  state.counters["found"] = static_cast<double>(found);
}
BENCHMARK(get_kernels_first_time)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void get_kernels_same_signature(benchmark::State& state) {
  const Registered registered(state);
  const GemmArguments arguments = make_arguments();
  const KernelQuery query = for_hopper();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(get_kernels(arguments, query).size());
}
BENCHMARK(get_kernels_same_signature)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMicrosecond);

void get_all_kernels_and_size(benchmark::State& state) {
  const Registered registered(state);
  while (state.KeepRunning())
    benchmark::DoNotOptimize(get_kernels().size());
}
BENCHMARK(get_all_kernels_and_size)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void find_kernel_by_name(benchmark::State& state) {
  const Registered registered(state);
  const KernelSequence all = get_kernels(Registered::bench_only());
  const std::string name = all[all.size() / 2].name();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(kernel_by_name(name).point().index(0));
}
BENCHMARK(find_kernel_by_name)->Arg(1'000'000);

void supports_arguments(benchmark::State& state) {
  const Registered registered(state);
  const GemmArguments arguments = make_arguments();
  const Kernel kernel = get_kernels(arguments, for_hopper()).front();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(kernel.supports(arguments).ok());
}
BENCHMARK(supports_arguments)->Arg(1'000'000);

void filter_all_kernels(benchmark::State& state) {
  const Registered registered(state);
  KernelQuery query = Registered::bench_only();
  query.filter = MetadataFilter(
      [](const KernelMetadata& metadata) { return metadata.design.schedule == "pingpong"; });
  while (state.KeepRunning())
    benchmark::DoNotOptimize(get_kernels(query).size());
}
BENCHMARK(filter_all_kernels)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Products as programs compute them, with the library's classes for sm_90a.
struct OwnProblem {
  const char* name;
  const char* format;   ///< a problem text that lacks the extent that changes
  std::int64_t extent;  ///< of the first problem; that of others is a multiple of it
};
constexpr OwnProblem kOwnProblems[] = {
    {"bf16 1024", "gemm n=1024 k=1024 a=bf16:t b=bf16:n out=bf16:t m=", 1024},
    {"bf16 4096", "gemm n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t m=", 4096},
    {"e4m3 4096", "gemm n=4096 k=4096 a=e4m3:t b=e4m3:n out=bf16:t m=", 4096},
    {"bf16 one row", "gemm m=1 k=4096 a=bf16:t b=bf16:n out=bf16:t n=", 4096},
    {"bf16 one row, bias and gelu",
     "gemm m=1 k=4096 a=bf16:t b=bf16:n out=bf16:t bias=bf16:row epi=\"D = gelu(accum + bias)\" n=",
     4096},
    {"f32 1024", "gemm n=1024 k=1024 a=f32:t b=f32:n out=f32:t m=", 1024},
    {"bf16 8 groups",
     "grouped_gemm n=4096 k=4096 sizes=2048,2048,2048,2048,2048,2048,2048,2048 a=bf16:t b=bf16:n "
     "out=bf16 m=",
     16384},
};

/// The problem whose changing extent is the first one's times `factor`.
std::unique_ptr<RuntimeArguments> own_problem(const benchmark::State& state, std::int64_t factor) {
  const OwnProblem& problem = kOwnProblems[state.range(0)];
  Problem parsed = Problem::parse(problem.format + std::to_string(problem.extent * factor));
  parsed.complete();
  return parsed.arguments(Device::cpu());
}

/// Times one query at a time, between what the function does to prepare each.
template <typename Prepare>
void time_queries(benchmark::State& state, const Prepare& prepare) {
  const KernelQuery query = for_hopper();
  std::size_t found = 0;
  while (state.KeepRunning()) {
    const RuntimeArguments& arguments = prepare();
    const auto start = std::chrono::steady_clock::now();
    found = get_kernels(arguments, query).size();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(taken.count());
  }
  state.SetLabel(kOwnProblems[state.range(0)].name);
  state.counters["found"] = static_cast<double>(found);
}

void own_kernels_new_signature(benchmark::State& state) {
  const auto arguments = own_problem(state, 1);
  time_queries(state, [&]() -> const RuntimeArguments& {
    clear_discovery_cache();
    return *arguments;
  });
}

void own_kernels_new_shape(benchmark::State& state) {
  std::unique_ptr<RuntimeArguments> arguments;
  std::int64_t factor = 0;
  time_queries(state, [&]() -> const RuntimeArguments& {
    // Beyond what is remembered the shapes come again.
    factor = factor % 1000 + 1;
    arguments = own_problem(state, factor);
    return *arguments;
  });
}

void own_kernels_same_problem(benchmark::State& state) {
  const auto arguments = own_problem(state, 1);
  time_queries(state, [&]() -> const RuntimeArguments& { return *arguments; });
}

BENCHMARK(own_kernels_new_signature)
    ->DenseRange(0, std::size(kOwnProblems) - 1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(own_kernels_new_shape)
    ->DenseRange(0, std::size(kOwnProblems) - 1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(own_kernels_same_problem)
    ->DenseRange(0, std::size(kOwnProblems) - 1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
