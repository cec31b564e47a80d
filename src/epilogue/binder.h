// Gives a program types: which part of it is live, what each operand is, and the graph.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epilogue/graph_builder.h"
#include "epilogue/graph_cache.h"
#include "epilogue/program.h"
#include "estoc/arguments.hpp"

namespace estoc::epilogue {

/// How an operand takes part: as bytes, for the key of the graph.
struct Part {
  static constexpr std::uint8_t kNoDtype = 0xFF;

  Varies varies;
  bool scalar = false;
  std::uint8_t dtype = kNoDtype;
};

/// A scale that the accumulator is multiplied by before the program sees it.
struct ScaleFactor {
  const TensorView* view = nullptr;
  Part part;
};

/// At most that many: of A and of B, each with a second level.
inline constexpr std::size_t kMaxScaleFactors = 4;

/// Binds the program of some arguments. An operation says how operands broadcast to its output,
/// and which memory they may share.
class Binder {
 public:
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  /// Null when out is the accumulator. `used` as in epilogue::bind.
  std::shared_ptr<EpilogueBinding> bind(std::shared_ptr<EpilogueBinding> used);

 protected:
  /// `result` is the dtype of D.
  Binder(const EpilogueArguments& epilogue, Dtype accumulator, const TensorView& out, Dtype result,
         const PerformanceControls& controls)
      : state_(epilogue.state()),
        program_(state_.program.steps()),
        accumulator_(accumulator),
        out_(out),
        result_(result),
        controls_(controls) {}
  ~Binder() = default;

  /// The modes that an input varies in: none, then it is a scalar.
  virtual Varies broadcast(const EpilogueOperand& operand) const = 0;
  /// An output other than D.
  virtual Part output_part(const EpilogueAssignment& target,
                           const EpilogueOperand& operand) const = 0;
  virtual void check_memory() const = 0;
  virtual EpilogueAddress address_of(const TensorView& view, Varies varies) const = 0;

  const EpilogueOperand& operand_at(std::int16_t index) const {
    return state_.operands[static_cast<std::size_t>(index)];
  }
  static std::uint8_t dtype_byte(const EpilogueOperand& operand);

  /// Adds a scale of f32 that varies in these modes.
  void add_factor(const TensorView& scale, Varies varies);

  const EpilogueArguments::State& state_;
  const Program& program_;
  const Dtype accumulator_;
  const TensorView& out_;
  const Dtype result_;
  const PerformanceControls& controls_;

 private:
  void look_at_operands();
  void add_to_key(const Part& part);
  Part input_part(std::size_t input, const EpilogueOperand& operand) const;
  Part scalar_part(std::size_t input, const std::string& name,
                   const EpilogueScalarOperand& scalar) const;
  Part part_of(std::size_t assignment, const EpilogueOperand& operand) const;
  bool is_dropout_counter(std::size_t input) const;
  bool is_input(std::uint16_t node, std::size_t input) const;
  bool is_output(std::size_t assignment) const;

  TypedProgram make_graph() const;
  std::vector<bool> live_nodes() const;
  std::vector<int> add_nodes(GraphBuilder& builder, EpilogueType floating) const;
  int add_node(GraphBuilder& builder, EpilogueType floating, const EpilogueNode& node,
               const std::vector<int>& nodes) const;
  void add_outputs(GraphBuilder& builder, const std::vector<int>& nodes, TypedProgram& typed) const;
  void fill(EpilogueBinding& binding, const TypedProgram& typed) const;

  static constexpr std::size_t kInputs = EpilogueLimits::kTensors + EpilogueLimits::kScalars;

  /// The tensor of an input of the program or, after those, of a scale.
  const TensorView& tensor_of(std::uint16_t slot) const;
  Varies slot_varies(std::uint16_t slot) const;
  EpilogueScalarValue scalar_of(std::uint16_t slot, Dtype dtype) const;
  int scaled_accumulator(GraphBuilder& builder, bool second) const;

  std::array<Part, kInputs> input_parts_{};
  std::array<ScaleFactor, kMaxScaleFactors> factors_{};
  std::size_t factor_count_ = 0;
  GraphKey key_;
};

}  // namespace estoc::epilogue
