// Kernel class cublaslt_gemm: one kernel for each algorithm of cuBLASLt's heuristics.
#include "providers/cublaslt/cublaslt_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "jit/driver.h"
#include "jit/stream.h"
#include "jit/workspace.h"
#include "model/dtype_rules.h"
#include "providers/cublaslt/lt_cost.h"
#include "providers/cublaslt/lt_epilogue.h"
#include "providers/cublaslt/lt_matmul.h"

namespace estoc::cublaslt {
namespace {

constexpr int kHeuristics = 16;

// Products that the library documents (cublasLtMatmul, table of supported types).
bool is_documented(Dtype a, Dtype b, Dtype accumulator, Dtype out) {
  const bool float_out = out == Dtype::f32 || out == Dtype::bf16 || out == Dtype::f16;
  if (is_fp8(a) && is_fp8(b)) {
    return accumulator == Dtype::f32 && (float_out || is_fp8(out));
  }
  if (a != b) return false;
  switch (a) {
    case Dtype::e2m1:
      return accumulator == Dtype::f32 && float_out;
    case Dtype::f64:
      return accumulator == Dtype::f64 && out == Dtype::f64;
    case Dtype::f32:
    case Dtype::tf32:
      return accumulator == Dtype::f32 && out == Dtype::f32;
    case Dtype::f16:
    case Dtype::bf16:
      return accumulator == Dtype::f32 && (out == a || out == Dtype::f32);
    case Dtype::i8:
      return accumulator == Dtype::i32 && (out == Dtype::i32 || out == Dtype::i8);
    default:
      return false;
  }
}

std::shared_ptr<const DesignSpace> make_space() {
  const auto operands = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16, Dtype::bf16,
                         Dtype::e4m3, Dtype::e5m2, Dtype::e2m1, Dtype::i8};
  std::array<int, kHeuristics> numbers{};
  for (int i = 0; i < kHeuristics; ++i)
    numbers[static_cast<std::size_t>(i)] = i;
  const std::string version = lt_version();
  return DesignSpace::Builder{}
      .choices("version", {version.empty() ? "none" : version})
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f64, Dtype::f32, Dtype::i32})
      .dtypes(Role::out_dtype, {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                Dtype::e5m2, Dtype::i32, Dtype::i8})
      .choices("order", {"column", "row"})
      .integers("heuristic", numbers)
      .require({"a", "b", "acc", "out"},
               [](const DesignPoint& p) {
                 return is_documented(p.dtype(Role::a_dtype), p.dtype(Role::b_dtype),
                                      p.dtype(Role::accumulator_type), p.dtype(Role::out_dtype));
               })
      .build();
}

/// What a kernel is, read without comparing names.
class Choices {
 public:
  Choices() = default;
  explicit Choices(const DesignSpace& space)
      : order_(space.find("order")), heuristic_(space.find("heuristic")) {}

  OutOrder order(const DesignPoint& point) const {
    return point.index(order_) == 0 ? OutOrder::column : OutOrder::row;
  }
  int heuristic(const DesignPoint& point) const { return point.index(heuristic_); }

 private:
  int order_ = -1;
  int heuristic_ = -1;
};

// Everything of a problem that the heuristics look at.
struct ProblemKey {
  std::array<std::int64_t, 13> numbers;
  std::array<std::int64_t, 4> epilogue;
  std::array<Dtype, 6> dtypes;
  std::array<int, 5> alignments;
  std::array<LtScaleMode, 2> scales;
  std::array<bool, 2> scaled;
  Mode mode;
  int device;
  bool tf32;
  bool fast;
  OutOrder out_order;

  auto operator<=>(const ProblemKey&) const = default;
};

