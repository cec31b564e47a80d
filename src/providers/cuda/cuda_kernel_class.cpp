// Compiles, loads and launches the kernels of classes that are CUDA code.
#include "estoc/cuda_kernel_class.hpp"

#include <fmt/core.h>

#include <mutex>

#include "core/hash.h"
#include "estoc/arguments.hpp"
#include "jit/code_image.h"
#include "jit/compile.h"
#include "jit/entries.h"
#include "jit/launch.h"
#include "jit/plan_device.h"
#include "jit/workspace.h"

namespace estoc {
namespace {

/// A compiled unit; handed to the driver when it is first bound.
class CudaObject final : public CompiledObject {
 public:
  CudaObject(std::shared_ptr<const jit::Unit> unit, std::vector<std::string> entries)
      : unit_(std::move(unit)), entries_(std::move(entries)) {}

  const CompiledCode* code() const override { return &unit_->code; }
  Target target() const { return unit_->target; }

  jit::LoadedUnit& loaded() const {
    std::call_once(once_, [this] { loaded_ = &jit::LoadedUnit::of(*unit_, entries_); });
    return *loaded_;
  }

 private:
  std::shared_ptr<const jit::Unit> unit_;
  std::vector<std::string> entries_;
  mutable std::once_flag once_;
  mutable jit::LoadedUnit* loaded_ = nullptr;
};

std::string kernel_name(const KernelClass& kernel_class, const DesignPoint& point) {
  return std::string(kernel_class.name()) + point.space().suffix(point);
}

jit::UnitRequest unit_request(const CudaKernelClass& kernel_class, const CompileRequest& request,
                              std::string source) {
  return {.name = kernel_name(kernel_class, request.point),
          .source = std::move(source),
          .target = request.target,
          .lineinfo = request.options.lineinfo};
}

const CudaObject& as_cuda(const CompiledObject* object) {
  if (const auto* cuda = dynamic_cast<const CudaObject*>(object)) return *cuda;
  throw Error(ErrorKind::type, "artifact: expected one of a CUDA kernel class, got another's");
}

void require_device(const RuntimeArguments& arguments, Target built) {
  const Device device = arguments.device();
  if (!device.is_cuda()) {
    throw Error(ErrorKind::value,
                fmt::format("operands: expected memory of a CUDA device, got {}", device.name()));
  }
  const Target actual = jit::device_target(device.index);
  if (actual.cc() == built.cc()) return;
  throw Error(ErrorKind::value,
              fmt::format("artifact: expected one for {}, which {} is, got one for {}",
                          actual.name(), device.name(), built.name()));
}

CudaCode code_of(const CudaKernelClass& kernel_class, const CompileRequest& request) {
  if (request.epilogue == nullptr) return kernel_class.code(request.point, request.target);
  return kernel_class.fused_code(request.point, request.target, *request.epilogue);
}

/// Plans a launch in the current context and prepares its entries; gives the workspace it uses.
jit::WorkspaceLease make_plan(const CudaKernelClass& kernel_class, const DesignPoint& point,
                              const Knobs& knobs, const RuntimeArguments& arguments,
                              const CudaObject& object, const BindOptions& options,
                              jit::CUcontext context, LaunchPlan& plan) {
  const int device = arguments.device().index;
  const bool is_given = options.workspace.data != nullptr;
  const std::size_t bytes = is_given ? 0 : kernel_class.workspace_size(point, knobs, arguments);
  jit::WorkspaceLease lease(options.workspace, bytes, device, options.stream);
  kernel_class.plan(point, knobs, arguments, lease.workspace(), plan);
  if (!jit::prepare_plan(plan, object.loaded(), device, context)) return lease;
  // A grid of clusters is right whatever its size, but quicker where all of them run at once.
  plan = LaunchPlan(plan.device());
  kernel_class.plan(point, knobs, arguments, lease.workspace(), plan);
  (void)jit::prepare_plan(plan, object.loaded(), device, context);
  return lease;
}

/// Whether a launch may begin before the kernel ahead of it has ended: code for older architectures
/// does not wait for that kernel.
bool overlaps(const CudaKernelClass& kernel_class, const BindOptions& options,
              const CudaObject& object) {
  constexpr int kFirstToWait = 90;
  return options.programmatic && kernel_class.waits_for_dependencies() &&
         object.target().cc() >= kFirstToWait;
}

/// A bound plan, and what it takes to plan the same launch on other operands.
class CudaLaunch final : public Launch {
 public:
  CudaLaunch(const CudaKernelClass& kernel_class, const DesignPoint& point, const Knobs& knobs,
             jit::BoundPlan bound)
      : kernel_class_(kernel_class), point_(point), knobs_(knobs), bound_(std::move(bound)) {}

  void launch(void* stream) override { bound_.launch(stream); }

  bool move_to(const RuntimeArguments& arguments) override {
    const jit::ContextScope scope = bound_.enter();
    kernel_class_.plan(point_, knobs_, arguments, bound_.workspace(), bound_.next());
    return bound_.take_next();
  }

