// What the expert layer promises: float64's results, of any routing, from graphs, and equal bits.
#include "estoc/moe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "counted_heap.h"
#include "features.h"
#include "gemm.h"
#include "jit/driver.h"
#include "moe/steps.h"
#include "recording.h"
#include "support/moe_problem.h"

namespace estoc::gpu_test {
namespace {

using testing_support::MoeProblem;
using testing_support::MoeShape;

/// A layer's operands on the host and on a device.
class PlacedLayer {
 public:
  PlacedLayer(const MoeShape& shape, std::uint64_t seed, Device device) : host_(shape, seed) {
    for (TensorView MoeOperands::*const operand : kOperands)
      copies_[copied_++] = DeviceTensor::copy_of(host_.operands().*operand, device);
  }

  const MoeOptions& options() const { return host_.shape().options; }
  MoeOperands operands() const {
    return {copies_[0].view(), copies_[1].view(), copies_[2].view(),
            copies_[3].view(), copies_[4].view(), copies_[5].view()};
  }

  /// Other tokens, ids and weights in the same place, and an output that is poisoned.
  void draw(std::uint64_t seed) {
    host_.draw(seed);
    host_.poison();
    const MoeOperands operands = host_.operands();
    copies_[0].copy_from(operands.x);
    copies_[1].copy_from(operands.expert_ids);
    copies_[2].copy_from(operands.weights);
    copies_[5].copy_from(operands.out);
  }

  void verify(const std::string& what) {
    copies_[5].copy_to(host_.operands().out);
    const std::string problem = host_.problem();
    const MoeExtents& e = host_.shape().extents;
    require(problem.empty(), what + " of " + std::to_string(e.tokens) + " tokens, " +
                                 std::to_string(e.hidden) + " features, " +
                                 std::to_string(e.experts) + " experts: " + problem);
  }

  std::vector<std::byte> bytes() {
    const TensorView out = host_.operands().out;
    copies_[5].copy_to(out);
    std::vector<std::byte> bytes(static_cast<std::size_t>(out.span_bytes()));
    std::memcpy(bytes.data(), out.data(), bytes.size());
    return bytes;
  }

 private:
  static constexpr std::array<TensorView MoeOperands::*, 6> kOperands{
      &MoeOperands::x,         &MoeOperands::expert_ids, &MoeOperands::weights,
      &MoeOperands::w_gate_up, &MoeOperands::w_down,     &MoeOperands::out};