ProblemKey key_of(const GemmArguments& arguments, OutOrder out_order, int device) {
  const GemmExtents& e = arguments.extents();
  const MatrixView& a = arguments.a_matrix();
  const MatrixView& b = arguments.b_matrix();
  const MatrixView& out = arguments.out_matrix();
  LtEpilogue epilogue;
  (void)LtMatmul::describe(arguments, out_order, &epilogue);
  const MatrixView c = epilogue.c.value_or(out);
  const LtBias bias = epilogue.bias.value_or(LtBias{});
  return {{e.m, e.n, e.k, e.l, a.row_stride, a.column_stride, a.batch_stride, b.row_stride,
           b.column_stride, b.batch_stride, out.row_stride, out.column_stride, out.batch_stride},
          {c.row_stride, c.column_stride, c.batch_stride, bias.batch_stride},
          {a.dtype, b.dtype, out.dtype, arguments.accumulator_type(), c.dtype, bias.dtype},
          {a.alignment, b.alignment, out.alignment, c.alignment, bias.alignment},
          {epilogue.scales.a.mode, epilogue.scales.b.mode},
          {epilogue.scales.a.any, epilogue.scales.b.any},
          epilogue.mode,
          device,
          arguments.controls().allow_tf32,
          arguments.controls().fast_accumulation,
          out_order};
}

using Candidates = std::shared_ptr<const std::vector<Candidate>>;

/// Whether descriptors hold addresses, so that those of other arguments differ.
bool holds_addresses(const RuntimeArguments& arguments) {
  const auto& gemm = static_cast<const GemmArguments&>(arguments);
  return gemm.epilogue_binding() != nullptr || gemm.a().is_scaled() || gemm.b().is_scaled();
}

/// Whether products of that kind were run and timed: with more than a scale for each tensor none
/// was, so that they come behind kernels with a prediction.
bool is_tried(const GemmArguments& gemm) {
  if (!gemm.a().is_scaled() && !gemm.b().is_scaled()) return true;
  LtScales scales;
  return describe_lt_scales(gemm, &scales).ok() && scales.a.mode == LtScaleMode::scalar &&
         scales.b.mode == LtScaleMode::scalar;
}

/// A problem, the algorithms that the library offers, and its product where no epilogue makes each
/// differ.
struct Known {
  const void* owner = nullptr;
  ProblemKey key{};
  Candidates candidates;
  std::unique_ptr<const LtMatmul> plain;
};

/// The problems that a thread met last, so that those it meets again cost neither a lock nor new
/// descriptors.
class Latest {
 public:
  Known* find(const void* owner, const ProblemKey& key) {
    for (Known& known : known_) {
      if (known.owner == owner && known.key == key) return &known;
    }
    return nullptr;
  }
  Known& put(Known known) { return known_[next_++ % known_.size()] = std::move(known); }

 private:
  std::array<Known, 4> known_;
  std::size_t next_ = 0;
};

// The algorithms for recent problems; a query of the library takes tens of microseconds.
class HeuristicsCache {
 public:
  /// Valid until this thread's next query.
  Known& find(const GemmArguments& arguments, OutOrder out_order, int device) {
    thread_local Latest latest;
    const ProblemKey key = key_of(arguments, out_order, device);
    if (Known* known = latest.find(this, key)) return *known;
    return latest.put({this, key, candidates_for(key, arguments), nullptr});
  }

 private:
  static constexpr std::size_t kMax = 4096;

  Candidates candidates_for(const ProblemKey& key, const GemmArguments& arguments) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = candidates_.find(key); known != candidates_.end())
        return known->second;
    }
    const jit::ContextScope scope(key.device);
    auto found = std::make_shared<const std::vector<Candidate>>(
        LtMatmul(arguments, key.out_order).heuristics(kHeuristics));
    const std::lock_guard lock(mutex_);
    if (candidates_.size() >= kMax) candidates_.clear();
    return candidates_.emplace(key, std::move(found)).first->second;
  }

  std::mutex mutex_;
  std::map<ProblemKey, Candidates> candidates_;
};

// The device that arguments live on; for described ones on the host, the first of the target.
int device_for(const RuntimeArguments& arguments, Target target) {
  if (arguments.device().is_cuda()) return arguments.device().index;
  for (const DeviceInfo& device : cuda_devices()) {
    if (device.target == target) return device.index;
  }
  return -1;
}