 private:
  const CudaKernelClass& kernel_class_;
  DesignPoint point_;
  Knobs knobs_;
  jit::BoundPlan bound_;
};

}  // namespace

std::span<const Target> CudaKernelClass::targets() const {
  return cuda_targets();
}

CudaCode CudaKernelClass::fused_code(const DesignPoint& point, Target /*target*/,
                                     const EpilogueGraph& epilogue) const {
  throw Error(ErrorKind::unsupported, fmt::format("kernel {}: expected no epilogue, got \"{}\"",
                                                  kernel_name(*this, point), epilogue.canonical));
}

bool CudaKernelClass::waits_for_dependencies() const {
  return false;
}

std::shared_ptr<const CompiledObject> CudaKernelClass::compile(
    const CompileRequest& request) const {
  CudaCode made = code_of(*this, request);
  if (made.source.empty()) {
    jit::Unit unit{.name = kernel_name(*this, request.point), .target = request.target, .code = {}};
    unit.code.format = jit::code_format(made.image);
    unit.code.bytes = std::move(made.image);
    jit::require_entries(unit.name, unit.code, made.entries);
    return std::make_shared<const CudaObject>(std::make_shared<const jit::Unit>(std::move(unit)),
                                              std::move(made.entries));
  }
  const bool caches = request.options.use_caches;
  auto unit = jit::compile_unit(unit_request(*this, request, std::move(made.source)),
                                {.use_memory = caches, .use_disk = caches});
  jit::require_entries(unit->name, unit->code, made.entries);
  return std::make_shared<const CudaObject>(std::move(unit), std::move(made.entries));
}

std::shared_ptr<const CompiledObject> CudaKernelClass::load(const CompileRequest& request,
                                                            CompiledCode code) const {
  const std::string_view format = jit::code_format(code.bytes);
  if (code.bytes.empty() || code.format != format) {
    throw Error(ErrorKind::value, fmt::format("kernel {}: expected code that is a {}, got {}",
                                              kernel_name(*this, request.point),
                                              code.format.empty() ? "cubin" : code.format,
                                              code.bytes.empty() ? "none" : format));
  }
  if (const std::string problem = jit::code_problem(code.bytes); !problem.empty()) {
    throw Error(ErrorKind::value, fmt::format("kernel {}: its code is no {} that is whole: {}",
                                              kernel_name(*this, request.point), format, problem));
  }
  auto unit = std::make_shared<const jit::Unit>(jit::Unit{.name = kernel_name(*this, request.point),
                                                          .target = request.target,
                                                          .code = std::move(code)});
  std::vector<std::string> entries = code_of(*this, request).entries;
  jit::require_entries(unit->name, unit->code, entries);
  return std::make_shared<const CudaObject>(std::move(unit), std::move(entries));
}

std::string CudaKernelClass::code_key(const CompileRequest& request) const {
  CudaCode made = code_of(*this, request);
  if (made.source.empty()) return made.image.empty() ? "" : core::hash(made.image).hex();
  const CompileRequest plain{request.point, request.target, {}, request.epilogue};
  return jit::content_key(unit_request(*this, plain, std::move(made.source))).hex();
}

std::string CudaKernelClass::emit(const CompileRequest& request, Emission what) const {
  CudaCode made = code_of(*this, request);
  if (made.source.empty()) {
    throw Error(ErrorKind::unsupported,
                fmt::format("kernel {} came as ready-made code, without a source",
                            kernel_name(*this, request.point)));
  }
  if (what == Emission::source) return made.source;
  return jit::compile_to_ptx(unit_request(*this, request, std::move(made.source)));
}

std::unique_ptr<Launch> CudaKernelClass::bind(const DesignPoint& point, const Knobs& knobs,
                                              const RuntimeArguments& arguments,
                                              std::shared_ptr<const CompiledObject> object,
                                              const BindOptions& options) const {
  const CudaObject& compiled = as_cuda(object.get());
  require_device(arguments, compiled.target());
  const int device = arguments.device().index;
  const jit::LaunchScope scope(device, options.stream);
  LaunchPlan plan(jit::plan_device(device));
  jit::WorkspaceLease workspace =
      make_plan(*this, point, knobs, arguments, compiled, options, scope.context(), plan);
  const bool has_workspace = workspace_size(point, knobs, arguments) > 0;
  return std::make_unique<CudaLaunch>(
      *this, point, knobs,
      jit::BoundPlan(plan, compiled.loaded(), scope.context(),
                     jit::BoundStream(scope.context(), device, options.stream, has_workspace),
                     std::move(workspace), overlaps(*this, options, compiled)));
}

void CudaKernelClass::run(const DesignPoint& point, const Knobs& knobs,
                          const RuntimeArguments& arguments,
                          const std::shared_ptr<const CompiledObject>& object,
                          const BindOptions& options) const {
  const CudaObject& compiled = as_cuda(object.get());
  require_device(arguments, compiled.target());
  const jit::LaunchScope scope(arguments.device().index, options.stream);
  LaunchPlan plan(jit::plan_device(arguments.device().index));
  const jit::WorkspaceLease workspace =
      make_plan(*this, point, knobs, arguments, compiled, options, scope.context(), plan);
  auto* const stream = static_cast<jit::CUstream>(options.stream);
  const jit::WorkspaceUse use(workspace, stream);
  jit::start_plan(jit::driver(), plan, compiled.loaded(), stream,
                  overlaps(*this, options, compiled));
}

}  // namespace estoc
