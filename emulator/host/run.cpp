// Runs a kernel of a kernel class on the CPU and says what is wrong with it.
#include "emulator/run.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "emulator/functions.h"
#include "emulator/tensor_map.h"
#include "estoc/arguments.hpp"
#include "estoc/cuda_kernel_class.hpp"
#include "kernel_build.h"
#include "outputs.h"

namespace estoc::emulator {
namespace {

constexpr std::align_val_t kWorkspaceAlignment{256};

const CudaKernelClass* as_cuda(const Kernel& kernel) {
  return dynamic_cast<const CudaKernelClass*>(&kernel.kernel_class());
}

CudaCode code_of(const CudaKernelClass& kernel_class, const Kernel& kernel, Target target) {
  const auto& epilogue = kernel.epilogue();
  return epilogue == nullptr ? kernel_class.code(kernel.point(), target)
                             : kernel_class.fused_code(kernel.point(), target, *epilogue);
}

Status check_kernel(const Kernel& kernel, Target target) {
  const KernelMetadata& metadata = kernel.metadata();
  const CudaKernelClass* kernel_class = as_cuda(kernel);
  if (kernel_class == nullptr) {
    return Status::fail(Reason::other, fmt::format("expected a kernel that is CUDA code, got one "
                                                   "of the provider {}",
                                                   metadata.provider));
  }
  const auto& targets = metadata.targets;
  if (!covers(targets, target)) {
    return Status::fail(Reason::target, fmt::format("expected a target of the kernel, such as {}, "
                                                    "got {}",
                                                    targets.front().name(), target.name()));
  }
  if (code_of(*kernel_class, kernel, target).source.empty()) {
    return Status::fail(Reason::other, "expected a kernel that has a text, got ready-made code");
  }
  return Status::success();
}

void require(const Status& status, const Kernel& kernel) {
  if (status.ok()) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("emulator: {}: {}", kernel.name(), status.error()));
}

// Refusals leave as exceptions, which say more than a number.
int encode(void* map, int data_type, unsigned rank, void* address, const std::uint64_t* extents,
           const std::uint64_t* strides, const std::uint32_t* box,
           const std::uint32_t* element_strides, int interleave, int swizzle, int l2_promotion,
           int fill) {
  const int result = encode_tiled(map, data_type, rank, address, extents, strides, box,
                                  element_strides, interleave, swizzle, l2_promotion, fill);
  if (result == 0) return 0;
  throw Error(ErrorKind::driver, fmt::format("cuTensorMapEncodeTiled: {}", encode_problem()));
}

/// Scratch memory for one run, its bytes as they come.
class ScratchMemory {
 public:
  explicit ScratchMemory(std::size_t bytes)
      : bytes_(bytes), data_(bytes == 0 ? nullptr : ::operator new(bytes, kWorkspaceAlignment)) {}
  ~ScratchMemory() { ::operator delete(data_, kWorkspaceAlignment); }
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  Workspace workspace() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Of packed elements apart from each other: half a byte is kept as it is, and so must be read.
bool splits_bytes(const TensorView& view) {
  if (!is_packed(view.dtype()) || view.span_bytes() == 0) return false;
  for (int mode = 0; mode < view.rank(); ++mode) {
    if (view.stride(mode) == 1 && view.shape(mode) > 1) return false;
  }
  return true;
}

/// Which memory a kernel may touch.
class MemoryList {
 public:
  void add_output(const void* data, std::size_t bytes, const char* name) {
    if (bytes > 0) list_.push_back({data, bytes, name, true, false});
    outputs_ = list_.size();
  }
  void add_output(const TensorView& view, const char* name) {
    add_output(view.data(), static_cast<std::size_t>(view.span_bytes()), name);
    if (splits_bytes(view) && !list_.empty()) list_.back().initialised = true;
  }
  /// After the outputs. In place, an output is there from the beginning.
  void add_input(const void* data, std::size_t bytes, const char* name) {
    const auto* begin = static_cast<const std::byte*>(data);
    for (std::size_t i = 0; i < outputs_; ++i) {
      const auto* output = static_cast<const std::byte*>(list_[i].address);
      if (begin >= output + list_[i].bytes || output >= begin + bytes) continue;
      list_[i].initialised = true;
      return;
    }
    if (bytes > 0) list_.push_back({data, bytes, name, false, true});
  }
  void add_input(const TensorView& view, const char* name) {
    add_input(view.data(), static_cast<std::size_t>(view.span_bytes()), name);
  }
  void add_workspace(const Workspace& workspace) {
    if (workspace.bytes > 0) {
      list_.push_back({workspace.data, workspace.bytes, "workspace", true, false});
    }
  }
  /// All of it; what is written is noted in `written`.
  std::vector<Allocation> take(WrittenBytes& written) {
    for (Allocation& allocation : list_) {
      if (allocation.writable) allocation.written = &written;
    }
    return std::move(list_);
  }

