// Shapes, types and addresses of the operands of one GEMM's epilogue.
#include "epilogue/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "epilogue/graph_builder.h"
#include "epilogue/op_table.h"
#include "epilogue/program.h"
#include "model/fail.h"
#include "model/operand_checks.h"

namespace estoc::epilogue {
namespace {

using model::fail;
using model::fail_value;
using model::NamedView;

constexpr std::uint8_t kNoDtype = 0xFF;

std::uint8_t byte_of(Varies varies) {
  return static_cast<std::uint8_t>((varies.l ? 1U : 0U) | (varies.m ? 2U : 0U) |
                                   (varies.n ? 4U : 0U));
}

/// A tensor as (l, m, n): extents of modes that it does not have are 1, their strides 0.
struct Modes {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  std::array<std::int64_t, 3> strides{};
};

Modes modes_of(const TensorView& view) {
  Modes modes;
  const int missing = 3 - view.rank();
  for (int mode = 0; mode < view.rank(); ++mode) {
    const auto at = static_cast<std::size_t>(missing) + static_cast<std::size_t>(mode);
    modes.extents[at] = view.shape(mode);
    modes.strides[at] = view.stride(mode);
  }
  return modes;
}

EpilogueAddress address_of(const TensorView& view, Varies varies) {
  const Modes modes = modes_of(view);
  EpilogueAddress address;
  address.data = view.data();
  if (varies.l && modes.extents[0] != 1) address.batch_stride = modes.strides[0];
  if (varies.m) address.row_stride = modes.strides[1];
  if (varies.n) address.column_stride = modes.strides[2];
  address.alignment = view.alignment();
  return address;
}

/// How an operand takes part: as bytes, for the key of the graph.
struct Part {
  Varies varies;
  bool scalar = false;
  std::uint8_t dtype = kNoDtype;
};

class Binder {
 public:
  explicit Binder(const GemmArguments& arguments)
      : arguments_(arguments),
        state_(arguments.epilogue().state()),
        program_(state_.program.steps()),
        extents_{arguments.extents().l, arguments.extents().m, arguments.extents().n},
        named_out_{&arguments.out(), "out"} {}

  std::shared_ptr<EpilogueBinding> bind(std::shared_ptr<EpilogueBinding> used) {
    look_at_operands();
    check_memory();
    TypedProgram made;
    const TypedProgram* typed = program_.graphs.find(key_);
    if (typed == nullptr) {
      made = make_graph();
      typed = program_.graphs.insert(key_, made);
      if (typed == nullptr) typed = &made;
    }
    if (is_plain(*typed->graph)) return nullptr;
    if (used == nullptr || used.use_count() != 1) used = std::make_shared<EpilogueBinding>();
    fill(*used, *typed);
    return used;
  }

 private:
  // ------------------------------------------------------------------ shapes

  void look_at_operands() {
    const Dtype accumulator = arguments_.accumulator_type();
    key_.add(static_cast<std::uint8_t>(accumulator));
    key_.add(static_cast<std::uint8_t>(arguments_.out().dtype()));
    key_.add(arguments_.controls().keeps_order() ? 1 : 0);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const std::int16_t operand = state_.input_operands[i];
      input_parts_[i] = operand < 0 ? Part{} : input_part(i, operand_at(operand));
      add_to_key(input_parts_[i]);
    }
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const std::int16_t operand = state_.assignment_operands[i];
      if (operand < 0) continue;
      key_.add(static_cast<std::uint8_t>(i));
      add_to_key(output_part(i, operand_at(operand)));
    }
  }

  void add_to_key(const Part& part) {
    key_.add(static_cast<std::uint8_t>(byte_of(part.varies) | (part.scalar ? 8U : 0U)));
    key_.add(part.dtype);
  }

  const EpilogueOperand& operand_at(std::int16_t index) const {
    return state_.operands[static_cast<std::size_t>(index)];
  }

