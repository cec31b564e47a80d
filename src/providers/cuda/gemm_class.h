// What the GEMM classes of Estoc's own device sources share: checks, plans, workspace, generated
// text, predictions, and what they promise of the order of summation.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/prediction.h"
#include "operations/gemm/lowering.h"
#include "providers/cuda/alignments.h"
#include "providers/cuda/built_in_class.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/epilogue_launch.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/quantise.h"

namespace estoc::cuda {

using operations::GemmProblem;

/// A kernel worked out of its design point and its epilogue.
template <typename Config>
struct GemmKernel {
  Config config;                            ///< with room for the epilogue
  bool transposed = false;                  ///< it computes out^T = B^T A^T
  const EpilogueGraph* epilogue = nullptr;  ///< null where out is the accumulator
};

/// The largest products of a class, so that coordinates and counts fit their types.
struct GemmLimits {
  std::int64_t extent = std::numeric_limits<std::int64_t>::max();   ///< of M, N and K
  std::int64_t batches = std::numeric_limits<std::int64_t>::max();  ///< of L
  std::int64_t tiles = std::numeric_limits<std::int32_t>::max();    ///< of one batch
  std::int64_t all_tiles = std::numeric_limits<std::int64_t>::max();
};

/// What the parameters of a launch are made of.
struct GemmLaunch {
  const GemmArguments& gemm;
  const GemmProblem& problem;  ///< the same as the code sees it
  const Knobs& knobs;
  const Workspace& workspace;
  const PlanDevice& device;
  /// Where D is kept until it is quantised.
  std::optional<EpilogueAddress> result{};
};

/// Columns of out that a tile computes.
template <typename Config>
int columns_of_out(const Config& config) {
  if constexpr (requires { config.place_columns(); }) {
    return config.place_columns();
  } else {
    return config.tile_n;
  }
}

/// The parameters that kernels have in common whose CTAs compute a tile each: operands, extents,
/// and tiles in groups of so many rows.
template <typename Parameters, typename Config>
Parameters tile_parameters(const Config& config, const GemmProblem& problem, unsigned group) {
  Parameters p{};
  p.a = device_matrix(problem.a.view);
  p.b = device_matrix(problem.b.view);
  p.out = device_matrix(problem.out.view);
  p.m = static_cast<decltype(p.m)>(problem.m);
  p.n = static_cast<decltype(p.n)>(problem.n);
  p.k = static_cast<decltype(p.k)>(problem.k);
  p.l = static_cast<decltype(p.l)>(problem.l);
  p.tiles_m = static_cast<unsigned>(ceil_div(problem.m, config.tile_m));
  p.tiles_n = static_cast<unsigned>(ceil_div(problem.n, columns_of_out(config)));
  p.group = group;
  if constexpr (requires { p.pair_distance; }) p.pair_distance = problem.b.pair_distance;
  return p;
}

/// The same in groups of as many rows as the knob says.
template <typename Parameters, typename Config>
Parameters tile_parameters(const Config& config, const GemmLaunch& launch) {
  auto p = tile_parameters<Parameters>(config, launch.problem, 1);
  p.group =
      std::clamp(static_cast<unsigned>(std::max<int>(launch.knobs.swizzle, 1)), 1U, p.tiles_m);
  return p;
}

/// What predictions take of the arguments: the product and its work, as given and transposed.
class CostQuery {
 public:
  CostQuery(const RuntimeArguments& arguments, const cost::DeviceModel& device);

  const PerformanceControls& controls() const { return controls_; }
  const cost::DeviceModel& device() const { return device_; }
  const GemmProblem& problem(bool transposed) const { return problems_[transposed ? 1 : 0]; }
  const cost::Work& work(bool transposed) const { return works_[transposed ? 1 : 0]; }

 private:
  const PerformanceControls& controls_;
  const cost::DeviceModel& device_;
  std::array<GemmProblem, 2> problems_;
  std::array<cost::Work, 2> works_;
};

/// The entry that copies operands, behind those of the product and of its reductions or sums.
inline constexpr std::size_t kCopiesEntry = 2;
/// The entry that quantises D, in the same place: no class has both.
inline constexpr std::size_t kQuantiseEntry = 2;

/// The part that does not depend on the type of the configuration.
class GemmClass : public BuiltInClass {
 public:
  Operation operation() const override { return Operation::gemm; }

