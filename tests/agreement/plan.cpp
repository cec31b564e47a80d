// Choosing kernels and problems; the file of entries.
#include "plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "cover/pairs.h"
#include "cover/problem.h"
#include "estoc/discovery.hpp"

namespace estoc::agreement {
namespace {

const Target kTarget = Target::sm(90, true);

KernelList kernels_for(const std::string& problem) {
  Problem parsed = Problem::parse(problem);
  parsed.complete();
  KernelQuery query;
  query.target = kTarget;
  query.providers = {"cuda"};
  return get_kernels(*parsed.arguments(), query);
}

/// One kernel of each class that carries out the problem.
void add_problem(std::vector<Entry>& entries, const std::string& text, Values values,
                 std::mt19937_64& random) {
  Problem problem = Problem::parse(text);
  problem.complete();
  std::map<std::string, std::vector<std::string>> by_class;
  for (const Kernel& kernel : kernels_for(text))
    by_class[kernel.metadata().kernel_class].push_back(kernel.name());
  if (by_class.empty()) throw std::runtime_error("no kernel for " + text);
  for (const auto& [name, kernels] : by_class)
    entries.push_back(
        {kernels[random() % kernels.size()], problem.to_string(), random(), values, {}, {}});
}

std::vector<Kernel> one_of_each_class() {
  KernelQuery query;
  query.providers = {"cuda"};
  query.target = kTarget;
  std::vector<Kernel> found;
  std::set<std::string> seen;
  for (const Kernel& kernel : get_kernels(query)) {
    if (kernel.kernel_class().operation() != Operation::gemm) continue;
    if (seen.insert(kernel.metadata().kernel_class).second) found.push_back(kernel);
  }
  return found;
}

/// A problem for the kernel, as text from which the kernel is found again; of no K it may not be.
bool add_drawn(std::vector<Entry>& entries, const Kernel& kernel, std::mt19937_64& random) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::string reason;
    const auto problem = cover::CoverProblem::draw(kernel, kTarget, random, reason);
    if (problem == nullptr) return false;
    const std::string text = problem->text();
    const KernelList found = kernels_for(text);
    if (std::none_of(found.begin(), found.end(),
                     [&](const Kernel& one) { return one.name() == kernel.name(); })) {
      continue;
    }
    entries.push_back({kernel.name(), text, random(), Values::integers, {}, {}});
    return true;
  }
  return false;
}

/// Kernels in which the design space's values meet, the ones with the most first.
void add_cover(std::vector<Entry>& entries, const Kernel& first, std::size_t most,
               std::mt19937_64& random) {
  const auto space = first.kernel_class().space();
  std::size_t added = 0;
  for (const std::uint64_t point : cover::pairwise_cover(*space, random())) {
    const Kernel kernel =
        kernel_by_name(first.metadata().kernel_class + space->suffix(space->at(point)));
    if (added < most && add_drawn(entries, kernel, random)) ++added;
  }
}

// With integers each of these is exact until the one rounding of a store.
constexpr const char* kEpilogues[] = {
    R"-(C=bf16:t bias=f32:row alpha=0.5 epi="D = relu(alpha * accum + bias) + C")-",
    R"-(aux=f32:t amax=f32:column rows=f32:column
        epi="D = accum; aux = maximum(accum, 3.0); amax = absmax(D); rows = sum(accum)")-",
    R"-(C=f16:n shift=f32:column total=f32:scalar
        epi="D = select(accum > C, accum - shift, C); total = sum(D)")-",
    R"-(scale=f32:batch y=i8:t least=f32:row
        epi="D = clamp(accum * scale, -100.0, 100.0); y = abs(accum); least = min(accum)")-",
    R"-(C=e4m3:t mask=bool:t epi="D = where(mask, -accum, accum * 0.25) - C")-",
};

constexpr const char* kFused[] = {
    "gemm m=136 n=72 k=96 a=bf16:t b=bf16:t out=bf16:t",
    "gemm m=200 n=136 k=72 l=2 a=f16:n b=f16:n out=f32:t",
    "gemm m=65 n=77 k=50 a=bf16:t b=bf16:n out=f16:n",
    "gemm m=72 n=264 k=160 a=e4m3:t b=e5m2:n out=bf16:t",
    "gemm m=130 n=96 k=64 a=i8:t b=i8:n out=i32:t",
    "gemm m=68 n=68 k=40 a=f32:t b=f32:t out=f32:t",
};

constexpr const char* kReal[] = {
    "gemm m=128 n=136 k=1024 a=e4m3:t b=e4m3:n out=f32:t fast_accumulation=1",
    "gemm m=128 n=136 k=1024 a=e5m2:t b=e5m2:n out=f32:t fast_accumulation=1",
    "gemm m=128 n=136 k=200 a=f16:n b=f16:t out=f32:t",
    "gemm m=128 n=136 k=200 a=bf16:t b=bf16:n out=f32:t",
    "gemm m=128 n=136 k=1000 a=bf16:t b=bf16:t out=f32:t",
    "gemm m=128 n=136 k=200 a=tf32:t b=tf32:n out=f32:t",
    "gemm m=128 n=136 k=208 a=e4m3:t b=e4m3:n out=f32:t",
    "gemm m=128 n=136 k=208 a=e5m2:t b=e4m3:n out=f32:t",
    "gemm m=128 n=136 k=1024 a=e4m3:t b=e5m2:n out=f32:t",
    "gemm m=128 n=136 k=200 a=f16:t b=f16:n out=f32:t",
};

}  // namespace

Kernel Entry::find() const {
  for (const Kernel& one : kernels_for(problem))
    if (one.name() == kernel) return one;
  throw std::invalid_argument(fmt::format("{} is none of the kernels for {}", kernel, problem));
}

std::vector<Entry> make_plan(std::uint64_t seed, std::size_t kernels_per_class) {
  std::mt19937_64 random(seed);
  std::vector<Entry> entries;
  for (const Kernel& first : one_of_each_class())
    add_cover(entries, first, kernels_per_class, random);
  for (const char* problem : kFused) {
    for (const char* epilogue : kEpilogues)
      add_problem(entries, fmt::format("{} {}", problem, epilogue), Values::integers, random);
  }
  for (const char* problem : kReal)
    add_problem(entries, problem, Values::reals, random);
  return entries;
}

void save(const std::vector<Entry>& entries, const std::string& path) {
  nlohmann::json all = nlohmann::json::array();
  for (const Entry& entry : entries) {
    nlohmann::json one{{"kernel", entry.kernel},
                       {"problem", entry.problem},
                       {"seed", entry.seed},
                       {"hash", entry.hash}};
    if (entry.values == Values::reals) {
      std::vector<std::uint32_t> bits;
      for (const float number : entry.numbers)
        bits.push_back(std::bit_cast<std::uint32_t>(number));
      one["out"] = bits;
    }
    all.push_back(std::move(one));
  }
  std::ofstream file(path);
  file << all.dump() << "\n";
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::vector<Entry> load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Entry> entries;
  for (const nlohmann::json& one : nlohmann::json::parse(file)) {
    Entry& entry = entries.emplace_back();
    entry.kernel = one.at("kernel");
    entry.problem = one.at("problem");
    entry.seed = one.at("seed");
    entry.hash = one.at("hash");
    if (!one.contains("out")) continue;
    entry.values = Values::reals;
    for (const std::uint32_t bits : one.at("out"))
      entry.numbers.push_back(std::bit_cast<float>(bits));
  }
  return entries;
}

}  // namespace estoc::agreement
