// Reads machine code and compares it with a kernel's name.
#include "tiles.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <stdexcept>

#include "bounds.h"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/problem.hpp"

namespace estoc::compile_test {
namespace {

/// Products that the threads of one tile compute when each executes every instruction once, and the
/// widths that wgmma instructions have.
struct Products {
  long all = 0;
  std::set<long> wgmma_columns;
};

Products products_of(const std::string& sass, long threads, long warpgroups) {
  // HGMMA.64x256x16.F32, DMMA.16x8x4, IMMA.16832.S8.S8, HMMA.16816.F32
  static const std::regex kPattern(
      R"(\b[HQI]GMMA\.64x(\d+)x(\d+)|\b[HIDQ]MMA\.(\d+)x(\d+)x(\d+)|\b[HIDQ]MMA\.(16)(8)(\d+))");
  Products products;
  for (std::sregex_iterator at(sass.begin(), sass.end(), kPattern), end; at != end; ++at) {
    auto number = [&](std::size_t group) { return std::stol((*at)[group]); };
    if ((*at)[1].matched) {
      products.all += 64 * number(1) * number(2) * warpgroups;
      products.wgmma_columns.insert(number(1));
    } else {
      const std::size_t first = (*at)[3].matched ? 3 : 6;
      products.all += number(first) * number(first + 1) * number(first + 2) * (threads / 32);
    }
  }
  return products;
}

/// The same of code without tensor cores: one product for each multiply-add, four for IDP.4A.
long scalar_products_of(const std::string& sass, Dtype accumulator, long threads) {
  static const std::regex kFloat(R"(\bFFMA\b)");
  static const std::regex kDouble(R"(\bDFMA\b)");
  const std::regex& pattern = accumulator == Dtype::f64 ? kDouble : kFloat;
  return std::distance(std::sregex_iterator(sass.begin(), sass.end(), pattern),
                       std::sregex_iterator()) *
         threads;
}

int encode_nothing(void* /*map*/, int /*data_type*/, unsigned /*rank*/, void* /*address*/,
                   const std::uint64_t* /*extents*/, const std::uint64_t* /*strides*/,
                   const std::uint32_t* /*box*/, const std::uint32_t* /*element_strides*/,
                   int /*interleave*/, int /*swizzle*/, int /*l2_promotion*/, int /*fill*/) {
  return 0;
}

/// How the kernel is launched on a problem of 1024 x 1024 x 1024.
CudaGeometry geometry_of(const Kernel& kernel) {
  const GemmOperandsMetadata& operands = *kernel.metadata().gemm();
  std::uintptr_t address = std::uintptr_t{1} << 30U;
  auto view = [&](const TensorAttributes& attributes) {
    address += std::uintptr_t{1} << 30U;
    constexpr std::int64_t kExtent = 1024;
    const bool rows = attributes.layout != LayoutConstraint::n;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is there
    return TensorView(reinterpret_cast<void*>(address), attributes.dtype, {kExtent, kExtent},
                      {rows ? kExtent : 1, rows ? 1 : kExtent});
  };
  const GemmArguments arguments(view(operands.a), view(operands.b), view(operands.out),
                                operands.accumulator_type);
  const auto& kernel_class = dynamic_cast<const CudaKernelClass&>(kernel.kernel_class());
  LaunchPlan plan(PlanDevice{.multiprocessors = 132, .encode_tiled = encode_nothing});
  kernel_class.plan(kernel.point(), kernel.knobs(), arguments, {}, plan);
  // A kernel that copies operands may be ahead of the product.
  std::size_t product = 0;
  while (plan.step(product).entry != 0)
    ++product;
  return plan.step(product).geometry;
}

long stage_bytes(const KernelMetadata& metadata) {
  const Shape3 tile = *metadata.design.tile;
  const bool copied = metadata.kernel_class == "sm90_bf16x6_gemm" ||
                      metadata.kernel_class.ends_with("_dequantised_gemm");
  // Of B, codes are loaded as they are.
  if (metadata.kernel_class == "sm90_swapped_dequantised_gemm") {
    return (long{tile.m} * 16 + long{tile.n} * dtype_bits(metadata.gemm()->b.dtype)) * tile.k / 8;
  }
  const Dtype multiplied = copied ? Dtype::bf16 : metadata.gemm()->a.dtype;
  return long{tile.m + tile.n} * tile.k * dtype_bits(multiplied) / 8;
}

}  // namespace

std::vector<std::string> tile_defects(const Case& one, const std::string& cubin,
                                      const std::string& sass) {
  std::vector<std::string> defects;
  const KernelMetadata& metadata = one.kernel.metadata();
  const Shape3 tile = *metadata.design.tile;
  const CudaGeometry geometry = geometry_of(one.kernel);
  const auto threads = static_cast<long>(geometry.block[0]);
  const auto bounds = read_bounds(cubin);
  if (!bounds || bounds->threads != threads) {
    defects.push_back(fmt::format("the launch has {} threads, the code is bound to {}", threads,
                                  bounds ? bounds->threads : 0));
  }
  // Warpgroups that share a tile run the same code, each on its rows.
  const long warpgroups = metadata.design.schedule == "cooperative" ? 2 : 1;
  Products products = products_of(sass, threads, warpgroups);
  long step = long{tile.m} * tile.n;
  const bool scalar = metadata.kernel_class.starts_with("simt_");
  if (scalar) products.all = scalar_products_of(sass, metadata.gemm()->accumulator_type, threads);
  if (!scalar) step *= tile.k;
  // The loop over a stage may occur several times, unrolled; not in part.
  if (products.all == 0 || products.all % step != 0) {
    defects.push_back(
        fmt::format("its instructions compute {} products, not a multiple of the {} "
                    "of tile {}x{}x{}",
                    products.all, step, tile.m, tile.n, tile.k));
  }
  const bool swapped = metadata.kernel_class.starts_with("sm90_swapped_");
  const bool transposed = (metadata.gemm()->out.layout == LayoutConstraint::n) != swapped;
  const long code_columns = transposed ? tile.m : tile.n;
  if (!products.wgmma_columns.empty() && products.wgmma_columns != std::set{code_columns}) {
    defects.push_back(fmt::format("its wgmma have {} columns, expected {} alone",
                                  *products.wgmma_columns.begin(), code_columns));
  }
  const long stages = metadata.design.stages * stage_bytes(metadata);
  if (metadata.design.stages > 1 && geometry.shared_bytes < stages) {
    defects.push_back(fmt::format("its launch has {} bytes of shared memory, its stages need {}",
                                  geometry.shared_bytes, stages));
  }
  return defects;
}

std::string disassemble(const std::string& nvdisasm, const std::string& cubin) {
  const auto file = std::filesystem::temp_directory_path() /
                    fmt::format("estoc_tiles_{}_{}.cubin", ::getpid(), std::random_device{}());
  std::ofstream(file, std::ios::binary) << cubin;
  const std::string command = fmt::format("'{}' -c '{}' 2>&1", nvdisasm, file.string());
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (read == 0) break;
    text.append(buffer.data(), read);
  }
  std::filesystem::remove(file);
  if (text.find(".text.") == std::string::npos) {
    throw std::runtime_error(nvdisasm + ": " + text.substr(0, 200));
  }
  return text;
}

