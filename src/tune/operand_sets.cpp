// Random operands on a device, in enough copies that no launch finds them in the L2 cache.
#include "tune/operand_sets.h"

#include <algorithm>
#include <random>

#include "estoc/numeric.hpp"
#include "model/views.h"

namespace estoc::tune {
namespace {

constexpr int kMostSets = 64;
// Random values before they repeat; odd, so that rows of a power of two differ.
constexpr std::int64_t kPeriod = (std::int64_t{1} << 22) + 7;

// Normal for floats, uniform over the range for integers: what keeps the card as busy as real
// data does.
std::vector<std::byte> random_elements(Dtype dtype, std::int64_t elements, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(storage_bytes(dtype, elements)));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> integer(dtype == Dtype::u8 ? 0 : -128,
                                             dtype == Dtype::u8 ? 255 : 127);
  const std::int64_t period = std::min(elements, kPeriod);
  for (std::int64_t i = 0; i < period; ++i) {
    store_element(dtype, bytes.data(), i, is_float(dtype) ? normal(random) : integer(random));
  }
  const std::size_t whole = static_cast<std::size_t>(storage_bytes(dtype, period));
  for (std::size_t i = whole; i < bytes.size(); ++i)
    bytes[i] = bytes[i - whole];
  return bytes;
}

DeviceMemory random_memory(const TensorView& view, Device device, std::uint64_t seed) {
  const auto bytes = static_cast<std::size_t>(view.span_bytes());
  DeviceMemory memory(bytes, device);
  const auto elements = view.span_bytes() * 8 / dtype_bits(view.dtype());
  const std::vector<std::byte> host = random_elements(view.dtype(), elements, seed);
  memory.upload(host.data(), bytes);
  return memory;
}

TensorView placed(const TensorView& like, const DeviceMemory& memory) {
  return TensorView(memory.data(), like.dtype(), like.shape(), like.strides(), memory.device());
}

}  // namespace

OperandSets::OperandSets(const Problem& problem, Device device, std::uint64_t seed) {
  const auto described = problem.arguments(Device::cpu());
  const model::OperandViews shapes = model::views_of(*described);
  std::int64_t one_set = shapes.a.span_bytes() + shapes.b.span_bytes() + shapes.out.span_bytes();
  for (const EpilogueOperand& operand : shapes.epilogue)
    one_set += operand.tensor() != nullptr ? operand.tensor()->span_bytes() : 0;
  const DeviceInfo& info = cuda_devices().at(static_cast<std::size_t>(device.index));
  const std::int64_t wanted = 2 * info.l2_bytes / std::max<std::int64_t>(one_set, 1) + 1;
  const auto sets = static_cast<int>(std::clamp<std::int64_t>(wanted, 2, kMostSets));
  for (int set = 0; set < sets; ++set) {
    const std::uint64_t own = seed + 16 * static_cast<std::uint64_t>(set);
    DeviceMemory a = random_memory(shapes.a, device, own);
    DeviceMemory b = random_memory(shapes.b, device, own + 1);
    DeviceMemory out(static_cast<std::size_t>(shapes.out.span_bytes()), device);
    out.fill(0xff);
    std::vector<EpilogueOperand> epilogue;
    for (const EpilogueOperand& operand : shapes.epilogue)
      epilogue.push_back(placed_operand(operand, device, own + 2 + epilogue.size()));
    arguments_.push_back(model::with_views(
        *described,
        {placed(shapes.a, a), placed(shapes.b, b), placed(shapes.out, out), std::move(epilogue)}));
    for (DeviceMemory* memory : {&a, &b, &out})
      memory_.push_back(std::move(*memory));
  }
}

EpilogueOperand OperandSets::placed_operand(const EpilogueOperand& like, Device device,
                                            std::uint64_t seed) {
  if (like.tensor() == nullptr) return like;
  memory_.push_back(random_memory(*like.tensor(), device, seed));
  return {like.name, placed(*like.tensor(), memory_.back())};
}

}  // namespace estoc::tune
