// Rows of the GPU kernels under batch_invariant and deterministic: the same bits whatever M, the
// row's place and the number of multiprocessors are.
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulated.h"
#include "estoc/numeric.hpp"

namespace estoc::batch_invariance_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);
constexpr std::int64_t kRows = 150;
constexpr std::int64_t kK = 336;

using Rows = std::vector<std::string>;  ///< the bytes of each

PerformanceControls controls_of(bool deterministic, bool batch_invariant) {
  PerformanceControls wishes;
  wishes.deterministic = deterministic;
  wishes.batch_invariant = batch_invariant;
  return wishes;
}

/// A product of rows of one source by one B.
class Rowwise {
 public:
  Rowwise(Dtype in, Dtype out, std::int64_t n = 72, std::string epilogue = {})
      : in_(in),
        out_(out),
        n_(n),
        epilogue_(std::move(epilogue)),
        source_(static_cast<std::size_t>(kRows * kK * bytes(in)) + 16),
        b_(static_cast<std::size_t>(kK * n * bytes(in)) + 16) {
    fill(source_, kRows * kK, 1);
    fill(b_, kK * n, 2);
  }

  /// Calls run(arguments) for `m` rows from row `first` on; gives the rows of out, with the sum of
  /// each where the epilogue has sums.
  template <typename Run>
  Rows rows(std::int64_t m, std::int64_t first, const PerformanceControls& controls,
            const Run& run) {
    std::vector<std::byte> out(static_cast<std::size_t>(m * n_ * bytes(out_)) + 16);
    std::vector<float> sums(static_cast<std::size_t>(m));
    std::vector<EpilogueOperand> operands;
    if (epilogue_.find("sums") != std::string::npos) {
      operands.emplace_back("sums", TensorView::row_major(sums.data(), Dtype::f32, {m, 1}));
    }
    const GemmArguments arguments(
        TensorView::row_major(aligned(source_) + first * kK * bytes(in_), in_, {m, kK}),
        TensorView::column_major(aligned(b_), in_, {kK, n_}),
        TensorView::row_major(aligned(out), out_, {m, n_}), Dtype::f32, controls,
        EpilogueArguments(epilogue_, operands));
    run(arguments);
    Rows rows;
    const std::int64_t size = n_ * bytes(out_);
    for (std::int64_t i = 0; i < m; ++i) {
      std::string& row = rows.emplace_back(reinterpret_cast<const char*>(aligned(out) + i * size),
                                           static_cast<std::size_t>(size));
      row.append(reinterpret_cast<const char*>(&sums[static_cast<std::size_t>(i)]), sizeof(float));
    }
    return rows;
  }

  GemmArguments described(std::int64_t m, const PerformanceControls& controls) {
    std::optional<GemmArguments> kept;
    rows(m, 0, controls, [&](const GemmArguments& arguments) { kept = arguments; });
    return *kept;
  }

 private:
  /// Numbers of all magnitudes, so that sums round and their order shows.
  void fill(std::vector<std::byte>& memory, std::int64_t count, double seed) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = std::sin(seed + 1.7 * static_cast<double>(i));
      store_element(in_, aligned(memory), i, std::ldexp(x, static_cast<int>(i * 7 % 11) - 5));
    }
  }
  static std::int64_t bytes(Dtype dtype) { return dtype_bits(dtype) / 8; }
  static std::byte* aligned(std::vector<std::byte>& memory) {
    return memory.data() + (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16) % 16;
  }

  Dtype in_;
  Dtype out_;
  std::int64_t n_;
  std::string epilogue_;
  std::vector<std::byte> source_;
  std::vector<std::byte> b_;
};

class BatchInvariance : public EmulatedKernels {
 protected:
  static Kernel kernel(const GemmArguments& arguments, const std::string& filter) {
    KernelQuery query;
    query.target = kTarget;
    query.filter = MetadataFilter::parse(filter);
    const KernelList kernels = get_kernels(arguments, query);
    if (kernels.empty()) throw std::runtime_error("no kernel for " + filter);
    return kernels.front();
  }

