// The C interface, over the public C++ one.
#include "estoc/estoc.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estoc/bundle.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

struct estoc_arguments {
  std::unique_ptr<estoc::RuntimeArguments> value;
};
struct estoc_kernel {
  estoc::Kernel value;
};
struct estoc_artifact {
  estoc::Artifact value;
};
struct estoc_bundle {
  estoc::Bundle value;
};
struct estoc_launch {
  estoc::BoundKernel value;
};

namespace {

using estoc::Error;
using estoc::ErrorKind;

constexpr int kMostModes = 6;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

estoc_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::value:
      return ESTOC_ERROR_VALUE;
    case ErrorKind::type:
      return ESTOC_ERROR_TYPE;
    case ErrorKind::not_found:
      return ESTOC_ERROR_NOT_FOUND;
    case ErrorKind::exists:
      return ESTOC_ERROR_EXISTS;
    case ErrorKind::unsupported:
      return ESTOC_ERROR_UNSUPPORTED;
    case ErrorKind::io:
      return ESTOC_ERROR_IO;
    case ErrorKind::memory:
      return ESTOC_ERROR_MEMORY;
    case ErrorKind::compile:
      return ESTOC_ERROR_COMPILE;
    case ErrorKind::driver:
      return ESTOC_ERROR_DRIVER;
    case ErrorKind::cancelled:
      return ESTOC_ERROR_CANCELLED;
  }
  return ESTOC_ERROR_OTHER;
}

estoc_status failed(estoc_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    // Without memory for the words the status has to do.
  }
  return status;
}

/// Nothing that C++ throws may pass into C.
template <typename Work>
estoc_status guarded(const Work& work) noexcept {
  try {
    work();
    return ESTOC_OK;
  } catch (const Error& error) {
    return failed(status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ESTOC_ERROR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(ESTOC_ERROR_OTHER, error.what());
  } catch (...) {
    return failed(ESTOC_ERROR_OTHER, "an exception that is no std::exception");
  }
}

template <typename Object>
Object& required(Object* object, const char* what) {
  if (object != nullptr) return *object;
  throw Error(ErrorKind::value, std::string(what) + ": expected a pointer, got NULL");
}

/// The name that `name` gives: NULL-terminated, of an object that lives on; "" when it throws.
template <typename Name>
const char* guarded_name(const Name& name) noexcept {
  try {
    return name().c_str();
  } catch (...) {
    return "";
  }
}

/// The caller's options, those it does not know at their defaults. Its header may be newer than
/// this library: then what is unknown here must not be asked for.
template <typename Options>
Options options_from(const Options* given) {
  Options options{};
  if (given == nullptr) return options;
  // Sizes of structs are multiples of their alignment; another one would cut a field in two.
  if (given->size == 0 || given->size % alignof(Options) != 0) {
    throw Error(ErrorKind::value, "options.size: expected the size of the struct, got " +
                                      std::to_string(given->size));
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  const bool newer = std::any_of(bytes + std::min(given->size, sizeof(Options)),
                                 bytes + given->size, [](unsigned char byte) { return byte != 0; });
  if (newer) {
    throw Error(ErrorKind::unsupported,
                "options.size: expected at most " + std::to_string(sizeof(Options)) +
                    " bytes of options, got " + std::to_string(given->size) +
                    "; the library is older than the program");
  }
  std::memcpy(&options, given, std::min(given->size, sizeof(Options)));
  return options;
}

/// Makes an object and hands it out; where to is checked before anything is made.
template <typename Object, typename Make>
void give(Object** to, const char* what, const Make& make) {
  Object*& place = required(to, what);
  place = new Object{make()};
}

estoc::Dtype dtype_of(const char* name, const char* what) {
  const std::string_view text = &required(name, what);
  if (const auto dtype = estoc::parse_dtype(text)) return *dtype;
  throw Error(ErrorKind::type, std::string(what) + ": expected the name of a dtype, got '" +
                                   std::string(text) + "'");
}

std::optional<estoc::Target> target_of(const char* name) {
  if (name == nullptr) return std::nullopt;
  if (const auto target = estoc::Target::parse(name)) return target;
  throw Error(ErrorKind::value, std::string("target: there is none of the name '") + name + "'");
}

estoc::Device device_of(int device, const std::string& name) {
  if (device >= 0) return estoc::Device::cuda(device);
  if (device == -1) return estoc::Device::cpu();
  throw Error(ErrorKind::value,
              name + ": expected -1 or a CUDA device's number, got " + std::to_string(device));
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape,
                                            const std::string& name) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
    if (__builtin_mul_overflow(strides[i], extent, &strides[i - 1])) {
      throw Error(ErrorKind::value, name + ".shape: expected fewer than 2^63 elements");
    }
  }
  return strides;
}