  static std::uint8_t dtype_byte(const EpilogueOperand& operand) {
    const Dtype dtype = operand.tensor()->dtype();
    if (!is_operand_dtype(dtype)) {
      fail(ErrorKind::type,
           "{}.dtype: expected f64, f32, f16, bf16, e4m3, e5m2, i32, i8, u8 or bool, got {}",
           operand.name, dtype_name(dtype));
    }
    return static_cast<std::uint8_t>(dtype);
  }

  Part input_part(std::size_t input, const EpilogueOperand& operand) const {
    if (const EpilogueScalarOperand* scalar = operand.scalar()) {
      return scalar_part(input, operand.name, *scalar);
    }
    Part part;
    part.dtype = dtype_byte(operand);
    part.varies = broadcast(operand);
    part.scalar = part.varies == Varies{};
    return part;
  }

  Part scalar_part(std::size_t input, const std::string& name,
                   const EpilogueScalarOperand& scalar) const {
    Part part;
    part.scalar = true;
    const bool whole_wanted =
        arguments_.accumulator_type() == Dtype::i32 || is_dropout_counter(input);
    if (scalar.dtype) {
      if (!is_operand_dtype(*scalar.dtype)) {
        fail(ErrorKind::type, "{}.dtype: expected a dtype of epilogues, got {}", name,
             dtype_name(*scalar.dtype));
      }
      part.dtype = static_cast<std::uint8_t>(*scalar.dtype);
    } else if (scalar.is_integer && whole_wanted) {
      part.dtype = static_cast<std::uint8_t>(Dtype::i32);
      if (scalar.integer < -2147483648LL || scalar.integer > 4294967295LL) {
        fail_value("{}: expected a whole number of 32 bits, got {}", name, scalar.integer);
      }
    }
    return part;
  }

  /// Seeds and offsets of dropout are whole numbers.
  bool is_dropout_counter(std::size_t input) const {
    return std::ranges::any_of(program_.nodes, [&](const EpilogueNode& node) {
      if (node.op != EpilogueOp::dropout) return false;
      return is_input(node.inputs[2], input) || is_input(node.inputs[3], input);
    });
  }
  bool is_input(std::uint16_t node, std::size_t input) const {
    return program_.nodes[node].op == EpilogueOp::tensor && program_.nodes[node].slot == input;
  }

  [[noreturn]] void fail_shape(const EpilogueOperand& operand, const char* suffix) const {
    fail_value("{}.shape: expected (L, M, N) = ({}){}, got ({})", operand.name,
               fmt::join(extents_, ", "), suffix, fmt::join(operand.tensor()->shape(), ", "));
  }

