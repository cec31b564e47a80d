// A GEMM in cuBLASLt's terms: descriptors, layouts, and the algorithms it offers for them.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"
#include "providers/cublaslt/lt_epilogue.h"
#include "providers/cublaslt/lt_facts.h"
#include "providers/cublaslt/lt_library.h"

namespace estoc::cublaslt {

/// Bytes of workspace that an algorithm may take at most.
inline constexpr std::size_t kWorkspaceLimit = std::size_t{64} << 20;

/// An algorithm that the library offers for a product.
struct Candidate {
  Algorithm algorithm;
  LtFacts facts;
};

/// Where a product's operands lie.
struct LtOperands {
  explicit LtOperands(const GemmArguments& arguments)
      : a(arguments.a_matrix().data),
        b(arguments.b_matrix().data),
        out(arguments.out_matrix().data) {}

  const void* a;
  const void* b;
  void* out;
};

/// Descriptors of a product and the factors it is scaled by.
class LtMatmul {
 public:
  /// Why the library cannot compute the product: a dtype it does not have, strides it cannot
  /// express.
  static Status expressible(const GemmArguments& arguments);

  /// The epilogue as it is stated to the library; fails as describe_lt_epilogue does, and where C
  /// does not lie as out does.
  static Status describe(const GemmArguments& arguments, OutOrder out_order, LtEpilogue* epilogue);

  /// Of arguments that are expressible and whose epilogue is.
  LtMatmul(const GemmArguments& arguments, OutOrder out_order);

  /// Has C, bias, scales and factors be those of `arguments`, which differ from those it was made
  /// of in addresses and numbers alone and are aligned as well; A, B and out are given to start().
  /// False, with nothing changed, where the library would do something else with them. Allocates
  /// nothing.
  bool move_to(const GemmArguments& arguments);

  /// The algorithms that the library offers, in its order; at most `most`.
  std::vector<Candidate> heuristics(int most) const;

  /// Starts the product of the operands.
  void start(LtContext* context, const LtOperands& operands, const Algorithm& algorithm,
             void* workspace, std::size_t workspace_bytes, jit::CUstream stream) const;

 private:
  // In the type that the library scales by.
  using Factor = std::variant<float, double, std::int32_t>;

  template <class Value>
  void set(DescAttribute attribute, Value value);
  void set_scales(const LtScales& scales);
  void set_scale_pointers(const LtScales& scales);
  void set_epilogue(const LtEpilogue& epilogue);
  void set_bias_pointer(const LtBias& bias);
  void set_factors(const GemmArguments& arguments, const LtEpilogue& epilogue);

  const LtTable& table_;
  OutOrder out_order_;
  bool transposed_;
  Mode mode_;
  MatmulDesc desc_;
  MatrixLayout first_;
  MatrixLayout second_;
  MatrixLayout c_;  ///< null: that of out
  MatrixLayout out_;
  const void* c_data_ = nullptr;
  int alignments_[4];  ///< of the first operand, the second, C, out
  std::uint32_t reduction_schemes_;
  Factor alpha_;
  Factor beta_;
};

}  // namespace estoc::cublaslt