estoc::TensorView view_of(const estoc_tensor* tensor, const std::string& name) {
  const estoc_tensor& t = required(tensor, name.c_str());
  if (t.rank < 0 || t.rank > kMostModes) {
    throw Error(ErrorKind::value, name + ".rank: expected 0 to 6, got " + std::to_string(t.rank));
  }
  const auto rank = static_cast<std::size_t>(t.rank);
  if (rank > 0) (void)required(t.shape, (name + ".shape").c_str());
  const std::vector<std::int64_t> shape(t.shape, t.shape + rank);
  const std::vector<std::int64_t> strides = t.strides != nullptr
                                                ? std::vector(t.strides, t.strides + rank)
                                                : row_major_strides(shape, name);
  const estoc::Dtype dtype = dtype_of(t.dtype, (name + ".dtype").c_str());
  const estoc::Device device = device_of(t.device, name + ".device");
  if (t.data == nullptr)
    return estoc::TensorView::describe(dtype, shape, strides, device, 256, name.c_str());
  return {t.data, dtype, shape, strides, device, name.c_str()};
}

estoc::EpilogueScalarOperand scalar_of(const estoc_operand& operand, const std::string& name) {
  estoc::EpilogueScalarOperand scalar;
  scalar.value = operand.number;
  if (operand.dtype == nullptr) return scalar;
  scalar.dtype = dtype_of(operand.dtype, (name + ".dtype").c_str());
  return scalar;
}

estoc::EpilogueArguments epilogue_of(const estoc_gemm_options& options) {
  if (options.epilogue == nullptr && options.operand_count > 0) {
    throw Error(ErrorKind::value, "options.epilogue: expected a text for the operands, got NULL");
  }
  std::vector<estoc::EpilogueOperand> operands;
  for (std::size_t i = 0; i < options.operand_count; ++i) {
    const estoc_operand& operand = (&required(options.operands, "options.operands"))[i];
    const std::string name = &required(operand.name, "options.operands: name");
    if (operand.tensor != nullptr) {
      operands.emplace_back(name, view_of(operand.tensor, name));
    } else {
      operands.emplace_back(name, scalar_of(operand, name));
    }
  }
  return {options.epilogue != nullptr ? options.epilogue : "", std::move(operands)};
}

estoc::Problem problem_of(const std::string& text, const char* what) {
  try {
    return estoc::Problem::parse(text);
  } catch (const Error& error) {
    throw Error(error.kind(), std::string(what) + ": in '" + text + "', " + error.what());
  }
}

/// The controls that a problem text states, which states nothing else.
estoc::PerformanceControls controls_of(const char* text) {
  if (text == nullptr) return {};
  const estoc::Problem parsed = problem_of(std::string("gemm ") + text, "options.controls");
  estoc::Problem plain = estoc::Problem::parse("gemm");
  plain.controls = parsed.controls;
  if (parsed == plain) return parsed.controls;
  throw Error(ErrorKind::value, std::string("options.controls: expected keys such as "
                                            "deterministic=1, got '") +
                                    text + "'");
}

estoc::RunOptions run_options(const estoc_run_options& given) {
  if (given.threads < 0) {
    throw Error(ErrorKind::value,
                "options.threads: expected 0 or more, got " + std::to_string(given.threads));
  }
  estoc::RunOptions options;
  options.stream = given.stream;
  options.workspace = {given.workspace, given.workspace_bytes};
  options.threads = given.threads;
  options.assume_supported_args = given.assume_supported != 0;
  options.programmatic = given.programmatic != 0;
  return options;
}

