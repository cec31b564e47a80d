// The steps of an expert layer on the host, with the parameters that a GPU gets.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/float_formats.h"
#include "moe/steps.h"

namespace estoc::experts {
namespace {

template <typename Element>
Element* at(unsigned long long address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): parameters are as device code takes them
  return reinterpret_cast<Element*>(static_cast<std::uintptr_t>(address));
}

/// How elements of a dtype are stored.
struct F32 {
  using Stored = float;
  static float load(Stored stored) { return stored; }
  static Stored store(float value) { return value; }
};
struct F16 {
  using Stored = std::uint16_t;
  static float load(Stored stored) { return core::f16_to_f32(stored); }
  static Stored store(float value) { return core::f32_to_f16(value); }
};
struct Bf16 {
  using Stored = std::uint16_t;
  static float load(Stored stored) { return core::bf16_to_f32(stored); }
  static Stored store(float value) { return core::f32_to_bf16(value); }
};

float silu(float x) {
  return x / (1.0F + std::exp(-x));
}
float gelu(float x) {
  constexpr float kRootHalf = 0.70710678F;
  return 0.5F * x * std::erfc(-x * kRootHalf);
}

std::int32_t id_of(const abi::MoeRoute& p, int slot) {
  const std::int64_t token = slot / p.top_k;
  const std::int64_t choice = slot % p.top_k;
  return at<const std::int32_t>(p.ids)[token * p.token_stride + choice * p.choice_stride];
}

/// A counting sort; the counters become the first rows of the experts and, in the end, the ends.
void route(const abi::MoeRoute& p) {
  auto* const ends = at<std::int32_t>(p.ends);
  auto* const rows = at<std::int32_t>(p.rows);
  const auto has_expert = [&](std::int32_t id) { return id >= 0 && id < p.experts; };
  std::fill_n(ends, p.experts, 0);
  for (int slot = 0; slot < p.slots; ++slot) {
    const std::int32_t id = id_of(p, slot);
    if (has_expert(id)) ++ends[id];
  }
  std::int32_t first = 0;
  for (int expert = 0; expert < p.experts; ++expert) {
    const std::int32_t count = ends[expert];
    ends[expert] = first;
    first += count;
  }
  for (int slot = 0; slot < p.slots; ++slot) {
    const std::int32_t id = id_of(p, slot);
    rows[slot] = has_expert(id) ? ends[id]++ : -1;
  }
}

template <typename Format>
class HostSteps final : public Steps {
 public:
  explicit HostSteps(const StepOptions& options) : options_(options) {}

  void gather(const StepParameters& parameters, void* /*stream*/) const override {
    route(parameters.route);
    const abi::MoeGather& p = parameters.gather;
    const auto* const rows = at<const std::int32_t>(p.rows);
    const std::size_t bytes = static_cast<std::size_t>(p.columns) * sizeof(Stored);
    for (std::int64_t slot = 0; slot < parameters.tokens * p.top_k; ++slot) {
      if (rows[slot] < 0) continue;
      std::memcpy(at<Stored>(p.to) + rows[slot] * p.to_stride,
                  at<const Stored>(p.from) + slot / p.top_k * p.from_stride, bytes);
    }
  }

  void activate(const StepParameters& parameters, void* /*stream*/) const override {
    const abi::MoeGate& p = parameters.gate;
    const std::int64_t rows = *at<const std::int32_t>(p.last_end);
    const std::int64_t step = options_.interleaved ? 2 : 1;
    const std::int64_t up = options_.interleaved ? 1 : p.columns;
    const bool is_silu = options_.activation == MoeActivation::swiglu;
    for (std::int64_t row = 0; row < rows; ++row) {
      const Stored* const from = at<const Stored>(p.from) + row * p.from_stride;
      Stored* const to = at<Stored>(p.to) + row * p.to_stride;
      for (std::int64_t column = 0; column < p.columns; ++column) {
        const float gate = Format::load(from[column * step]);
        const float gated = is_silu ? silu(gate) : gelu(gate);
        to[column] = Format::store(gated * Format::load(from[column * step + up]));
      }
    }
  }

  void combine(const StepParameters& parameters, void* /*stream*/) const override {
    const abi::MoeCombine& p = parameters.combine;
    for (std::int64_t token = 0; token < parameters.tokens; ++token) {
      for (std::int64_t first = 0; first < p.columns; first += kColumns)
        combine(p, token, first, std::min<std::int64_t>(kColumns, p.columns - first));
    }
  }

 private:
  using Stored = typename Format::Stored;
  static constexpr std::int64_t kColumns = 256;

  void combine(const abi::MoeCombine& p, std::int64_t token, std::int64_t first,
               std::int64_t count) const {
    float sums[kColumns] = {};
    for (std::int64_t choice = 0; choice < p.top_k; ++choice) {
      const std::int64_t row = at<const std::int32_t>(p.rows)[token * p.top_k + choice];
      if (row < 0) continue;
      const float weight =
          at<const float>(p.weights)[token * p.token_stride + choice * p.choice_stride];
      const Stored* const from = at<const Stored>(p.from) + row * p.from_stride + first;
      for (std::int64_t i = 0; i < count; ++i)
        sums[i] += weight * Format::load(from[i]);
    }
    Stored* const to = at<Stored>(p.to) + token * p.to_stride + first;
    std::transform(sums, sums + count, to, &Format::store);
  }

  StepOptions options_;
};

}  // namespace

std::unique_ptr<const Steps> host_steps(const StepOptions& options) {
  switch (options.dtype) {
    case Dtype::f16:
      return std::make_unique<HostSteps<F16>>(options);
    case Dtype::bf16:
      return std::make_unique<HostSteps<Bf16>>(options);
    default:
      return std::make_unique<HostSteps<F32>>(options);
  }
}

}  // namespace estoc::experts
