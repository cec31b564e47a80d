// Scales of blocks that products of tcgen05 read from tensor memory.
#include <fmt/core.h>

#include <cmath>

#include "numbers.h"
#include "tensor_product.h"

namespace estoc::emulator {
namespace {

constexpr u32 kQuarter = 32;

// That of e4m3 has no sign.
double scale_value(abi::Type type, u32 byte) {
  return static_cast<double>(element_value(type, type == abi::Type::e4m3 ? byte & 0x7f : byte));
}

}  // namespace

std::optional<TensorBlocks> decode_blocks(Thread& thread, const TensorOperands& o,
                                          const abi::Tcgen05Product& product, Site site) {
  if (!abi::takes_scales(o.kind)) return TensorBlocks{};
  const u32 bits = o.instruction;
  const auto size = static_cast<u32>(product.block);
  const auto taken = static_cast<u32>(product.scale_bytes());
  const TensorBlocks blocks{size,       product.scales, o.scales.a,
                            o.scales.b, bits >> 29 & 3, bits >> 4 & 3};
  const auto check = [&](const char* name, u32 first) {
    if (first % taken == 0) return true;
    Machine::current().report(
        Fault::bad_descriptor, thread, site, bits,
        fmt::format("the instruction descriptor {:#010x}: the scales of {} begin at byte {} of "
                    "their words, and the product takes {} of them at a multiple of as many",
                    bits, name, first, taken));
    return false;
  };
  const auto check_lane = [&](const char* name, u32 address) {
    if (address >> 16 == 0) return true;
    Machine::current().report(Fault::tensor_memory, thread, site, address,
                              fmt::format("the scales of {} begin at lane {} of tensor memory, and "
                                          "not at 0",
                                          name, address >> 16));
    return false;
  };
  if (!check("A", blocks.a_first) || !check("B", blocks.b_first)) return std::nullopt;
  if (!check_lane("A", blocks.a) || !check_lane("B", blocks.b)) return std::nullopt;
  return blocks;
}

void apply_scales(const TensorBlocks& blocks, TensorMemory& memory, u32 words, u32 first, u32 rows,
                  u32 depth, double* values, std::size_t row_stride, std::size_t k_stride) {
  for (u32 row = 0; row < rows; ++row) {
    // Each quarter of the lanes has a copy of its own; where they differ the product is NaN.
    const u32 column = (words & 0xffff) + row / kQuarter;
    const u32 word = memory.row(row % kQuarter)[column];
    bool same = true;
    for (u32 lane = row % kQuarter; lane < kTensorLanes; lane += kQuarter)
      same = same && memory.row(lane)[column] == word;
    for (u32 block = 0; block < depth / blocks.size; ++block) {
      const double scale =
          same ? scale_value(blocks.type, word >> 8 * (first + block) & 0xff) : std::nan("");
      double* const from = values + row * row_stride + block * blocks.size * k_stride;
      for (u32 k = 0; k < blocks.size; ++k)
        from[k * k_stride] *= scale;
    }
  }
}

}  // namespace estoc::emulator