 private:
  std::size_t outputs_ = 0;
  std::vector<Allocation> list_;
};

std::size_t span_of(const EpilogueAddress& at, Dtype dtype, Varies varies, const GemmExtents& e) {
  return span_bytes({varies.l ? e.l : 1, varies.m ? e.m : 1, varies.n ? e.n : 1},
                    {at.batch_stride, at.row_stride, at.column_stride}, dtype);
}

/// The tensors of a product's epilogue.
void add_epilogue_tensors(MemoryList& list, const EpilogueBinding* binding, const GemmExtents& e) {
  const EpilogueGraph& graph = *binding->graph;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const EpilogueAddress& at = binding->tensors[i];
    list.add_input(at.data, span_of(at, graph.tensors[i].dtype, graph.tensors[i].varies, e),
                   "an input of the epilogue");
  }
}

/// An epilogue's tensors, and scalars in memory.
void add_epilogue_inputs(MemoryList& list, const RuntimeArguments& arguments) {
  const EpilogueBinding* binding = arguments.epilogue_binding();
  if (binding == nullptr) return;
  if (const auto* elementwise = dynamic_cast<const ElementwiseArguments*>(&arguments)) {
    for (std::size_t i = 0; i < elementwise->tensor_count(); ++i) {
      const NamedOperand tensor = elementwise->tensor(i);
      list.add_input(*tensor.tensor, tensor.name);
    }
  } else {
    const GemmExtents e = epilogue_extents(arguments);
    if (e.m == 0 || e.n == 0 || e.l == 0) return;
    add_epilogue_tensors(list, binding, e);
  }
  const EpilogueGraph& graph = *binding->graph;
  for (std::size_t i = 0; i < graph.scalars.size(); ++i) {
    if (binding->scalars[i].data == nullptr) continue;
    list.add_input(binding->scalars[i].data,
                   static_cast<std::size_t>(dtype_bits(graph.scalars[i].dtype) / 8), "a scalar");
  }
}

/// Output number `first`, with those after it that lie among its elements; returns the next one.
std::size_t add_parts(MemoryList& list, const std::vector<OutputElements>& outputs,
                      std::size_t first) {
  const auto* const begin = static_cast<const std::byte*>(outputs[first].data);
  const std::byte* end = begin + outputs[first].span_bytes();
  std::size_t next = first + 1;
  for (; next < outputs.size(); ++next) {
    const auto* const data = static_cast<const std::byte*>(outputs[next].data);
    if (data < begin || data >= end) break;
    end = std::max(end, data + outputs[next].span_bytes());
  }
  list.add_output(begin, static_cast<std::size_t>(end - begin), outputs[first].name.c_str());
  return next;
}

void add_outputs(MemoryList& list, const OperandList& operands,
                 const std::vector<OutputElements>& outputs) {
  std::size_t own = 0;
  for (const NamedOperand& operand : operands) {
    if (operand.role != OperandRole::output) continue;
    const std::size_t bytes = outputs[own].span_bytes();
    const bool is_whole = bytes == static_cast<std::size_t>(operand.tensor->span_bytes());
    if (!is_whole) {
      own = add_parts(list, outputs, own);
      continue;
    }
    list.add_output(*operand.tensor, operand.name);
    ++own;
  }
  while (own < outputs.size())
    own = add_parts(list, outputs, own);
}

void add_inputs(MemoryList& list, const OperandList& operands) {
  for (const NamedOperand& operand : operands) {
    if (operand.role == OperandRole::output) continue;
    list.add_input(*operand.tensor, operand.name);
    if (operand.scaled != nullptr) list.add_input(operand.scaled->scale, "scale");
  }
}

std::vector<Allocation> memory_of(const RuntimeArguments& arguments,
                                  const std::vector<OutputElements>& outputs,
                                  const Workspace& workspace, WrittenBytes& written) {
  MemoryList list;
  const OperandList operands = arguments.operands();
  add_outputs(list, operands, outputs);
  add_inputs(list, operands);
  add_epilogue_inputs(list, arguments);
  list.add_workspace(workspace);
  return list.take(written);
}

void require_arguments(const Kernel& kernel, const RuntimeArguments& arguments, Target target) {
  if (!arguments.device().is_cpu() || !arguments.has_data()) {
    throw Error(ErrorKind::value,
                fmt::format("operands: expected host memory, got {}",
                            arguments.has_data() ? arguments.device().name() : "a description"));
  }
  for (const NamedOperand& operand : arguments.operands()) {
    if (!operand.tensor->described()) continue;
    throw Error(ErrorKind::value,
                fmt::format("{}: expected data that matrices of groups lie in, got a description",
                            operand.name));
  }
  const Status status = kernel.supports(arguments, target);
  if (status.ok()) return;
  throw Error(ErrorKind::unsupported, fmt::format("kernel {}: {}", kernel.name(), status.error()));
}

template <typename Function>
Function* symbol(void* library, const std::string& name) {
  return reinterpret_cast<Function*>(::dlsym(library, name.c_str()));
}

void add(Statistics& sum, const Statistics& more) {
  sum.wgmma += more.wgmma;
  sum.tcgen05 += more.tcgen05;
  sum.mma += more.mma;
  sum.tma_loads += more.tma_loads;
  sum.tma_stores += more.tma_stores;
  sum.cp_async += more.cp_async;
  sum.barriers += more.barriers;
  sum.launches += more.launches;
  sum.watched += more.watched;
}

/// Carries out a fill.
void fill(const LaunchPlan::Step& step, const std::vector<Allocation>& memory) {
  const auto* begin = static_cast<const std::byte*>(step.address);
  const auto inside = std::find_if(memory.begin(), memory.end(), [&](const Allocation& a) {
    const auto* first = static_cast<const std::byte*>(a.address);
    return begin >= first && begin + step.bytes <= first + a.bytes;
  });
  if (inside == memory.end() || !inside->writable) {
    throw Error(ErrorKind::value,
                fmt::format("launch plan: expected a fill of the output or the workspace, got {} "
                            "bytes elsewhere",
                            step.bytes));
  }
  inside->written->add(step.address, step.bytes);
  std::memset(step.address, step.value, step.bytes);
}

/// A library and the number of a kernel's first entry in it.
struct Code {
  void* library;
  std::size_t first_entry;
};

Report launch_step(Code code, const LaunchPlan& plan, const LaunchPlan::Step& step,
                   Options options) {
  const CudaGeometry& g = step.geometry;
  const FunctionTable& table = options.recording == nullptr ? function_table() : recording_table();
  symbol<void(const FunctionTable*, const unsigned*)>(code.library, kConnectName)(&table,
                                                                                  g.block.data());
  options.cluster = g.cluster;
  std::array<void*, LaunchPlan::kMaxParameters> parameters;
  plan.parameters_of(step, parameters.data());
  const auto entry = symbol<void(void**)>(code.library, entry_name(code.first_entry + step.entry));
  if (entry == nullptr) {
    throw Error(ErrorKind::value,
                fmt::format("launch plan: there is no entry number {}", step.entry));
  }
  try {
    return launch(entry, g.grid, g.block[0] * g.block[1] * g.block[2], g.shared_bytes,
                  parameters.data(), options);
  } catch (const std::invalid_argument& refusal) {
    throw Error(ErrorKind::driver, fmt::format("cuLaunchKernelEx: {}", refusal.what()));
  }
}

// Of a multiprocessor; a CTA takes a kilobyte besides its own shared memory.
constexpr unsigned kMaxThreads = 2048;
constexpr unsigned kMaxShared = 228 * 1024;
constexpr unsigned kSystemShared = 1024;

/// CTAs that a multiprocessor runs beside each other, as far as threads and shared memory say; of
/// clusters one.
unsigned resident_clusters(const CudaGeometry& g, int multiprocessors) {
  if (g.cluster[0] * g.cluster[1] * g.cluster[2] > 1) return 1;
  const unsigned threads = g.block[0] * g.block[1] * g.block[2];
  const std::uint64_t ctas = std::uint64_t{g.grid[0]} * g.grid[1] * g.grid[2];
  const auto each = static_cast<unsigned>((ctas + static_cast<unsigned>(multiprocessors) - 1) /
                                          static_cast<unsigned>(multiprocessors));
  return std::clamp(std::min({kMaxThreads / std::max(threads, 1u),
                              kMaxShared / (g.shared_bytes + kSystemShared), each}),
                    1u, 8u);
}

// Of a kernel that is run for what later ones read.
constexpr std::uint64_t kFewCtas = 256;

/// Runs the first clusters of a step. One of few CTAs that is not the last runs whole ahead of
/// that: what there is to do may stand in what it writes.
Report record_step(Code code, const LaunchPlan& plan, const LaunchPlan::Step& step, Options options,
                   const RunOptions& run_options) {
  const CudaGeometry& g = step.geometry;
  const std::uint64_t ctas = std::uint64_t{g.grid[0]} * g.grid[1] * g.grid[2];
  const unsigned clusters = resident_clusters(g, run_options.multiprocessors);
  const bool is_last = &step == &plan.step(plan.size() - 1);
  if (!is_last && clusters < ctas && ctas <= kFewCtas) launch_step(code, plan, step, options);
  Recording& recording = run_options.recordings->emplace_back();
  recording.clusters = clusters;
  options.recording = &recording;
  options.products = false;
  return launch_step(code, plan, step, std::move(options));
}

BuildJob job_of(const Kernel& kernel, Target target, const BuildOptions& options) {
  require(can_emulate(kernel, target), kernel);
  CudaCode code = code_of(*as_cuda(kernel), kernel, target);
  return {.kernel = kernel.name(),
          .source = std::move(code.source),
          .entries = std::move(code.entries),
          .target = target,
          .debug_folder = options.debug_folder,
          .optimised = options.optimised};
}

}  // namespace

