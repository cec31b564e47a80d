// What a launch of a GEMM kernel needs besides the kernel: operands, parameters, grid. The same for
// the emulator and for a card, which differ in addresses and in who encodes tensor maps.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>

#include <estoc/abi/simt_gemm.cuh>
#include <estoc/abi/sm80_gemm.cuh>
#include <estoc/abi/sm90_gemm.cuh>

#include "tensor.h"

namespace estoc::harness {

struct Problem {
  int m;
  int n;
  int k;
  int l = 1;
  unsigned ctas = 1;  ///< sm90_gemm: clusters of the grid; else its extent along z
  bool along_n = false;
};

using Config = std::variant<abi::SimtGemmConfig, abi::Sm80GemmConfig, abi::Sm90GemmConfig>;

struct Operands {
  Tensor a;
  Tensor b;
  Tensor out;
};

struct Addresses {
  unsigned long long a;
  unsigned long long b;
  unsigned long long out;
};

/// cuTensorMapEncodeTiled, or the emulator's encode_tiled.
using Encode = int (*)(void* map, int data_type, std::uint32_t rank, void* address,
                       const std::uint64_t* extents, const std::uint64_t* strides,
                       const std::uint32_t* box, const std::uint32_t* element_strides,
                       int interleave, int swizzle, int l2_promotion, int fill);

using Parameters =
    std::variant<abi::SimtGemmParameters, abi::Sm80GemmParameters, abi::Sm90GemmParameters>;

struct Geometry {
  std::array<unsigned, 3> grid;
  unsigned threads;
  unsigned shared_bytes;
  std::array<unsigned, 3> cluster;
};

Operands make_operands(const Config& config, const Problem& problem, unsigned seed);
/// Throws std::invalid_argument where a tensor map cannot be encoded.
Parameters make_parameters(const Config& config, const Problem& problem, const Operands& operands,
                           const Addresses& addresses, Encode encode);
Geometry make_geometry(const Config& config, const Problem& problem);

/// Puts the product into the values of `out`, in float64.
void compute_product(Operands& operands);

/// The address of what a variant holds, as kernels take it.
void* address_of(Parameters& parameters);

}  // namespace estoc::harness
