// The C interface to running kernels.
#include "c_api/support.h"

namespace estoc::c_api {

RunOptions run_options(const estoc_run_options* options) {
  const estoc_run_options given = read_optional(options, "options");
  if (given.threads < 0) {
    throw Error(ErrorKind::value,
                "options.threads: expected 0 or more, got " + std::to_string(given.threads));
  }
  if (given.reserved != 0) {
    throw Error(ErrorKind::value,
                "options.reserved: expected 0, got " + std::to_string(given.reserved));
  }
  RunOptions run;
  run.stream = given.stream;
  run.workspace = {given.workspace, given.workspace_bytes};
  run.threads = given.threads;
  run.assume_supported_args = given.assume_supported != 0;
  run.programmatic = given.programmatic >= 0;
  return run;
}

namespace {

BoundLaunch bind(const Artifact& artifact, const RuntimeArguments& arguments,
                 const estoc_run_options* options) {
  BoundLaunch launch{artifact.kernel().bind(arguments, artifact, run_options(options)), {}};
  if (const auto* const gemm = dynamic_cast<const GemmArguments*>(&arguments))
    launch.product = *gemm;
  return launch;
}

bool as_aligned(const GemmArguments& moved, const GemmArguments& bound) {
  return moved.a_matrix().alignment >= bound.a_matrix().alignment &&
         moved.b_matrix().alignment >= bound.b_matrix().alignment &&
         moved.out_matrix().alignment >= bound.out_matrix().alignment;
}

void move(BoundLaunch& launch, void* a, void* b, void* out) {
  if (launch.product) {
    const GemmArguments moved = launch.product->moved(a, b, out);
    if (as_aligned(moved, *launch.product) && launch.bound.move_to(moved)) return;
  }
  throw Error(ErrorKind::unsupported,
              "launch: expected a product, a kernel that can move, and addresses as aligned as "
              "those it was bound to; bind anew");
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::guarded;
using c_api::value_of;

estoc_status estoc_kernel_run(const estoc_kernel* kernel, const estoc_arguments* arguments,
                              const estoc_run_options* options) {
  return guarded([&] {
    value_of(kernel, "kernel").run(arguments_of(arguments), c_api::run_options(options));
  });
}

estoc_status estoc_artifact_run(const estoc_artifact* artifact, const estoc_arguments* arguments,
                                const estoc_run_options* options) {
  return guarded([&] {
    const estoc::Artifact& value = value_of(artifact, "artifact");
    value.kernel().run(arguments_of(arguments), value, c_api::run_options(options));
  });
}

estoc_status estoc_artifact_bind(const estoc_artifact* artifact, const estoc_arguments* arguments,
                                 const estoc_run_options* options, estoc_launch** launch) {
  return guarded([&] {
    const estoc::Artifact& value = value_of(artifact, "artifact");
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    c_api::give(launch, "launch", [&] { return c_api::bind(value, given, options); });
  });
}

estoc_status estoc_launch_start(estoc_launch* launch, void* stream) {
  return guarded([&] { value_of(launch, "launch").bound.launch(stream); });
}

estoc_status estoc_launch_move(estoc_launch* launch, void* a, void* b, void* out) {
  return guarded([&] { c_api::move(value_of(launch, "launch"), a, b, out); });
}

void estoc_launch_destroy(estoc_launch* launch) {
  c_api::destroy(launch);
}
