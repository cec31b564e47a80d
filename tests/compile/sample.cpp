// Which kernels are compiled, and for what.
#include "sample.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string_view>

#include "unit/epilogue/graphs.h"

namespace estoc::compile_test {
namespace {

// Candidates that are drawn for each place in the sample.
constexpr int kDraws = 12;
// Draws in a row without a new pair of traits after which all pairs count as met.
constexpr int kVainDraws = 4000;

KernelSequence kernels_of(const Pool& pool, const std::string& kernel_class, Target target) {
  KernelQuery query;
  query.target = target;
  query.providers = {pool.provider};
  const std::string one_class = kernel_class.empty() ? "" : " class=" + kernel_class;
  query.filter = MetadataFilter::parse(pool.filter + one_class);
  return get_kernels(query);
}

/// The classes that have kernels for one of the targets, in order.
std::vector<std::string> classes_of(const Pool& pool) {
  std::vector<std::string> classes;
  for (const Target target : pool.targets) {
    for (const Kernel& kernel : kernels_of(pool, "", target)) {
      const std::string& name = kernel.metadata().kernel_class;
      if (std::find(classes.begin(), classes.end(), name) == classes.end()) classes.push_back(name);
    }
  }
  return classes;
}

/// The parts of a name between its dashes, each with its place: "2:bf16".
std::vector<std::string> traits_of(const Case& one) {
  std::vector<std::string> traits{one.target.name()};
  std::string_view rest = one.kernel.name();
  for (int place = 0; !rest.empty(); ++place) {
    const std::size_t end = std::min(rest.find('-'), rest.size());
    traits.push_back(std::to_string(place) + ":" + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return traits;
}

/// Draws cases of one class.
class Sampler {
 public:
  Sampler(const Pool& pool, const std::string& kernel_class, std::uint64_t seed) : random_(seed) {
    for (const Target target : pool.targets) {
      KernelSequence kernels = kernels_of(pool, kernel_class, target);
      if (!kernels.empty()) kernels_.emplace_back(target, std::move(kernels));
    }
  }

  /// The one of several drawn whose rarest trait has come up least.
  void add(std::vector<Case>& cases) {
    std::vector<Case> drawn;
    for (int i = 0; i < kDraws; ++i)
      drawn.push_back(draw());
    const auto chosen = std::min_element(
        drawn.begin(), drawn.end(),
        [&](const Case& one, const Case& other) { return score(one) < score(other); });
    take(*chosen, cases);
  }

  /// Takes cases until every pair of traits that occurs together has been met, so far as drawing
  /// can tell. The number of pairs.
  std::size_t add_pairs(std::vector<Case>& cases) {
    std::set<std::string> met;
    for (int vain = 0; vain < kVainDraws;) {
      const Case drawn = draw();
      const std::size_t before = met.size();
      for (std::string& pair : pairs_of(drawn))
        met.insert(std::move(pair));
      if (met.size() == before) {
        ++vain;
      } else {
        vain = 0;
        take(drawn, cases);
      }
    }
    return met.size();
  }

 private:
  static std::vector<std::string> pairs_of(const Case& one) {
    const std::vector<std::string> traits = traits_of(one);
    std::vector<std::string> pairs;
    for (std::size_t i = 0; i < traits.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        pairs.push_back(traits[j] + ' ' + traits[i]);
    }
    return pairs;
  }

  void take(const Case& one, std::vector<Case>& cases) {
    for (const std::string& trait : traits_of(one))
      ++seen_[trait];
    if (taken_.insert(one.kernel.name() + one.target.name()).second) cases.push_back(one);
  }

  Case draw() {
    const auto& [target, kernels] = kernels_[random_() % kernels_.size()];
    return {kernels[random_() % kernels.size()], target};
  }

  /// Lower is rarer: how often the rarest trait came up, then the sum over all.
  std::pair<long, long> score(const Case& one) const {
    std::pair<long, long> result{1'000'000, 0};
    for (const std::string& trait : traits_of(one)) {
      const auto found = seen_.find(trait);
      const long times = found == seen_.end() ? 0 : found->second;
      result.first = std::min(result.first, times);
      result.second += times;
    }
    return result;
  }

  std::mt19937_64 random_;
  std::vector<std::pair<Target, KernelSequence>> kernels_;
  std::map<std::string, long> seen_;
  std::set<std::string> taken_;
};

using epilogue_test::GraphBuilder;

constexpr std::size_t kEpilogues = 8;

/// Activations one after the other, of many inputs: much to hold and much to do.
EpilogueGraph deep(EpilogueType type, Dtype out) {
  GraphBuilder b("", type);
  std::uint16_t value = GraphBuilder::kAccumulator;
  for (const Dtype dtype : {Dtype::bf16, Dtype::f32, Dtype::f16, Dtype::e4m3})
    value = b.op(EpilogueOp::add, {value, b.tensor(dtype, epilogue_test::kFull, type)});
  for (const EpilogueOp op : {EpilogueOp::gelu, EpilogueOp::tanh, EpilogueOp::softplus})
    value = b.op(EpilogueOp::mul, {value, b.op(op, {value})});
  return b.store(value, out).store(GraphBuilder::kAccumulator, Dtype::bf16).build();
}

/// Eight inputs and eight outputs.
EpilogueGraph wide(EpilogueType type, Dtype out) {
  GraphBuilder b("", type);
  std::vector<std::uint16_t> values;
  for (int i = 0; i < 8; ++i) {
    const auto tensor = b.tensor(i % 2 == 0 ? Dtype::bf16 : Dtype::f32, epilogue_test::kFull, type);
    values.push_back(b.op(EpilogueOp::add, {GraphBuilder::kAccumulator, tensor}));
  }
  b.store(values[0], out);
  for (std::size_t i = 1; i < 8; ++i)
    b.store(b.op(EpilogueOp::mul, {values[i], values[i - 1]}), Dtype::bf16);
  return b.build();
}

/// Epilogue number `index`, for kernels of an accumulator and an output.
EpilogueGraph epilogue_of(std::size_t index, Dtype accumulator, Dtype out) {
  const EpilogueType type = accumulator == Dtype::f64   ? EpilogueType::f64
                            : accumulator == Dtype::i32 ? EpilogueType::i32
                                                        : EpilogueType::f32;
  if (type != EpilogueType::f32) return epilogue_test::mixed(type, out);
  switch (index % kEpilogues) {
    case 0:
      return epilogue_test::linear(out, Dtype::bf16);
    case 1:
      return epilogue_test::bias(EpilogueOp::gelu_tanh, out, Dtype::bf16);
    case 2:
      return epilogue_test::relu_aux(out, Dtype::bf16);
    case 3:
      return epilogue_test::row_absmax(out);
    case 4:
      return epilogue_test::bias(EpilogueOp::gelu, out, Dtype::f32);
    case 5:
      return deep(type, out);
    case 6:
      return wide(type, out);
    default:
      return epilogue_test::mixed(type, out);
  }
}

}  // namespace

std::vector<Case> with_epilogues(const std::vector<Case>& cases, std::size_t first,
                                 std::size_t step) {
  std::vector<Case> fused;
  std::size_t index = first;
  for (const auto& [kernel, target] : cases) {
    const Operation operation = kernel.kernel_class().operation();
    if (operation != Operation::gemm && operation != Operation::grouped_gemm) continue;
    const DesignPoint& point = kernel.point();
    // What is quantised behind the product leaves it in f32.
    const Dtype out = kernel.kernel_class().quantises() ? Dtype::f32 : point.dtype(Role::out_dtype);
    auto graph = std::make_shared<EpilogueGraph>(
        epilogue_of(index, point.dtype(Role::accumulator_type), out));
    graph->canonical = std::to_string(index % kEpilogues + 1);
    index += step;
    // Groups that divide out take no reductions.
    if (operation == Operation::grouped_gemm && !graph->reduced.empty()) continue;
    if (!kernel.kernel_class().supports_epilogue(point, *graph, target).ok()) continue;
    fused.push_back({kernel.with_epilogue(std::move(graph)), target});
  }
  return fused;
}

std::vector<Case> all_cases(const Pool& pool) {
  std::vector<Case> cases;
  for (const Target target : pool.targets) {
    for (const Kernel& kernel : kernels_of(pool, "", target))
      cases.push_back({kernel, target});
  }
  return cases;
}

std::vector<Case> sample(const Pool& pool, std::size_t count, std::uint64_t seed) {
  std::vector<Case> cases;
  const std::vector<std::string> classes = classes_of(pool);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::size_t share = count * (i + 1) / classes.size() - count * i / classes.size();
    Sampler sampler(pool, classes[i], seed);
    for (std::size_t j = 0; j < share; ++j)
      sampler.add(cases);
  }
  return cases;
}

PairwiseSample pairwise_sample(const Pool& pool, std::size_t least, std::uint64_t seed) {
  PairwiseSample result;
  std::vector<Sampler> samplers;
  for (const std::string& kernel_class : classes_of(pool)) {
    samplers.emplace_back(pool, kernel_class, seed);
    result.pairs += samplers.back().add_pairs(result.cases);
  }
  // Spaces that are used up give nothing new.
  const std::size_t most_tries = 4 * least;
  for (std::size_t i = 0; result.cases.size() < least && i < most_tries; ++i)
    samplers[i % samplers.size()].add(result.cases);
  return result;
}

}  // namespace estoc::compile_test