  /// What a kernel does on the arguments, and the knobs it holds for.
  cost::Plan cost_plan(const DesignPoint& point, const CostQuery& query) const;

  std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const final;

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const final;
  std::vector<std::optional<Prediction>> predict_all(std::span<const DesignPoint* const> points,
                                                     const RuntimeArguments& arguments,
                                                     Target target) const final;
  std::vector<std::optional<Prediction>> predict_closely(std::span<const DesignPoint* const> points,
                                                         const RuntimeArguments& arguments,
                                                         Target target) const final;
  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& arguments,
                                            Target target) const final;

 protected:
  /// The device code is the function template `device_name` in estoc/kernels/, the types of its
  /// configuration and parameters begin with `type_name`.
  GemmClass(std::string_view device_name, std::string_view type_name)
      : BuiltInClass(device_name), type_name_(type_name) {}

  const std::string& type_name() const { return type_name_; }

  /// How the kernel adds up products that are no whole numbers.
  virtual std::string sums_of(const DesignPoint& point) const = 0;
  /// Whether the code computes out^T = B^T A^T.
  virtual bool is_transposed(const DesignPoint& /*point*/) const { return false; }
  /// The alignments that predictions take in the place of the kernel's: those of the kernel that is
  /// the same, but moves as many bytes at once as the operands allow. As is_transposed(), it looks
  /// at no shape, stages or schedule of the point.
  virtual Alignments widest(const DesignPoint& /*point*/, const Alignments& own,
                            const GemmProblem& /*problem*/) const {
    return own;
  }
  /// The plan of the kernel that has these alignments instead of its own.
  virtual cost::Plan widest_plan(const DesignPoint& point, const Alignments& widest,
                                 const CostQuery& query) const = 0;
  /// CTAs that are to fit on a multiprocessor, as an expression of the unit.
  virtual std::string_view least_ctas(bool /*fused*/) const { return "1"; }
  /// The entry of a unit with an epilogue.
  virtual std::string fused_entry() const;

  /// A whole unit: `config` defines kConfig, `asserts` holds what both sides computed.
  std::string unit_text(std::string_view config, std::string_view asserts,
                        const EpilogueGraph* epilogue, bool transposed) const;

  /// Whether check_limits() lets every tile pass.
  static bool is_common(const GemmLimits& limits, const GemmExtents& extents);
  /// A bit for each dimension that dtypes, layouts and alignments have.
  static std::uint32_t operand_dimensions(const DesignSpace& space);
  /// The same for those of alignments of A and B.
  static std::uint32_t input_alignments(const DesignSpace& space);
  static Status check_limits(const GemmLimits& limits, const GemmExtents& extents,
                             const Shape3& tile);

 private:
  std::vector<std::optional<Prediction>> predict_each(std::span<const DesignPoint* const> points,
                                                      const CostQuery& query, bool closely) const;

  std::string type_name_;
};

/// A GEMM class with the configuration and the parameters of its kernels in device/estoc/abi/. It
/// states what differs: its design space, the configuration of a point, checks beyond the extents,
/// the cost of a design, and the parameters of a launch.
template <typename Config, typename Parameters>
class ConfiguredGemm : public GemmClass {
 public:
  using Decoded = GemmKernel<Config>;

  std::shared_ptr<const void> decode(
      const DesignPoint& point, const std::shared_ptr<const EpilogueGraph>& epilogue) const final {
    return std::make_shared<const Stored>(make_kernel(point, epilogue.get()), epilogue);
  }