  MoeProblem host_;
  std::array<DeviceTensor, 6> copies_;
  std::size_t copied_ = 0;
};

std::vector<MoeShape> shapes() {
  using enum MoeActivation;
  return {
      {.extents = {.tokens = 37, .hidden = 72, .inner = 40, .experts = 6, .top_k = 3},
       .dtype = Dtype::bf16,
       .dropped = 2},
      {.extents = {.tokens = 37, .hidden = 72, .inner = 40, .experts = 70, .top_k = 8},
       .dtype = Dtype::f16,
       .options = {.activation = geglu, .interleaved = true},
       .k_major = true},
      // Rows that end within a vector, and begin anywhere.
      {.extents = {.tokens = 19, .hidden = 37, .inner = 13, .experts = 5, .top_k = 2},
       .dtype = Dtype::bf16,
       .options = {.interleaved = true},
       .dropped = 4},
      {.extents = {.tokens = 19, .hidden = 37, .inner = 13, .experts = 5, .top_k = 5},
       .dtype = Dtype::f32,
       .pad = 3,
       .dropped = 4},
      {.extents = {.tokens = 9, .hidden = 29, .inner = 20, .experts = 3, .top_k = 1},
       .dtype = Dtype::f16,
       .options = {.activation = silu},
       .pad = 3},
      // Several pieces of a row.
      {.extents = {.tokens = 3, .hidden = 520, .inner = 516, .experts = 2, .top_k = 2},
       .dtype = Dtype::f32,
       .dropped = 8},
      // Every token is dropped, so nothing is multiplied.
      {.extents = {.tokens = 5, .hidden = 16, .inner = 8, .experts = 3, .top_k = 2}, .dropped = 16},
      {.extents = {.tokens = 5, .hidden = 16, .inner = 8, .experts = 0, .top_k = 2}},
      {.extents = {.tokens = 5, .hidden = 16, .inner = 0, .experts = 3, .top_k = 2}},
      {.extents = {.tokens = 0, .hidden = 16, .inner = 8, .experts = 3, .top_k = 2}},
  };
}

void expert_layers_are_right(Device device) {
  for (const MoeShape& shape : shapes()) {
    PlacedLayer layer(shape, 3, device);
    for (std::uint64_t round = 0; round < 2; ++round) {
      moe(layer.operands(), {.layer = layer.options()});
      synchronize(device);
      layer.verify("a layer");
      layer.draw(4 + round);
    }
  }
}

/// Where slots go, sorted on the host.
struct Sorted {
  Sorted(const std::vector<std::int32_t>& ids, std::int32_t experts) : rows(ids.size(), -1) {
    std::int32_t row = 0;
    for (std::int32_t expert = 0; expert < experts; ++expert) {
      for (std::size_t slot = 0; slot < ids.size(); ++slot)
        if (ids[slot] == expert) rows[slot] = row++;
      ends.push_back(row);
    }
  }

  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> ends{};
};

/// How slots are cut into CTAs, and what they are.
struct SortCase {
  int tokens, top_k, experts, ctas, slots_per_cta;
};

std::vector<std::int32_t> downloaded(const DeviceMemory& memory, std::size_t offset,
                                     std::size_t count) {
  std::vector<std::int32_t> values(count);
  memory.download(values.data(), 4 * count, offset);
  return values;
}

/// Sorts, and copies tokens of one feature, their numbers, to the rows of their slots.
void require_sorted(const SortCase& c, Device device) {
  const std::size_t slots = static_cast<std::size_t>(c.tokens) * static_cast<std::size_t>(c.top_k);
  const auto experts = static_cast<std::size_t>(c.experts);
  std::vector<std::int32_t> words(experts + slots * 3 + experts * static_cast<std::size_t>(c.ctas));
  std::vector<std::int32_t> ids(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    ids[slot] = static_cast<std::int32_t>(slot * slot % (experts + 1));
    if (slot % 11 == 0) ids[slot] = -1;
  }
  std::vector<float> tokens(static_cast<std::size_t>(c.tokens));
  std::iota(tokens.begin(), tokens.end(), 0.0F);
  const DeviceTensor placed_ids = DeviceTensor::copy_of(
      TensorView::row_major(ids.data(), Dtype::i32, {c.tokens, c.top_k}), device);
  const DeviceTensor placed_tokens = DeviceTensor::copy_of(
      TensorView::row_major(tokens.data(), Dtype::f32, {c.tokens, 1}), device);
  DeviceMemory memory(4 * words.size(), device);
  memory.fill(0xff);
  synchronize(device);
  const auto address = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
  const auto section = [&](std::size_t word) { return address(memory.data()) + 4 * word; };
  const std::size_t rows = experts;
  const std::size_t gathered = rows + slots;
  experts::StepParameters p{};
  p.route = {.ids = address(placed_ids.view().data()),
             .token_stride = c.top_k,
             .choice_stride = 1,
             .counts = c.ctas > 1 ? section(gathered + 2 * slots) : 0,
             .ends = section(0),
             .rows = section(rows),
             .slots = c.tokens * c.top_k,
             .top_k = c.top_k,
             .experts = c.experts,
             .expert_bits = static_cast<int>(std::bit_width(experts - 1)),
             .slots_per_cta = c.slots_per_cta};
  p.gather = {.from = address(placed_tokens.view().data()),
              .to = section(gathered),
              .rows = section(rows),
              .from_stride = 1,
              .to_stride = 1,
              .columns = 1,
              .top_k = c.top_k,
              .wide = false};
  p.tokens = c.tokens;
  p.route_ctas = c.ctas;
  {
    const jit::ContextScope scope(device.index);
    experts::device_steps({Dtype::f32, MoeActivation::relu, false}, device)->gather(p, nullptr);
  }
  synchronize(device);
  const Sorted sorted(ids, c.experts);
  require(downloaded(memory, 0, experts) == sorted.ends, "a wrong end of an expert");
  require(downloaded(memory, 4 * rows, slots) == sorted.rows, "a wrong row of a slot");
  const std::vector<std::int32_t> moved = downloaded(memory, 4 * gathered, slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (sorted.rows[slot] < 0) continue;
    const auto token = std::bit_cast<float>(moved[static_cast<std::size_t>(sorted.rows[slot])]);
    require(token == tokens[slot / static_cast<std::size_t>(c.top_k)], "a row of another token");
  }
}

/// By one CTA of few warps or many, and by several; of fewer and of more experts than threads.
void slots_are_sorted_stably(Device device) {
  for (const SortCase& each :
       {SortCase{5, 1, 4, 1, 16384}, SortCase{300, 8, 70, 1, 2400}, SortCase{100, 7, 3, 5, 160},
        SortCase{90, 3, 2000, 3, 96}, SortCase{40, 8, 1, 1, 16384}})
    require_sorted(each, device);
}

/// Words of memory: how many rows are computed, rows of gate and up, and rows for what a gate lets
/// through, which are poisoned.
struct GateMemory {
  static constexpr std::size_t kRows = 7;
  static constexpr std::uint32_t kComputed = 5;
  static constexpr std::size_t kFrom = 4;