  static Rows run(const emulator::BuiltKernel& built, Rowwise& product, std::int64_t m,
                  std::int64_t first, const PerformanceControls& controls, int multiprocessors) {
    return product.rows(m, first, controls, [&](const GemmArguments& arguments) {
      emulator::RunOptions options;
      options.multiprocessors = multiprocessors;
      const emulator::Report report = built.run(arguments, options);
      EXPECT_TRUE(report.clean()) << report.text();
    });
  }

  /// Runs the kernel that the filter finds first; gives all rows.
  static Rows check(Rowwise& product, const std::string& filter, const std::string& order = {}) {
    const PerformanceControls wish = controls_of(false, true);
    const Kernel found = kernel(product.described(kRows, wish), filter);
    EXPECT_TRUE(order.empty() || found.kernel_class().summation(found.point(), nullptr) == order);
    // A handle that was found for another wish honours this one too.
    Knobs knobs = found.knobs();
    knobs.zigzag = true;
    const emulator::BuiltKernel built(found.with_knobs(knobs), kTarget);
    Rows expected = run(built, product, kRows, 0, wish, 3);
    for (const auto& [m, first, multiprocessors] : {std::array<std::int64_t, 3>{1, 149, 4},
                                                    {7, 32, 1},
                                                    {64, 80, 2},
                                                    {150, 0, 1},
                                                    {149, 1, 5}}) {
      const Rows rows = run(built, product, m, first, wish, static_cast<int>(multiprocessors));
      for (std::int64_t i = 0; i < m; ++i) {
        EXPECT_TRUE(rows[static_cast<std::size_t>(i)] ==
                    expected[static_cast<std::size_t>(first + i)])
            << filter << ": row " << i << " of " << m << " on " << multiprocessors;
      }
    }
    return expected;
  }
};

TEST_F(BatchInvariance, OfSm90KernelsOfOneOrder) {
  Rowwise product(Dtype::bf16, Dtype::f32);
  const std::string order = "wgmma bf16 x bf16";
  const Rows rows = check(product, "class=sm90_gemm tile=64x64x64 cluster=1x1x1", order);
  EXPECT_TRUE(check(product, "class=sm90_gemm tile=128x64x64 cluster=2x1x1", order) == rows);
}

TEST_F(BatchInvariance, OfTheOtherClasses) {
  Rowwise product(Dtype::bf16, Dtype::bf16);
  check(product, "class=sm80_gemm tile=64x64x32");
  check(product, "class=simt_gemm tile=32x32x16");
}

TEST_F(BatchInvariance, OfNarrowFloats) {
  Rowwise product(Dtype::e4m3, Dtype::f32);
  check(product, "class=sm90_gemm tile=64x64x128 cluster=1x1x1");
}

TEST_F(BatchInvariance, WithAnEpilogueAndSumsOfRows) {
  const char* epilogue = "D = gelu_tanh(accum * 0.7); sums = sum(D)";
  // Sums of several tiles, which are put together.
  Rowwise product(Dtype::bf16, Dtype::bf16, 200, epilogue);
  check(product, "class=sm90_gemm tile=64x64x64 cluster=1x1x1");
  check(product, "class=sm80_gemm tile=64x64x32");
}

TEST_F(BatchInvariance, DeterministicRunsDoNotDependOnMultiprocessors) {
  Rowwise product(Dtype::bf16, Dtype::f32);
  const Kernel found =
      kernel(product.described(kRows, {}), "class=sm90_gemm tile=64x64x64 cluster=1x1x1");
  ASSERT_TRUE(found.knobs().zigzag);
  const emulator::BuiltKernel built(found, kTarget);
  const PerformanceControls wish = controls_of(true, false);
  EXPECT_TRUE(run(built, product, kRows, 0, wish, 1) == run(built, product, kRows, 0, wish, 4));
  // So that this says something: without the wish they do.
  EXPECT_FALSE(run(built, product, kRows, 0, {}, 1) == run(built, product, kRows, 0, {}, 4));
}

}  // namespace
}  // namespace estoc::batch_invariance_test
