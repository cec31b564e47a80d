// The C interface to compiled kernels: compiling one or many, and what that gives.
#include "c_api/support.h"
#include "estoc/compile_all.hpp"

namespace estoc::c_api {
namespace {

CompileOptions compile_options(const estoc_compile_options& given) {
  CompileOptions options;
  options.lineinfo = given.lineinfo != 0;
  options.use_caches = given.no_caches == 0;
  return options;
}

CompileAllOptions compile_all_options(const estoc_compile_options& given) {
  if (given.threads < 0) {
    throw Error(ErrorKind::value,
                "options.threads: expected 0 or more, got " + std::to_string(given.threads));
  }
  CompileAllOptions options;
  options.compile = compile_options(given);
  options.threads = given.threads;
  if (given.progress == nullptr) return options;
  options.progress = [progress = given.progress, context = given.context](std::size_t done,
                                                                          std::size_t total) {
    return progress(context, done, total) == 0;
  };
  return options;
}

Emission emission_of(int what) {
  if (what == ESTOC_EMIT_SOURCE) return Emission::source;
  if (what == ESTOC_EMIT_PTX) return Emission::ptx;
  throw Error(ErrorKind::value,
              "what: expected ESTOC_EMIT_SOURCE or ESTOC_EMIT_PTX, got " + std::to_string(what));
}

estoc_code code_of(const Artifact& artifact) {
  estoc_code filled{};
  const CompiledCode* const code = artifact.code();
  if (code == nullptr) return filled;
  filled.format = code->format.c_str();
  filled.compiler = code->compiler.c_str();
  filled.bytes = code->bytes.data();
  filled.byte_count = code->bytes.size();
  filled.log = code->log.c_str();
  filled.registers = code->resources.registers;
  filled.shared_bytes = code->resources.shared_bytes;
  filled.stack_bytes = code->resources.stack_bytes;
  filled.spill_store_bytes = code->resources.spill_store_bytes;
  filled.spill_load_bytes = code->resources.spill_load_bytes;
  filled.barriers = code->resources.barriers;
  return filled;
}

Artifact artifact_of(const CompileOutcome& outcome) {
  if (outcome.artifact) return *outcome.artifact;
  throw Error(outcome.kind.value_or(ErrorKind::compile), outcome.error);
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::give;
using c_api::guarded;
using c_api::value_of;

estoc_status estoc_kernel_compile(const estoc_kernel* kernel, const char* target,
                                  const estoc_compile_options* options, estoc_artifact** artifact) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    const estoc::Target wanted = c_api::required_target(target);
    const auto given = c_api::compile_options(c_api::read_optional(options, "options"));
    give(artifact, "artifact", [&] { return value.compile(wanted, given); });
  });
}

const char* estoc_artifact_kernel_name(const estoc_artifact* artifact) {
  return c_api::name_of(artifact, [](const auto& value) { return value.kernel().name().c_str(); });
}

estoc_status estoc_artifact_kernel(const estoc_artifact* artifact, estoc_kernel** kernel) {
  return guarded(
      [&] { give(kernel, "kernel", [&] { return value_of(artifact, "artifact").kernel(); }); });
}

const char* estoc_artifact_target(const estoc_artifact* artifact) {
  return c_api::name_of(artifact,
                        [](const auto& value) { return c_api::name_of_target(value.target()); });
}

void estoc_artifact_destroy(estoc_artifact* artifact) {
  c_api::destroy(artifact);
}

estoc_status estoc_artifact_code(const estoc_artifact* artifact, estoc_code* code) {
  return guarded(
      [&] { c_api::write_struct(code, c_api::code_of(value_of(artifact, "artifact")), "code"); });
}

estoc_status estoc_kernel_emit(const estoc_kernel* kernel, int what, const char* target,
                               const estoc_compile_options* options, char** text) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    const estoc::Emission emission = c_api::emission_of(what);
    const estoc::Target wanted = c_api::required_target(target);
    const auto given = c_api::compile_options(c_api::read_optional(options, "options"));
    c_api::give_text(text, "text", [&] { return value.emit(emission, wanted, given); });
  });
}

estoc_status estoc_compile_all(const estoc_kernel* const* kernels, size_t count, const char* target,
                               const estoc_compile_options* options, estoc_outcomes** outcomes) {
  return guarded([&] {
    const std::vector<estoc::Kernel> values = c_api::kernels_of(kernels, count);
    const estoc::Target wanted = c_api::required_target(target);
    const auto given = c_api::compile_all_options(c_api::read_optional(options, "options"));
    give(outcomes, "outcomes", [&] { return estoc::compile_all(values, wanted, given); });
  });
}

size_t estoc_outcomes_count(const estoc_outcomes* outcomes) {
  return c_api::count_of(outcomes);
}

estoc_status estoc_outcomes_get(const estoc_outcomes* outcomes, size_t index,
                                estoc_artifact** artifact) {
  return guarded([&] {
    const auto& outcome = c_api::element(value_of(outcomes, "outcomes"), index, "outcome");
    give(artifact, "artifact", [&] { return c_api::artifact_of(outcome); });
  });
}

void estoc_outcomes_destroy(estoc_outcomes* outcomes) {
  c_api::destroy(outcomes);
}