estoc_run_options options_of(void* stream, void* workspace, size_t bytes) {
  estoc_run_options options{};
  options.size = sizeof(options);
  options.stream = stream;
  options.workspace = workspace;
  options.workspace_bytes = bytes;
  return options;
}

estoc::KernelQuery query_of(const char* filter, const char* target) {
  estoc::KernelQuery query;
  if (filter != nullptr) query.filter = estoc::MetadataFilter::parse(filter);
  query.target = target_of(target);
  return query;
}

void require_supported(const estoc::Kernel& kernel, const estoc::RuntimeArguments& arguments,
                       std::optional<estoc::Target> target) {
  const estoc::Status status = kernel.supports(arguments, target);
  if (!status) throw Error(ErrorKind::unsupported, status.error());
}

}  // namespace

const char* estoc_version(void) {
  return ESTOC_VERSION;
}

const char* estoc_last_error(void) {
  return last_error().c_str();
}

estoc_status estoc_gemm(const estoc_tensor* a, const estoc_tensor* b, const estoc_tensor* out,
                        const char* accumulator, estoc_arguments** arguments) {
  return estoc_gemm_with(a, b, out, accumulator, nullptr, arguments);
}

estoc_status estoc_gemm_with(const estoc_tensor* a, const estoc_tensor* b, const estoc_tensor* out,
                             const char* accumulator, const estoc_gemm_options* options,
                             estoc_arguments** arguments) {
  return guarded([&] {
    const estoc_gemm_options wanted = options_from(options);
    give(arguments, "arguments", [&] {
      return std::make_unique<estoc::GemmArguments>(
          view_of(a, "A"), view_of(b, "B"), view_of(out, "out"),
          dtype_of(accumulator, "accumulator"), controls_of(wanted.controls), epilogue_of(wanted));
    });
  });
}

estoc_status estoc_problem(const char* text, int device, estoc_arguments** arguments) {
  return guarded([&] {
    estoc::Problem problem = estoc::Problem::parse(&required(text, "text"));
    problem.complete();
    give(arguments, "arguments", [&] { return problem.arguments(device_of(device, "device")); });
  });
}

void estoc_arguments_free(estoc_arguments* arguments) {
  delete arguments;
}

estoc_status estoc_find(const estoc_arguments* arguments, const char* filter, const char* target,
                        size_t capacity, estoc_kernel** kernels, size_t* written) {
  return guarded([&] {
    const estoc::KernelQuery query = query_of(filter, target);
    std::size_t& count = required(written, "written");
    if (capacity > 0) (void)required(kernels, "kernels");
    const estoc::KernelList found =
        estoc::get_kernels(*required(arguments, "arguments").value, query);
    std::vector<std::unique_ptr<estoc_kernel>> made;
    for (std::size_t i = 0; i < std::min(capacity, found.size()); ++i)
      made.push_back(std::make_unique<estoc_kernel>(estoc_kernel{found[i]}));
    count = made.size();
    for (std::size_t i = 0; i < made.size(); ++i)
      kernels[i] = made[i].release();
  });
}

estoc_status estoc_find_first(const estoc_arguments* arguments, const char* filter,
                              const char* target, estoc_kernel** kernel) {
  return guarded([&] {
    const estoc::RuntimeArguments& value = *required(arguments, "arguments").value;
    give(kernel, "kernel",
         [&] { return estoc::get_kernels(value, query_of(filter, target)).front(); });
  });
}

estoc_status estoc_kernel_by_name(const char* name, estoc_kernel** kernel) {
  return guarded([&] {
    give(kernel, "kernel", [&] { return estoc::kernel_by_name(&required(name, "name")); });
  });
}

const char* estoc_kernel_name(const estoc_kernel* kernel) {
  if (kernel == nullptr) return "";
  return guarded_name([&]() -> const std::string& { return kernel->value.name(); });
}

void estoc_kernel_free(estoc_kernel* kernel) {
  delete kernel;
}