  GateMemory(std::size_t from_stride, std::size_t to_stride)
      : to(kFrom + kRows * from_stride),
        words(to + kRows * to_stride, std::bit_cast<std::uint32_t>(-7.0F)) {
    words[0] = kComputed;
    for (std::size_t i = kFrom; i < to; ++i) {
      const auto number = static_cast<int>(i * 37 % 129) - 64;
      words[i] = std::bit_cast<std::uint32_t>(static_cast<float>(number) / 16);
    }
  }
  float at(std::size_t word) const { return std::bit_cast<float>(words[word]); }

  std::size_t to;
  std::vector<std::uint32_t> words;
};

/// The step that applies a gate, which layers take where no product does, against the host's.
void require_gated(const experts::StepOptions& options, std::int64_t columns, Device device) {
  const std::int64_t from_stride = (2 * columns + 3) / 4 * 4;
  const std::int64_t to_stride = (columns + 3) / 4 * 4;
  GateMemory host(static_cast<std::size_t>(from_stride), static_cast<std::size_t>(to_stride));
  const std::size_t bytes = 4 * host.words.size();
  DeviceMemory memory(bytes, device);
  memory.upload(host.words.data(), bytes);
  const auto parameters = [&](const void* base) {
    const auto at = [&](std::size_t word) {
      return reinterpret_cast<std::uintptr_t>(base) + 4 * word;
    };
    experts::StepParameters p{};
    p.route.slots = GateMemory::kRows;
    p.gate = {.from = at(GateMemory::kFrom),
              .to = at(host.to),
              .last_end = at(0),
              .from_stride = from_stride,
              .to_stride = to_stride,
              .columns = columns,
              .wide = columns % 4 == 0};
    return p;
  };
  {
    const jit::ContextScope scope(device.index);
    experts::device_steps(options, device)->activate(parameters(memory.data()), nullptr);
  }
  synchronize(device);
  experts::host_steps(options)->activate(parameters(host.words.data()), nullptr);
  GateMemory found = host;
  memory.download(found.words.data(), bytes);
  for (std::size_t i = GateMemory::kFrom; i < host.words.size(); ++i) {
    const float expected = host.at(i);
    const float error = std::abs(found.at(i) - expected);
    require(error <= 1e-5F * std::abs(expected) + 1e-6F,
            "a gate of " + std::to_string(columns) + " columns gives " +
                std::to_string(found.at(i)) + " where " + std::to_string(expected) + " is right");
  }
}

void gates_of_experts_are_right(Device device) {
  for (const MoeActivation activation : {MoeActivation::swiglu, MoeActivation::geglu}) {
    for (const bool interleaved : {false, true}) {
      for (const std::int64_t columns : {13, 40, 516})
        require_gated({Dtype::f32, activation, interleaved}, columns, device);
    }
  }
}

/// One captured launch, replayed with other ids, weights and tokens.
void expert_layers_are_captured(Device device) {
  const MoeShape shape{
      .extents = {.tokens = 20, .hidden = 40, .inner = 24, .experts = 9, .top_k = 2},
      .dtype = Dtype::bf16,
      .dropped = 2};
  PlacedLayer layer(shape, 6, device);
  Moe planned(layer.operands(), layer.options());
  DeviceMemory memory(planned.workspace_size(), device);
  const Workspace workspace{memory.data(), memory.bytes()};
  Recording recording(device);
  {
    Recording other(device);
    other.begin();
    refuses(ErrorKind::value, {"workspace"},
            [&] { planned.run(layer.operands(), {}, other.stream()); });
    other.end();
  }
  recording.begin();
  planned.run(layer.operands(), workspace, recording.stream(), RuntimeArguments::CheckDevice::no);
  recording.end();
  for (std::uint64_t seed = 7; seed < 10; ++seed) {
    layer.draw(seed);
    memory.fill(0xff);
    synchronize(device);
    recording.replay();
    layer.verify("a replay");
  }
}

void expert_layers_repeat_their_bits(Device device) {
  PlacedLayer layer({.extents = {.tokens = 33, .hidden = 64, .inner = 32, .experts = 4, .top_k = 4},
                     .dtype = Dtype::bf16},
                    8, device);
  std::vector<std::byte> first;
  for (int round = 0; round < 3; ++round) {
    layer.draw(9);
    moe(layer.operands());
    synchronize(device);
    if (round == 0) first = layer.bytes();
    require(layer.bytes() == first, "a layer gives other bits in another run");
  }
}

/// Of the library's workspace, from one stream after the other.
void expert_layers_take_turns(Device device) {
  const MoeShape shape{
      .extents = {.tokens = 12, .hidden = 24, .inner = 16, .experts = 4, .top_k = 2}};
  PlacedLayer first(shape, 10, device);
  PlacedLayer second(shape, 11, device);
  const std::array streams{DeviceStream(device), DeviceStream(device)};
  for (std::uint64_t round = 0; round < 12; ++round) {
    for (PlacedLayer* layer : {&first, &second}) {
      layer->draw(20 + round);
      synchronize(device);
      const DeviceStream& stream = streams[round % 2];
      const bool is_new = moe(layer->operands(), {.stream = stream.handle()});
      require(is_new == (round == 0 && layer == &first), "moe: a plan is remembered");
      stream.synchronize();
      layer->verify("a layer in turn");
    }
  }
}

/// From the second run on, also where operands and workspace move.
void expert_layers_allocate_nothing(Device device) {
  const MoeShape shape{
      .extents = {.tokens = 12, .hidden = 24, .inner = 16, .experts = 4, .top_k = 2},
      .dtype = Dtype::bf16};
  PlacedLayer first(shape, 13, device);
  PlacedLayer second(shape, 14, device);
  Moe planned(first.operands());
  const std::array memory{DeviceMemory(planned.workspace_size(), device),
                          DeviceMemory(planned.workspace_size(), device)};
  for (std::size_t round = 0; round < 24; ++round) {
    PlacedLayer& layer = round % 3 == 0 ? first : second;
    const DeviceMemory& workspace = memory[round / 12];
    const MoeOperands operands = layer.operands();
    layer.draw(round);
    synchronize(device);
    const std::size_t before = allocations();
    planned.run(operands, {workspace.data(), workspace.bytes()});
    const std::size_t taken = allocations() - before;
    require(round < 2 || taken == 0,
            "run " + std::to_string(round) + " takes memory from the heap");
    synchronize(device);
    layer.verify("a run");
  }
}

void expert_layers_refuse_the_host(Device device) {
  PlacedLayer layer({.extents = {.tokens = 4, .hidden = 8, .inner = 8, .experts = 2, .top_k = 1}},
                    12, device);
  MoeOperands operands = layer.operands();
  std::array<std::int32_t, 4> ids{};
  operands.expert_ids = TensorView(ids.data(), Dtype::i32, {4, 1}, {1, 1}, device);
  refuses(ErrorKind::value, {"expert_ids", "host"}, [&] { moe(operands); });
}

}  // namespace

std::vector<Feature> moe_features() {
  return {{"expert_layers_are_right", expert_layers_are_right},
          {"slots_are_sorted_stably", slots_are_sorted_stably},
          {"gates_of_experts_are_right", gates_of_experts_are_right},
          {"expert_layers_are_captured", expert_layers_are_captured},
          {"expert_layers_repeat_their_bits", expert_layers_repeat_their_bits},
          {"expert_layers_take_turns", expert_layers_take_turns},
          {"expert_layers_allocate_nothing", expert_layers_allocate_nothing},
          {"expert_layers_refuse_the_host", expert_layers_refuse_the_host}};
}

}  // namespace estoc::gpu_test