class LtLaunch final : public Launch {
 public:
  /// `context` is the current one.
  LtLaunch(jit::CUcontext context, const jit::BoundStream& stream, const GemmArguments& arguments,
           OutOrder out_order, const Candidate& candidate, jit::WorkspaceLease workspace)
      : context_(context),
        lt_(lt_context()),
        stream_(stream),
        operands_(arguments),
        matmul_(arguments, out_order),
        candidate_(candidate),
        workspace_(std::move(workspace)) {}

  bool move_to(const RuntimeArguments& arguments) override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (holds_addresses(gemm) && !matmul_.move_to(gemm)) return false;
    operands_ = LtOperands(gemm);
    return true;
  }

  void launch(void* stream) override {
    const auto target = static_cast<jit::CUstream>(stream);
    stream_.require(jit::driver(), target);
    const jit::ContextScope scope(context_);
    const jit::WorkspaceUse use(workspace_, target);
    matmul_.start(lt_, operands_, candidate_.algorithm, workspace_.workspace().data,
                  candidate_.facts.workspace_bytes, target);
  }

 private:
  jit::CUcontext context_;
  LtContext* lt_;
  jit::BoundStream stream_;
  LtOperands operands_;
  LtMatmul matmul_;
  Candidate candidate_;
  jit::WorkspaceLease workspace_;
};