  /// The modes that an input varies in. Of one element it is a scalar, unless out has one too, or
  /// it has one for each row and the kernel must be that of any M.
  Varies broadcast(const EpilogueOperand& operand) const {
    const TensorView& view = *operand.tensor();
    if (view.rank() > 3) fail_shape(operand, " or fewer modes");
    const Modes modes = modes_of(view);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (modes.extents[mode] != extents_[mode] && modes.extents[mode] != 1) {
        fail_shape(operand, " or extents of 1");
      }
    }
    const bool one = modes.extents[0] == 1 && modes.extents[1] == 1 && modes.extents[2] == 1;
    const bool one_part = extents_[2] == 1 || arguments_.controls().batch_invariant;
    if (one && !(view.rank() >= 2 && extents_[1] == 1 && one_part)) return {};
    Varies varies;
    varies.m = view.rank() >= 2 && modes.extents[1] == extents_[1];
    varies.n = view.rank() >= 1 && modes.extents[2] == extents_[2];
    // A stride costs nothing, and a kernel for one batch then serves many.
    varies.l = varies.m || varies.n || modes.extents[0] != 1;
    return varies;
  }

  Part output_part(std::size_t assignment, const EpilogueOperand& operand) const {
    const TensorView& view = *operand.tensor();
    const EpilogueAssignment& target = program_.assignments[assignment];
    Part part;
    if (target.name == "D") {
      if (!model::is_same_view(view, arguments_.out())) {
        fail_value("D: expected the output operand or nothing, got another tensor");
      }
      return part;
    }
    part.dtype = dtype_byte(operand);
    if (view.rank() > 3) fail_shape(operand, " or fewer modes");
    part.varies = target.reduction ? kept_modes(operand) : Varies{true, true, true};
    if (!target.reduction) check_whole(operand);
    return part;
  }

  void check_whole(const EpilogueOperand& operand) const {
    const bool fits =
        modes_of(*operand.tensor()).extents == extents_ && operand.tensor()->rank() >= 2;
    if (!fits) fail_shape(operand, "");
  }

  Varies kept_modes(const EpilogueOperand& operand) const {
    const TensorView& view = *operand.tensor();
    const Modes modes = modes_of(view);
    const auto& [l, m, n] = extents_;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (modes.extents[mode] != extents_[mode] && modes.extents[mode] != 1) {
        fail_shape(operand, " with extents of 1 where it is reduced");
      }
    }
    Varies keeps;
    keeps.n = n != 1 && modes.extents[2] == n;
    keeps.m =
        !keeps.n ? view.rank() >= 2 && modes.extents[1] == m : m != 1 && modes.extents[1] == m;
    if (keeps.m && keeps.n) fail_shape(operand, " with an extent of 1 where it is reduced");
    // With one batch it makes no difference; so one kernel serves one batch and many.
    keeps.l = l == 1 ? keeps.m || keeps.n : modes.extents[0] == l;
    return keeps;
  }

  // ------------------------------------------------------------------ memory

  void check_memory() const {
    for (const EpilogueOperand& operand : state_.operands) {
      if (operand.tensor() == nullptr) continue;
      const NamedView named{operand.tensor(), operand.name.c_str()};
      model::check_device(named, named_out_);
      model::check_pointer(named);
    }
    const NamedView a{&arguments_.a().tensor(), "A"};
    const NamedView b{&arguments_.b().tensor(), "B"};
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const std::int16_t operand = state_.assignment_operands[i];
      if (operand < 0 || program_.assignments[i].name == "D") continue;
      const NamedView output = named(operand);
      model::check_self_overlap(output);
      model::check_overlap(output, a);
      model::check_overlap(output, b);
      model::check_overlap(output, named_out_);
      for (std::size_t other = 0; other < i; ++other) {
        if (state_.assignment_operands[other] < 0 || program_.assignments[other].name == "D") {
          continue;
        }
        model::check_overlap(output, named(state_.assignment_operands[other]));
      }
      check_inputs(output, !program_.assignments[i].reduction);
    }
    check_inputs(named_out_, true);
  }

  NamedView named(std::int16_t operand) const {
    return {operand_at(operand).tensor(), operand_at(operand).name.c_str()};
  }

  /// Inputs may be where an output of the product's shape is, element for element.
  void check_inputs(NamedView output, bool in_place) const {
    for (const std::int16_t operand : state_.input_operands) {
      if (operand < 0 || operand_at(operand).tensor() == nullptr) continue;
      const NamedView input = named(operand);
      const model::Overlap found = model::find_overlap(*output.view, *input.view);
      if (found == model::Overlap::none) continue;
      if (in_place && is_element_for_element(*output.view, *input.view)) continue;
      model::fail_overlap(output, input, found);
    }
  }

  static bool is_element_for_element(const TensorView& output, const TensorView& input) {
    const Modes x = modes_of(output);
    const Modes y = modes_of(input);
    if (output.data() != input.data() || output.dtype() != input.dtype()) return false;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (x.extents[mode] != y.extents[mode]) return false;
      if (x.extents[mode] > 1 && x.strides[mode] != y.strides[mode]) return false;
    }
    return true;
  }

  // ------------------------------------------------------------------ graph

  static EpilogueType accumulator_of(Dtype dtype) {
    if (dtype == Dtype::f64) return EpilogueType::f64;
    return dtype == Dtype::i32 ? EpilogueType::i32 : EpilogueType::f32;
  }

  Dtype dtype_of(const Part& part, EpilogueType floating) const {
    if (part.dtype != kNoDtype) return static_cast<Dtype>(part.dtype);
    return floating == EpilogueType::f64 ? Dtype::f64 : Dtype::f32;
  }

  TypedProgram make_graph() const {
    const EpilogueType accumulator = accumulator_of(arguments_.accumulator_type());
    std::vector<Dtype> dtypes;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (input_parts_[i].dtype != kNoDtype) {
        dtypes.push_back(static_cast<Dtype>(input_parts_[i].dtype));
      }
    }
    const EpilogueType floating = floating_type(accumulator, dtypes);
    GraphBuilder builder(accumulator, floating);
    const std::vector<int> nodes = add_nodes(builder, floating);
    TypedProgram typed;
    add_outputs(builder, nodes, typed);
    BuiltGraph built = builder.finish(program_.atomic && !arguments_.controls().keeps_order());
    check_limits(built.graph);
    typed.tensors = std::move(built.tensors);
    typed.scalars = std::move(built.scalars);
    typed.graph = intern(std::move(built.graph));
    return typed;
  }

  std::vector<bool> live_nodes() const {
    std::vector<bool> live(program_.nodes.size());
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      if (is_output(i)) live[program_.assigned_nodes[i]] = true;
    }
    for (std::size_t i = live.size(); i-- > 0;) {
      const EpilogueNode& node = program_.nodes[i];
      for (std::size_t input = 0; live[i] && input < node.input_count; ++input)
        live[node.inputs[input]] = true;
    }
    return live;
  }

  bool is_output(std::size_t assignment) const {
    return state_.assignment_operands[assignment] >= 0 ||
           program_.assignments[assignment].name == "D";
  }

  std::vector<int> add_nodes(GraphBuilder& builder, EpilogueType floating) const {
    const std::vector<bool> live = live_nodes();
    std::vector<int> nodes(program_.nodes.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (live[i]) nodes[i] = add_node(builder, floating, program_.nodes[i], nodes);
    }
    return nodes;
  }

  int add_node(GraphBuilder& builder, EpilogueType floating, const EpilogueNode& node,
               const std::vector<int>& nodes) const {
    std::array<int, 4> inputs{};
    for (std::size_t i = 0; i < node.input_count; ++i)
      inputs[i] = nodes[node.inputs[i]];
    switch (node.op) {
      case EpilogueOp::accumulator:
        return builder.accumulator();
      case EpilogueOp::tensor: {
        const Part& part = input_parts_[node.slot];
        const Dtype dtype = dtype_of(part, floating);
        return part.scalar ? builder.scalar(node.slot, dtype)
                           : builder.tensor(node.slot, dtype, part.varies);
      }
      case EpilogueOp::literal:
        return builder.literal(node.value, node.type == EpilogueType::i32);
      case EpilogueOp::cast:
        return builder.cast(inputs[0], node.dtype);
      default:
        return builder.operation(node.op, {inputs.data(), node.input_count});
    }
  }

  /// D first, then the others in the order in which they are assigned.
  void add_outputs(GraphBuilder& builder, const std::vector<int>& nodes,
                   TypedProgram& typed) const {
    const auto node = [&](std::size_t i) { return nodes[program_.assigned_nodes[i]]; };
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      if (program_.assignments[i].name != "D") continue;
      builder.store(node(i), arguments_.out().dtype());
      typed.stores.push_back(static_cast<std::uint16_t>(i));
    }
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const EpilogueAssignment& assignment = program_.assignments[i];
      if (!is_output(i) || assignment.name == "D") continue;
      const EpilogueOperand& operand = operand_at(state_.assignment_operands[i]);
      const Part part = output_part(i, operand);
      const auto dtype = static_cast<Dtype>(part.dtype);
      if (assignment.reduction) {
        builder.reduce(*assignment.reduction, node(i), part.varies, dtype);
        typed.reduced.push_back(static_cast<std::uint16_t>(i));
      } else {
        builder.store(node(i), dtype);
        typed.stores.push_back(static_cast<std::uint16_t>(i));
      }
    }
  }

  static void check_limits(const EpilogueGraph& graph) {
    if (graph.tensors.size() > EpilogueLimits::kTensors ||
        graph.scalars.size() > EpilogueLimits::kScalars) {
      fail_value("epilogue: expected at most {} tensors and {} scalars, got {} and {}",
                 EpilogueLimits::kTensors, EpilogueLimits::kScalars, graph.tensors.size(),
                 graph.scalars.size());
    }
  }

  /// True for out = accumulator.
  static bool is_plain(const EpilogueGraph& graph) {
    return graph.stores.size() == 1 && graph.reduced.empty() &&
           graph.nodes[graph.stores[0].node].op == EpilogueOp::accumulator;
  }

  // ------------------------------------------------------------------ addresses

  void fill(EpilogueBinding& binding, const TypedProgram& typed) const {
    binding.graph = typed.graph;
    binding.tensors.clear();
    binding.tensors.reserve(typed.tensors.size());
    for (const std::uint16_t input : typed.tensors) {
      const EpilogueOperand& operand = operand_at(state_.input_operands[input]);
      binding.tensors.push_back(address_of(*operand.tensor(), input_parts_[input].varies));
    }
    binding.scalars.clear();
    for (std::size_t i = 0; i < typed.scalars.size(); ++i) {
      const EpilogueOperand& operand = operand_at(state_.input_operands[typed.scalars[i]]);
      binding.scalars.push_back(value_of(operand, typed.graph->scalars[i].dtype));
    }
    binding.stores.clear();
    for (const std::uint16_t assignment : typed.stores) {
      const std::int16_t operand = state_.assignment_operands[assignment];
      const bool is_d = program_.assignments[assignment].name == "D";
      const TensorView& view = is_d ? arguments_.out() : *operand_at(operand).tensor();
      binding.stores.push_back(address_of(view, {true, true, true}));
    }
    binding.reduced.clear();
    for (std::size_t i = 0; i < typed.reduced.size(); ++i) {
      const EpilogueOperand& operand = operand_at(state_.assignment_operands[typed.reduced[i]]);
      binding.reduced.push_back(address_of(*operand.tensor(), typed.graph->reduced[i].keeps));
    }
  }

  static EpilogueScalarValue value_of(const EpilogueOperand& operand, Dtype dtype) {
    EpilogueScalarValue value;
    if (const TensorView* tensor = operand.tensor()) {
      value.data = tensor->data();
      return value;
    }
    const EpilogueScalarOperand& scalar = *operand.scalar();
    value.value = scalar.value;
    if (is_float(dtype)) return value;
    if (!scalar.is_integer && scalar.value != static_cast<double>(static_cast<std::int64_t>(
                                                  std::clamp(scalar.value, -4e9, 5e9)))) {
      fail_value("{}: expected a whole number, got {}", operand.name, scalar.value);
    }
    value.integer = scalar.is_integer ? scalar.integer : static_cast<std::int64_t>(scalar.value);
    return value;
  }

  static constexpr std::size_t kInputs = EpilogueLimits::kTensors + EpilogueLimits::kScalars;

  const GemmArguments& arguments_;
  const EpilogueArguments::State& state_;
  const Program& program_;
  std::array<std::int64_t, 3> extents_;  ///< l, m, n
  NamedView named_out_;
  std::array<Part, kInputs> input_parts_{};
  GraphKey key_;
};

}  // namespace

std::shared_ptr<EpilogueBinding> bind(const GemmArguments& arguments,
                                      std::shared_ptr<EpilogueBinding> used) {
  return Binder(arguments).bind(std::move(used));
}

}  // namespace estoc::epilogue