std::vector<Case> cases_of_tiles(const Pool& pool, std::size_t most, std::uint64_t seed) {
  std::vector<Case> chosen;
  std::mt19937_64 random(seed);
  for (const Target target : pool.targets) {
    KernelQuery query;
    query.target = target;
    query.providers = {pool.provider};
    query.filter = MetadataFilter::parse("operation=gemm " + pool.filter);
    const KernelSequence kernels = get_kernels(query);
    std::set<std::string> met;
    constexpr int kVainDraws = 3000;
    for (int vain = 0; vain < kVainDraws && !kernels.empty() && chosen.size() < most; ++vain) {
      const Kernel kernel = kernels[random() % kernels.size()];
      const KernelMetadata& metadata = kernel.metadata();
      const Shape3 tile = *metadata.design.tile;
      // What is quantised behind a product has the code of that product's class.
      if (metadata.kernel_class.ends_with("_quantised_gemm")) continue;
      // simt_gemm multiplies integers by instructions that addresses are computed with, too.
      if (metadata.kernel_class.starts_with("simt_") && is_integer(metadata.gemm()->a.dtype))
        continue;
      const std::string where = metadata.kernel_class + metadata.design.schedule;
      const bool new_tile =
          met.insert(fmt::format("{} {}x{}x{}", where, tile.m, tile.n, tile.k)).second;
      const bool new_type =
          met.insert(where + std::string(dtype_name(metadata.gemm()->a.dtype))).second;
      if (!new_tile && !new_type) continue;
      chosen.push_back({kernel, target});
      vain = 0;
    }
  }
  return chosen;
}

}  // namespace estoc::compile_test