class CublasltGemm final : public KernelClass {
 public:
  std::string_view name() const override { return "cublaslt_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::span<const Target> targets() const override { return cuda_targets(); }
  bool needs_device() const override { return true; }
  bool takes_block_scales() const override { return true; }

  std::shared_ptr<const DesignSpace> space() const override {
    std::call_once(space_once_, [this] {
      space_ = make_space();
      choices_ = Choices(*space_);
    });
    return space_;
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    std::string problem;
    if (lt_table(&problem) == nullptr) return Status::fail(Reason::resource, problem);
    const int device = device_for(arguments, target);
    if (device < 0) {
      return Status::fail(Reason::device, fmt::format("device: expected a CUDA device of {}, which "
                                                      "cuBLASLt is queried for, got none",
                                                      target.name()));
    }
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (Status status = LtMatmul::expressible(gemm); !status) return status;
    LtEpilogue epilogue;
    if (Status status = LtMatmul::describe(gemm, choices_.order(point), &epilogue); !status) {
      return status;
    }
    if (Status status = check_lt_scales(epilogue.scales, target, lt_table(&problem)->get_version());
        !status) {
      return status;
    }
    const Candidates candidates = heuristics_.find(gemm, choices_.order(point), device).candidates;
    if (choices_.heuristic(point) < static_cast<int>(candidates->size())) return Status::success();
    return Status::fail(
        Reason::resource,
        fmt::format("heuristic: expected one of the {} algorithms that cuBLASLt offers, got {}",
                    candidates->size(), choices_.heuristic(point)));
  }

  Status supports_epilogue(const DesignPoint& /*point*/, const EpilogueGraph& epilogue,
                           Target /*target*/) const override {
    LtForm form;
    return find_lt_form(epilogue, &form);
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (!is_tried(gemm)) return std::nullopt;
    const cost::DeviceModel& device = cost::device_model(target, arguments.device());
    return cost::predict(plan_of(point, gemm, target), device);
  }

  std::vector<std::optional<Prediction>> predict_closely(std::span<const DesignPoint* const> points,
                                                         const RuntimeArguments& arguments,
                                                         Target target) const override {
    const cost::DeviceModel& device = cost::device_model(target, arguments.device());
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (!is_tried(gemm)) return std::vector<std::optional<Prediction>>(points.size());
    std::vector<std::optional<Prediction>> predictions;
    for (const DesignPoint* const point : points)
      predictions.emplace_back(cost::predict_closely(plan_of(*point, gemm, target), device));
    return predictions;
  }

  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& arguments,
                                            Target target) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    std::vector<PredictionPart> parts = cost::prediction_parts(
        plan_of(point, gemm, target), cost::device_model(target, gemm.device()));
    // The library's own figure takes the place of the model's.
    std::erase_if(parts, [](const PredictionPart& part) { return part.name == "waves"; });
    for (PredictionPart& part : parts_of_facts(facts(point, gemm, device_for(arguments, target)),
                                               choices_.order(point), choices_.heuristic(point))) {
      parts.push_back(std::move(part));
    }
    return parts;
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    const int device = arguments.device().is_cuda() ? arguments.device().index : 0;
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    return chosen(point, heuristics_.find(gemm, choices_.order(point), device))
        .facts.workspace_bytes;
  }

  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*none*/,
                               const BindOptions& options) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const int device = arguments.device().index;
    const Candidate& candidate =
        chosen(point, heuristics_.find(gemm, choices_.order(point), device));
    const jit::LaunchScope scope(device, options.stream);
    const std::size_t bytes = candidate.facts.workspace_bytes;
    jit::WorkspaceLease workspace(options.workspace, bytes, device, options.stream);
    return std::make_unique<LtLaunch>(
        scope.context(), jit::BoundStream(scope.context(), device, options.stream, bytes > 0), gemm,
        choices_.order(point), candidate, std::move(workspace));
  }

  void run(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
           const std::shared_ptr<const CompiledObject>& /*none*/,
           const BindOptions& options) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const OutOrder out_order = choices_.order(point);
    const int device = arguments.device().index;
    Known& known = heuristics_.find(gemm, out_order, device);
    const Candidate& candidate = chosen(point, known);
    const jit::LaunchScope scope(device, options.stream);
    const jit::WorkspaceLease lease(options.workspace, candidate.facts.workspace_bytes, device,
                                    options.stream);
    auto start = [&](const LtMatmul& product) {
      auto* const stream = static_cast<jit::CUstream>(options.stream);
      const jit::WorkspaceUse use(lease, stream);
      product.start(lt_context(), LtOperands(gemm), candidate.algorithm, lease.workspace().data,
                    candidate.facts.workspace_bytes, stream);
    };
    if (holds_addresses(gemm)) {
      start(LtMatmul(gemm, out_order));
      return;
    }
    if (known.plain == nullptr) known.plain = std::make_unique<LtMatmul>(gemm, out_order);
    start(*known.plain);
  }

 private:
  cost::Plan plan_of(const DesignPoint& point, const GemmArguments& gemm, Target target) const {
    return lt_plan(facts(point, gemm, device_for(gemm, target)), point.dtype(Role::a_dtype),
                   choices_.order(point), choices_.heuristic(point), gemm,
                   cost::device_model(target, gemm.device()));
  }

  /// The facts of the kernel's algorithm, valid until this thread's next query; none where cuBLASLt
  /// offers fewer algorithms.
  const LtFacts& facts(const DesignPoint& point, const GemmArguments& gemm, int device) const {
    static constexpr LtFacts kNone;
    if (lt_table() == nullptr || device < 0) return kNone;
    const Known& known = heuristics_.find(gemm, choices_.order(point), device);
    const auto index = static_cast<std::size_t>(choices_.heuristic(point));
    return index < known.candidates->size() ? (*known.candidates)[index].facts : kNone;
  }

  const Candidate& chosen(const DesignPoint& point, const Known& known) const {
    const auto index = static_cast<std::size_t>(choices_.heuristic(point));
    if (index < known.candidates->size()) return (*known.candidates)[index];
    throw Error(ErrorKind::unsupported,
                fmt::format("cuBLASLt offers {} algorithms for the problem, got number {}",
                            known.candidates->size(), index));
  }

  mutable std::once_flag space_once_;
  mutable std::shared_ptr<const DesignSpace> space_;
  mutable Choices choices_;  ///< set before there is a point
  mutable HeuristicsCache heuristics_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_cublaslt_gemm() {
  return std::make_shared<CublasltGemm>();
}

}  // namespace estoc::cublaslt