Status can_emulate(const Kernel& kernel, Target target) noexcept {
  try {
    return check_kernel(kernel, target);
  } catch (const std::exception& error) {
    return Status::fail(error.what());
  }
}

bool worth_optimising(const RuntimeArguments& arguments, int runs) {
  // Optimising takes 0.06 s or more. A kernel that computes in plain code loses 0.03 s without, by
  // a product of 128 x 128 x 128; one whose tensor cores do so 0.0004 to 0.006 s.
  constexpr double kEnough = 2.0 * 160 * 160 * 160;
  const OperationWork work = arguments.work();
  return runs * work.flops.value_or(work.bytes) > kEnough;
}

BuiltKernel::BuiltKernel(const Kernel& kernel, Target target, const BuiltLibrary& library)
    : kernel_(kernel),
      target_(target),
      compiler_(library.compiler),
      from_cache_(library.from_cache),
      library_(library.handle),
      first_entry_(library.first_entry) {}

BuiltKernel::BuiltKernel(const Kernel& kernel, Target target, const BuildOptions& options)
    : BuiltKernel(kernel, target, build_kernel(job_of(kernel, target, options))) {}

std::vector<BuiltKernel> BuiltKernel::build(std::span<const KernelOnTarget> kernels,
                                            const BuildOptions& options) {
  std::vector<BuildJob> jobs;
  for (const KernelOnTarget& each : kernels)
    jobs.push_back(job_of(each.kernel, each.target, options));
  const std::vector<BuiltLibrary> libraries = build_kernels(jobs);
  std::vector<BuiltKernel> built;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    built.push_back(BuiltKernel(kernels[i].kernel, kernels[i].target, libraries[i]));
  return built;
}

