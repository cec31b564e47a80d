// The one text form of a problem, for the command line, tests, benchmarks and bug reports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"

namespace estoc {

/// Layout of an operand in problem text: t = last mode contiguous, n = next-to-last contiguous.
enum class Layout : std::uint8_t { t, n };

/// The scales of an operand of a gemm: `*tensor`, `*row`, `*1x128:n`, `*1x32:swizzled`,
/// `*1x16+tensor`; of out also `*1x128+pow2`.
struct ScaleSpec {
  ScaleMode mode = ScaleMode::tensorwise;
  ScaleSwizzle swizzle = ScaleSwizzle::none;
  std::optional<Layout> layout{};       ///< of the scales, where they are not swizzled
  std::vector<std::int64_t> strides{};  ///< empty unless given
  bool tensor_scale = false;            ///< a second level
  bool powers_of_two = false;           ///< of out

  bool operator==(const ScaleSpec&) const = default;
};

/// "tensor", "row", "1x16", "128x128": a mode in problem text.
std::string_view scale_mode_text(ScaleMode mode);

/// One operand of a problem: `bf16:t`, `bf16:n@4` (aligned to 4 bytes), `f32:[0,128,1]` (strides
/// in elements, outermost first), or any part of it; a letter or strides, not both; scales come
/// last, `e4m3:t*1x128`. What is absent is filled from files or by `Problem::complete`.
struct OperandSpec {
  std::optional<Dtype> dtype;
  std::optional<Layout> layout;
  std::vector<std::int64_t> strides;  ///< empty unless given
  std::optional<int> alignment;       ///< bytes, a power of two up to 256
  std::optional<ScaleSpec> scale{};   ///< of A, B or out of a gemm

  bool operator==(const OperandSpec&) const = default;
};

/// The shape of an operand of an epilogue, for a product of (L, M, N).
enum class EpilogueForm : std::uint8_t {
  matrix,  ///< (M, N), or (L, M, N) where the product has batches
  row,     ///< (N); with two strides (L, 1, N)
  column,  ///< (M, 1); with two strides (L, M, 1)
  batch,   ///< (L, 1, 1)
  scalar,  ///< ()
};

/// "row", "column", "batch", "scalar"; a matrix is named by its layout.
std::string_view epilogue_form_name(EpilogueForm form);

/// One operand of a problem's epilogue: `C=bf16:t`, `bias=f32:row`, `amax=f32:column@4`,
/// `alpha=f32:scalar`, `seed=7`, `alpha=f16:0.5`.
struct EpilogueOperandSpec {
  std::string name;
  EpilogueForm form = EpilogueForm::matrix;
  OperandSpec tensor;
  std::optional<double> value;  ///< of a scalar that is given by value
  bool is_integer = false;      ///< the value was written as a whole number

  /// A value that is not a number equals another such value.
  bool operator==(const EpilogueOperandSpec& other) const;
};

/// A problem without data, such as
/// `gemm m=4096 n=7168 k=2048 l=2 a=bf16:t b=bf16:n out=bf16:t acc=f32 allow_tf32=1` or
/// `elementwise op=add shape=2x64x64 a=f32:t b=f32:t out=f16:t`. Grammar: docs/problem_text.md.
struct Problem {
  Operation operation = Operation::gemm;
  std::optional<std::int64_t> m, n, k, l;  ///< gemm; m, n and k also of grouped_gemm
  std::optional<std::int64_t> g;           ///< grouped_gemm: the number of groups
  std::optional<GroupMode> along;          ///< grouped_gemm: the mode that is divided
  /// grouped_gemm: of the groups, empty: equal parts; of pointers m, n and k of each
  std::vector<std::int64_t> sizes;
  bool zero_rest = false;                  ///< grouped_gemm
  GroupLayout layout = GroupLayout::ends;  ///< grouped_gemm: of the offsets
  std::optional<std::int64_t> rows;        ///< grouped_gemm: of A, where an index chooses them
  std::optional<ElementwiseOp> op;         ///< elementwise
  std::vector<std::int64_t> shape;         ///< elementwise, of out
  bool has_shape = false;                  ///< an empty shape is a legal rank-0 tensor
  OperandSpec a, b, out;
  std::optional<Dtype> accumulator_type;
  PerformanceControls controls;
  std::string epilogue;                       ///< epi="..."
  std::vector<EpilogueOperandSpec> operands;  ///< of the epilogue, in the order given

  /// Throws Error{value} with the column (from 1) and what was expected there: unknown operation
  /// or key, a key given twice, a malformed or overflowing number, text over 64 KiB.
  static Problem parse(std::string_view text);

  /// The canonical text: parse(to_string()) gives an equal problem.
  std::string to_string() const;

  /// Fills what is absent: l = 1, layouts t, acc default_accumulator_type(a, b), f32 with scales of
  /// blocks; groups along m, given by their ends, g from sizes, and the extent that is divided
  /// their sum, m of masked groups the largest; b's dtype from a (and the reverse); out of the
  /// accumulator's type, with scales f32, for elementwise of a's; matrices of the epilogue of
  /// out's, its other operands f64 with f64 accumulators, else f32. Throws Error{value} naming what
  /// is missing when m, n, k, a dtype, op or shape cannot be known, and for an operand with both a
  /// letter and strides or a second operand of a unary operation.
  void complete();

  /// The arguments it describes once complete, without data, on `device`. Operands of a gemm have
  /// three modes when l is not 1 or an operand has three strides, else two. Throws what complete()
  /// and the arguments throw.
  std::unique_ptr<RuntimeArguments> arguments(Device device = Device::cpu()) const;

  /// Writes what the problem, once complete, says of an operand of role index, which is `view`, on
  /// the host: the offsets of a grouped_gemm or its rows. Sizes that are not given are equal, the
  /// first ones larger by one where they must; masked groups have all m rows. Pointers are
  /// distances: the matrices of group g lie in matrix g of A, B and out. Rows are drawn from those
  /// of A, the same ones each time, but for one in 64 on average, which A does not have. Throws
  /// what complete() throws.
  void fill_index(const TensorView& view, std::string_view operand = "offsets") const;

  /// The problem that `arguments` is an instance of: extents, dtypes, layouts (strides where no
  /// letter fits), alignments below 16 bytes that the strides do not imply, scales, controls,
  /// epilogue.
  static Problem of(const RuntimeArguments& arguments);

  bool operator==(const Problem&) const = default;
};

/// The scales of a spec that has some, described for `data`, on its device; `k_mode` as in
/// ScaledTensor::validate. Throws Error{value}.
ScaledTensor describe_scaled(const ScaleSpec& spec, const TensorView& data, int k_mode,
                             const char* what);

/// The value of a spec that has one.
EpilogueScalarOperand epilogue_scalar(const EpilogueOperandSpec& spec);

/// The shape of an epilogue's operand for a completed problem; a scalar's is empty.
std::vector<std::int64_t> epilogue_operand_shape(const EpilogueOperandSpec& spec,
                                                 const Problem& problem);
/// Its strides, one for each mode of that shape.
std::vector<std::int64_t> epilogue_operand_strides(const EpilogueOperandSpec& spec,
                                                   const Problem& problem);

/// Strides of a GEMM operand or elementwise tensor of `spec` with that shape: row-major for t (and
/// where nothing is said), last two modes exchanged for n, or the strides given. Throws
/// Error{value} when these are not one for each mode.
std::vector<std::int64_t> operand_strides(const OperandSpec& spec,
                                          const std::vector<std::int64_t>& shape);

}  // namespace estoc