estoc_status estoc_kernel_supports(const estoc_kernel* kernel, const estoc_arguments* arguments,
                                   const char* target) {
  return guarded([&] {
    const estoc::RuntimeArguments& value = *required(arguments, "arguments").value;
    require_supported(required(kernel, "kernel").value, value, target_of(target));
  });
}

estoc_status estoc_compile(const estoc_kernel* kernel, const char* target,
                           estoc_artifact** artifact) {
  return guarded([&] {
    const auto wanted = target_of(&required(target, "target"));
    const estoc::Kernel& value = required(kernel, "kernel").value;
    give(artifact, "artifact", [&] { return value.compile(*wanted); });
  });
}

const char* estoc_artifact_kernel_name(const estoc_artifact* artifact) {
  if (artifact == nullptr) return "";
  return guarded_name([&]() -> const std::string& { return artifact->value.kernel().name(); });
}

void estoc_artifact_free(estoc_artifact* artifact) {
  delete artifact;
}

estoc_status estoc_save(const char* path, const estoc_artifact* const* artifacts, size_t count) {
  return guarded([&] {
    std::vector<estoc::Artifact> values;
    for (std::size_t i = 0; i < count; ++i) {
      const estoc_artifact* const* each = &required(artifacts, "artifacts") + i;
      values.push_back(required(*each, "artifacts").value);
    }
    estoc::save_bundle(&required(path, "path"), values);
  });
}

estoc_status estoc_bundle_open(const char* path, estoc_bundle** bundle) {
  return guarded([&] {
    give(bundle, "bundle", [&] { return estoc::Bundle::open(&required(path, "path")); });
  });
}

estoc_status estoc_bundle_find(const estoc_bundle* bundle, const estoc_arguments* arguments,
                               const char* target, estoc_artifact** artifact) {
  return guarded([&] {
    const estoc::RuntimeArguments& value = *required(arguments, "arguments").value;
    give(artifact, "artifact",
         [&] { return required(bundle, "bundle").value.find(value, target_of(target)); });
  });
}

void estoc_bundle_free(estoc_bundle* bundle) {
  delete bundle;
}

estoc_status estoc_workspace_size(const estoc_artifact* artifact, const estoc_arguments* arguments,
                                  size_t* bytes) {
  return guarded([&] {
    const estoc::Artifact& value = required(artifact, "artifact").value;
    const estoc::RuntimeArguments& given = *required(arguments, "arguments").value;
    std::size_t& place = required(bytes, "bytes");
    require_supported(value.kernel(), given, value.target());
    place = value.kernel().workspace_size(given);
  });
}

estoc_status estoc_run(const estoc_artifact* artifact, const estoc_arguments* arguments,
                       void* stream, void* workspace, size_t workspace_bytes) {
  const estoc_run_options options = options_of(stream, workspace, workspace_bytes);
  return estoc_run_with(artifact, arguments, &options);
}

estoc_status estoc_run_with(const estoc_artifact* artifact, const estoc_arguments* arguments,
                            const estoc_run_options* options) {
  return guarded([&] {
    const estoc::Artifact& value = required(artifact, "artifact").value;
    value.kernel().run(*required(arguments, "arguments").value, value,
                       run_options(options_from(options)));
  });
}

estoc_status estoc_bind(const estoc_artifact* artifact, const estoc_arguments* arguments,
                        void* stream, void* workspace, size_t workspace_bytes,
                        estoc_launch** launch) {
  const estoc_run_options options = options_of(stream, workspace, workspace_bytes);
  return estoc_bind_with(artifact, arguments, &options, launch);
}

estoc_status estoc_bind_with(const estoc_artifact* artifact, const estoc_arguments* arguments,
                             const estoc_run_options* options, estoc_launch** launch) {
  return guarded([&] {
    const estoc::Artifact& value = required(artifact, "artifact").value;
    give(launch, "launch", [&] {
      return value.kernel().bind(*required(arguments, "arguments").value, value,
                                 run_options(options_from(options)));
    });
  });
}

estoc_status estoc_launch_on(estoc_launch* launch, void* stream) {
  return guarded([&] { required(launch, "launch").value.launch(stream); });
}

void estoc_launch_free(estoc_launch* launch) {
  delete launch;
}
