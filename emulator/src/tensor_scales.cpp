// Scales of blocks that products of tcgen05 read from tensor memory.
#include <fmt/core.h>

#include <cmath>

#include "tensor_product.h"

namespace estoc::emulator {
TensorScale tensor_scale(abi::Type type, u32 byte) {
  if (type == abi::Type::e8m0) {
    return {byte == 0xff ? std::nanf("") : 1.0F, static_cast<int>(byte) - 127};
  }
  const int field = static_cast<int>(byte >> 3 & 15);
  const auto fraction = static_cast<float>(byte & 7) / 8;
  if ((byte & 0x7f) == 0x7f) return {std::nanf(""), 0};
  return field == 0 ? TensorScale{fraction, -6} : TensorScale{1 + fraction, field - 7};
}

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

}  // namespace estoc::emulator