  Status supports_any(const RuntimeArguments& arguments) const final {
    const GemmArguments& gemm = operations::product_of(arguments);
    Status status = check_controls(gemm.controls());
    return status.ok() ? check_any(gemm) : status;
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const final {
    const GemmArguments& gemm = operations::product_of(arguments);
    if (Status status = check_controls(gemm.controls()); !status.ok()) return status;
    if (Status status = check_limits(limits(), gemm.extents(), point.shape(Role::tile));
        !status.ok())
      return status;
    if (Status status = check_groups(point, arguments); !status.ok()) return status;
    if (quantises()) {
      if (Status status = check_quantised_layout(gemm); !status.ok()) return status;
    }
    return check(point, gemm, target);
  }

  std::uint32_t support_depends_on(const RuntimeArguments& arguments, Target target) const final {
    const GemmArguments& gemm = operations::product_of(arguments);
    const bool operands = looks_at_operands_alone(target) && is_common(limits(), gemm.extents());
    return operands ? operand_dimensions(*space()) : ~std::uint32_t{0};
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const final {
    if (Status status = check_epilogue_forms(epilogue); !status.ok()) return status;
    return check_epilogue(kernel_of(point, &epilogue), target);
  }

  std::uint32_t epilogue_support_depends_on() const final { return ~input_alignments(*space()); }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& knobs,
                             const RuntimeArguments& arguments) const final {
    const GemmArguments& gemm = operations::product_of(arguments);
    const Decoded kernel = kernel_of(point, graph_of(gemm));
    const bool none =
        knobs.split_tiles == 0 && !copies_operands() && !quantises() && !has_kernel_ahead();
    if (kernel.epilogue == nullptr && none) return 0;
    const GemmProblem problem = lowered(kernel, arguments);
    return front_bytes(kernel, gemm, problem, knobs) + copies(point, problem).bytes() +
           (quantises() ? QuantisedResult(gemm, problem).bytes() : 0);
  }

  void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const final {
    const GemmArguments& gemm = operations::product_of(arguments);
    const Decoded kernel = kernel_of(point, graph_of(gemm));
    GemmProblem problem = lowered(kernel, arguments);
    std::optional<QuantisedResult> quantised;
    std::byte* result = nullptr;
    if (quantises()) {
      quantised.emplace(gemm, problem);
      result = static_cast<std::byte*>(workspace.data) + front_bytes(kernel, gemm, problem, knobs) +
               copies(point, problem).bytes();
      problem.out.view = quantised->view(result);
    }
    std::optional<Parameters> p;
    if (!problem.empty()) {
      const bool follows =
          copies_operands() && add_copies(kernel, point, gemm, knobs, workspace, problem, plan);
      GemmLaunch launch{gemm, problem, knobs, workspace, plan.device()};
      if (quantised) launch.result = quantised->address(result);
      p = parameters(kernel.config, launch);
      if (has_kernel_ahead()) add_kernel_ahead(*p, plan);
      plan.kernel(geometry(kernel.config, *p, plan.device()), *p);
      if (follows || has_kernel_ahead()) plan.launch_programmatically();
    }
    if (kernel.epilogue != nullptr) {
      EpilogueView view(gemm, kernel.transposed);
      view.whole_fours = problem.mapping != operations::Mapping::columns;
      if (quantised) view.result = quantised->address(result);
      add_epilogue(kernel.config, view, parts_of(kernel, gemm), workspace, problem.empty(), plan);
    }
    if (p && add_sums(kernel.config, *p, plan) && kernel.epilogue != nullptr)
      cuda::add_epilogue(EpilogueView(gemm, kernel.transposed), {}, workspace, nullptr, plan);
    if (quantised && p) quantised->add(result, kQuantiseEntry, plan);
  }

 protected:
  using GemmClass::GemmClass;

  virtual Config config_of(const DesignPoint& point) const = 0;
  /// The same, had it the alignments that widest() gives.
  virtual Config widest_config(const DesignPoint& point, const Alignments& /*widest*/) const {
    return config_of(point);
  }
  /// The configuration with room for an epilogue.
  virtual Config fused(const Config& config, const EpilogueGraph& /*epilogue*/,
                       bool /*transposed*/) const {
    return config;
  }

  virtual GemmLimits limits() const = 0;
  virtual Status check_controls(const PerformanceControls& /*controls*/) const {
    return Status::success();
  }
  /// Of these, what holds for every kernel of the class beside the controls.
  virtual Status check_any(const GemmArguments& /*gemm*/) const { return Status::success(); }
  /// Conditions beyond the extents. Checked for every kernel of a query, most of which are not
  /// decoded.
  virtual Status check(const DesignPoint& point, const GemmArguments& gemm,
                       Target target) const = 0;
  /// Whether check() and check_groups() look at nothing of a point but dtypes, layouts, alignments.
  virtual bool looks_at_operands_alone(Target /*target*/) const { return false; }
  /// Of a class whose kernels compute products in groups.
  virtual Status check_groups(const DesignPoint& /*point*/,
                              const RuntimeArguments& /*arguments*/) const {
    return Status::success();
  }
  /// Whether shared memory and registers suffice for the kernel's epilogue. Looks at no alignment
  /// of A or B.
  virtual Status check_epilogue(const Decoded& kernel, Target target) const = 0;

  /// Adds family, design and knobs to a plan that has the work, for widest_config().
  virtual void add_cost(const Config& config, const GemmProblem& problem,
                        const PerformanceControls& controls, const cost::DeviceModel& device,
                        cost::Plan& plan) const = 0;

  /// Whether there are kernels that compute from copies of operands.
  virtual bool copies_operands() const { return false; }
  /// Operands that the kernel computes from copies of; add_entries() adds the entry that makes
  /// them, number kCopiesEntry.
  virtual OperandCopies copies(const DesignPoint& /*point*/, const GemmProblem& /*problem*/) const {
    return {};
  }

  virtual Parameters parameters(const Config& config, const GemmLaunch& launch) const = 0;
  /// By default a CTA for each tile, and for each batch as far as grids reach.
  virtual CudaGeometry geometry(const Config& config, const Parameters& parameters,
                                const PlanDevice& /*device*/) const {
    constexpr unsigned kMaxBatchCtas = 65535;
    const auto batches = static_cast<unsigned>(std::min<std::int64_t>(parameters.l, kMaxBatchCtas));
    return {.grid = {static_cast<unsigned>(parameters.tiles_m) *
                         static_cast<unsigned>(parameters.tiles_n),
                     1, batches},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(config.shared_bytes())};
  }

  /// Whether a kernel that is given the same parameters writes to workspace what the product reads;
  /// add_entries() adds its entry, sums_workspace() says how much it writes.
  virtual bool has_kernel_ahead() const { return false; }
  virtual void add_kernel_ahead(const Parameters& /*parameters*/, LaunchPlan& /*plan*/) const {}

  /// Bytes of workspace for sums of parts of K; such a launch has no reductions.
  virtual std::size_t sums_workspace(const Config& /*config*/, const GemmArguments& /*gemm*/,
                                     const GemmProblem& /*problem*/, const Knobs& /*knobs*/) const {
    return 0;
  }
  /// Adds the kernel that adds up the sums of parts, without its epilogue; false without parts.
  virtual bool add_sums(const Config& /*config*/, const Parameters& /*parameters*/,
                        LaunchPlan& /*plan*/) const {
    return false;
  }

  /// Parts that the tiles of an output of `m` x `n`, as the code sees it, leave of reductions.
  virtual PartCounts part_counts(const Config& config, std::int64_t m, std::int64_t n) const = 0;
  /// Adds the epilogue to a plan whose last kernel, if the output is not `empty`, is the GEMM.
  virtual void add_epilogue(const Config& /*config*/, const EpilogueView& view,
                            const PartCounts& parts, const Workspace& workspace, bool empty,
                            LaunchPlan& plan) const {
    if (!empty) cuda::add_epilogue(view, parts, workspace, nullptr, plan);
    add_reduction(view, parts, workspace, empty, false, plan);
  }

  cost::Plan widest_plan(const DesignPoint& point, const Alignments& widest,
                         const CostQuery& query) const final {
    // Epilogues count by what they move, whatever room they take of the kernel.
    const bool transposed = this->is_transposed(point);
    const GemmProblem& problem = query.problem(transposed);
    cost::Plan plan;
    plan.work = query.work(transposed);
    if (copies_operands()) plan.seconds_before = copies(point, problem).seconds(query.device());
    if (quantises()) plan.seconds_before += quantise_seconds(plan.work, query.device());
    add_cost(widest_config(point, widest), problem, query.controls(), query.device(), plan);
    return plan;
  }

  std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const final {
    const Decoded kernel = kernel_of(point, epilogue);
    const Config& c = kernel.config;
    const std::string asserts = fmt::format(
        "static_assert(kConfig.threads() == {} && kConfig.shared_bytes() == {});\n"
        "static_assert(sizeof({}Parameters) == {});\n",
        c.threads(), c.shared_bytes(), type_name(), sizeof(Parameters));
    std::string opening;
    // The other instructions need not be read (ptx/wgmma.cuh).
    if constexpr (requires { c.wgmma_columns(); })
      opening = fmt::format("#define ESTOC_WGMMA_COLUMNS {}\n", c.wgmma_columns());
    return opening +
           unit_text(config_text(type_name() + "Config", c), asserts, epilogue, kernel.transposed);
  }

  static const EpilogueGraph* graph_of(const GemmArguments& gemm) {
    const EpilogueBinding* const binding = gemm.epilogue_binding();
    return binding != nullptr ? binding->graph.get() : nullptr;
  }

  /// What was decoded of the point where that was for this epilogue; else made anew.
  Decoded kernel_of(const DesignPoint& point, const EpilogueGraph* epilogue) const {
    const auto* const stored = static_cast<const Stored*>(point.decoded());
    const bool known = stored != nullptr && is_same(stored->epilogue.get(), epilogue);
    return known ? stored->kernel : make_kernel(point, epilogue);
  }

 private:
  struct Stored {
    Stored(Decoded made, std::shared_ptr<const EpilogueGraph> graph)
        : kernel(made), epilogue(std::move(graph)) {}

    Decoded kernel;
    std::shared_ptr<const EpilogueGraph> epilogue;
  };

  static bool is_same(const EpilogueGraph* first, const EpilogueGraph* second) {
    return first == second ||
           (first != nullptr && second != nullptr && first->canonical == second->canonical);
  }

  static GemmProblem lowered(const Decoded& kernel, const RuntimeArguments& arguments) {
    using operations::Orientation;
    return operations::lower_product(
        arguments, kernel.transposed ? Orientation::transposed : Orientation::as_given);
  }

  Decoded make_kernel(const DesignPoint& point, const EpilogueGraph* epilogue) const {
    Decoded kernel{config_of(point), is_transposed(point), epilogue};
    if (epilogue != nullptr) kernel.config = fused(kernel.config, *epilogue, kernel.transposed);
    return kernel;
  }

  /// Of workspace, ahead of the copies: what reductions leave, or sums of parts of K.
  std::size_t front_bytes(const Decoded& kernel, const GemmArguments& gemm,
                          const GemmProblem& problem, const Knobs& knobs) const {
    constexpr std::size_t kAligned = 256;
    const std::size_t reductions =
        kernel.epilogue != nullptr
            ? epilogue_workspace(gemm, kernel.transposed, parts_of(kernel, gemm))
            : 0;
    const std::size_t bytes =
        reductions > 0 ? reductions : sums_workspace(kernel.config, gemm, problem, knobs);
    return (bytes + kAligned - 1) / kAligned * kAligned;
  }

  bool add_copies(const Decoded& kernel, const DesignPoint& point, const GemmArguments& gemm,
                  const Knobs& knobs, const Workspace& workspace, GemmProblem& problem,
                  LaunchPlan& plan) const {
    std::byte* const first =
        static_cast<std::byte*>(workspace.data) + front_bytes(kernel, gemm, problem, knobs);
    return copies(point, problem).add(problem, first, kCopiesEntry, plan);
  }

  PartCounts parts_of(const Decoded& kernel, const GemmArguments& gemm) const {
    const GemmExtents& e = gemm.extents();
    return part_counts(kernel.config, kernel.transposed ? e.n : e.m, kernel.transposed ? e.m : e.n);
  }
};

}  // namespace estoc::cuda