Report BuiltKernel::run(const RuntimeArguments& arguments, const RunOptions& options) const {
  require_arguments(kernel_, arguments, target_);
  const CudaKernelClass& kernel_class = *as_cuda(kernel_);
  const ScratchMemory scratch(kernel_.workspace_size(arguments));
  const PlanDevice device{.multiprocessors = options.multiprocessors, .encode_tiled = encode};
  LaunchPlan plan(device);
  kernel_class.plan(kernel_.point(), kernel_.knobs(), arguments, scratch.workspace(), plan);
  const std::vector<OutputElements> outputs = outputs_of(arguments);
  WrittenBytes written;
  Options launch_options = options.launch;
  launch_options.kernel_name = kernel_.kernel_class().name();
  launch_options.memory = memory_of(arguments, outputs, scratch.workspace(), written);
  Report report;
  const Code code{library_, first_entry_};
  bool all_watched = launch_options.checks && options.recordings == nullptr;
  for (std::size_t i = 0; i < plan.size() && report.clean(); ++i) {
    const LaunchPlan::Step& step = plan.step(i);
    if (step.address != nullptr) {
      fill(step, launch_options.memory);
      continue;
    }
    Report part = options.recordings == nullptr
                      ? launch_step(code, plan, step, launch_options)
                      : record_step(code, plan, step, launch_options, options);
    add(report.statistics, part.statistics);
    report.findings = std::move(part.findings);
    if (part.statistics.watched > 0) continue;
    // Plain pointers may have written anything.
    all_watched = false;
    for (Allocation& allocation : launch_options.memory)
      allocation.initialised = true;
  }
  // Where no store was watched, plain pointers did the work.
  if (all_watched && report.clean() && !written.empty()) {
    report_unwritten(outputs, written, launch_options.kernel_name, report);
  }
  return report;
}

Report run(const Kernel& kernel, Target target, const RuntimeArguments& arguments,
           const RunOptions& options) {
  const BuildOptions build{.optimised = worth_optimising(arguments)};
  return BuiltKernel(kernel, target, build).run(arguments, options);
}

}  // namespace estoc::emulator
