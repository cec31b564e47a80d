/* The C interface misused: NULL everywhere, objects and structs that are none, tensors that cannot
 * be, and errors in many threads. */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "c_api_support.h"

#define REFUSED_VALUE(call, word) REFUSED(call, ESTOC_ERROR_VALUE, word)

static const int64_t kShape[] = {4, 4, 4, 4, 4, 4, 4};

/* Objects to hand to calls of which another argument is missing. */
typedef struct {
  estoc_arguments* arguments;
  estoc_kernel* kernel;
  estoc_kernels* kernels;
  estoc_artifact* artifact;
  estoc_bundle* bundle;
  estoc_launch* launch;
} objects;

static float a[16], b[16], out[16];

static estoc_tensor tensor(void* data) {
  return matrix(data, kShape);
}

/* estoc_arguments_gemm of three operands and nothing else. */
static estoc_status gemm_of(const estoc_tensor* ta, const estoc_tensor* tb,
                            const estoc_tensor* tout, estoc_arguments** arguments) {
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = ta, .b = tb, .out = tout};
  return estoc_arguments_gemm(&gemm, arguments);
}

static objects make_objects(const char* path) {
  objects made;
  memset(&made, 0, sizeof(made));
  const estoc_tensor ta = tensor(a), tb = tensor(b), tout = tensor(out);
  EXPECT_OK(gemm_of(&ta, &tb, &tout, &made.arguments));
  EXPECT_OK(estoc_kernels_find(made.arguments, NULL, &made.kernels));
  EXPECT_OK(estoc_kernels_get(made.kernels, 0, &made.kernel));
  EXPECT_OK(estoc_kernel_compile(made.kernel, "cpu", NULL, &made.artifact));
  const estoc_artifact* const saved[] = {made.artifact};
  EXPECT_OK(estoc_bundle_save(path, saved, 1, NULL, 0));
  EXPECT_OK(estoc_bundle_open(path, &made.bundle));
  EXPECT_OK(estoc_artifact_bind(made.artifact, made.arguments, NULL, &made.launch));
  return made;
}

static void destroy_objects(const objects* made) {
  estoc_launch_destroy(made->launch);
  estoc_bundle_destroy(made->bundle);
  estoc_artifact_destroy(made->artifact);
  estoc_kernel_destroy(made->kernel);
  estoc_kernels_destroy(made->kernels);
  estoc_arguments_destroy(made->arguments);
}

static void test_null_arguments(const objects* o) {
  const estoc_tensor t = tensor(a);
  estoc_arguments* arguments = NULL;
  estoc_work work = {.struct_size = sizeof(work)};
  char* text = NULL;
  double value = 7;
  int bits = 7;
  REFUSED_VALUE(estoc_arguments_gemm(NULL, &arguments), "gemm");
  REFUSED_VALUE(gemm_of(NULL, &t, &t, &arguments), "A");
  REFUSED_VALUE(gemm_of(&t, NULL, &t, &arguments), "B");
  REFUSED_VALUE(gemm_of(&t, &t, NULL, &arguments), "out");
  REFUSED_VALUE(gemm_of(&t, &t, &t, NULL), "arguments");
  REFUSED_VALUE(estoc_arguments_elementwise(NULL, &arguments), "elementwise");
  REFUSED_VALUE(estoc_arguments_grouped_gemm(NULL, &arguments), "grouped_gemm");
  REFUSED_VALUE(estoc_arguments_parse(NULL, -1, &arguments), "text");
  REFUSED_VALUE(estoc_arguments_parse("gemm m=4 n=4 k=4 a=f32", -1, NULL), "arguments");
  REFUSED_VALUE(estoc_arguments_parse("gemm m=4 n=4 k=4 a=f32", -2, &arguments), "device");
  REFUSED_VALUE(estoc_arguments_text(NULL, &text), "arguments");
  REFUSED_VALUE(estoc_arguments_text(o->arguments, NULL), "text");
  REFUSED_VALUE(estoc_arguments_epilogue(NULL, &text), "arguments");
  REFUSED_VALUE(estoc_arguments_epilogue(o->arguments, NULL), "canonical");
  REFUSED_VALUE(estoc_arguments_work(NULL, &work), "arguments");
  REFUSED_VALUE(estoc_arguments_work(o->arguments, NULL), "work");
  REFUSED_VALUE(estoc_arguments_move(NULL, a, b, out, &arguments), "arguments");
  REFUSED_VALUE(estoc_arguments_move(o->arguments, a, b, out, NULL), "moved");
  REFUSED_VALUE(estoc_arguments_move(o->arguments, NULL, b, out, &arguments), "A");
  REFUSED_VALUE(estoc_epilogue_names(NULL, NULL, NULL), "epilogue");
  REFUSED_VALUE(estoc_dtype_bits(NULL, &bits), "dtype");
  REFUSED_VALUE(estoc_dtype_bits("f32", NULL), "bits");
  REFUSED_VALUE(estoc_load_element("f32", NULL, 0, &value), "data");
  REFUSED_VALUE(estoc_load_element("f32", a, 0, NULL), "value");
  REFUSED_VALUE(estoc_load_element("f32", a, -1, &value), "index");
  REFUSED_VALUE(estoc_store_element(NULL, a, 0, 1), "dtype");
  REFUSED_VALUE(estoc_store_element("f32", NULL, 0, 1), "data");
  REFUSED_VALUE(estoc_fill_random(NULL, 1), "tensor");
  EXPECT(!arguments && !text && bits == 7 && value == 7);
}

static void test_null_files(const char* path) {
  const estoc_tensor t = tensor(a);
  estoc_tensor filled = {.struct_size = sizeof(filled)};
  estoc_tensor_file* file = NULL;
  estoc_strings* names = NULL;
  REFUSED_VALUE(estoc_tensor_file_open(NULL, &file), "path");
  REFUSED_VALUE(estoc_tensor_file_open(path, NULL), "file");
  REFUSED_VALUE(estoc_tensor_file_get(NULL, &filled), "file");
  REFUSED_VALUE(estoc_tensor_file_names(NULL, &names), "path");
  REFUSED_VALUE(estoc_tensor_file_names(path, NULL), "names");
  REFUSED_VALUE(estoc_tensor_save(NULL, &t), "path");
  REFUSED_VALUE(estoc_tensor_save("x.npy", NULL), "tensor");
  REFUSED_VALUE(estoc_tensor_check_save(NULL, "f32"), "path");
  REFUSED_VALUE(estoc_tensor_check_save("x.npy", NULL), "dtype");
  REFUSED_VALUE(estoc_dtypes(NULL), "names");
  REFUSED_VALUE(estoc_targets(NULL), "names");
  REFUSED_VALUE(estoc_providers(NULL), "names");
  EXPECT(!file && !names);
  EXPECT(estoc_strings_count(NULL) == 0 && estoc_strings_get(NULL, 0) == NULL);
}

static void test_null_kernels(const objects* o) {
  estoc_kernel* kernel = NULL;
  estoc_kernels* kernels = NULL;
  estoc_prediction* prediction = NULL;
  estoc_explanations* explanations = NULL;
  estoc_strings* names = NULL;
  estoc_knobs knobs = {.struct_size = sizeof(knobs), .swizzle = 1, .split = 1};
  estoc_kernel_info info = {.struct_size = sizeof(info)};
  estoc_kernel_operand operand = {.struct_size = sizeof(operand)};
  char* text = NULL;
  uint64_t n = 77;
  size_t bytes = 77;
  REFUSED_VALUE(estoc_kernel_find(NULL, NULL, &kernel), "arguments");
  REFUSED_VALUE(estoc_kernel_find(o->arguments, NULL, NULL), "kernel");
  REFUSED_VALUE(estoc_kernel_by_name(NULL, &kernel), "name");
  REFUSED_VALUE(estoc_kernel_by_name(estoc_kernel_name(o->kernel), NULL), "kernel");
  REFUSED_VALUE(estoc_kernel_supports(NULL, o->arguments, NULL, NULL), "kernel");
  REFUSED_VALUE(estoc_kernel_supports(o->kernel, NULL, NULL, NULL), "arguments");
  REFUSED_VALUE(estoc_kernels_find(NULL, NULL, &kernels), "arguments");
  REFUSED_VALUE(estoc_kernels_find(o->arguments, NULL, NULL), "kernels");
  REFUSED_VALUE(estoc_kernels_enumerate(NULL, NULL), "kernels");
  REFUSED_VALUE(estoc_kernels_count(NULL, &n), "kernels");
  REFUSED_VALUE(estoc_kernels_count(o->kernels, NULL), "count");
  REFUSED_VALUE(estoc_kernels_get(NULL, 0, &kernel), "kernels");
  REFUSED_VALUE(estoc_kernels_get(o->kernels, 0, NULL), "kernel");
  REFUSED_VALUE(estoc_kernels_why_empty(NULL, &text), "kernels");
  REFUSED_VALUE(estoc_kernels_why_empty(o->kernels, NULL), "text");
  REFUSED_VALUE(estoc_kernels_failures(NULL, &names), "kernels");
  REFUSED_VALUE(estoc_kernels_failures(o->kernels, NULL), "failures");
  REFUSED_VALUE(estoc_kernel_get_info(NULL, &info), "kernel");
  REFUSED_VALUE(estoc_kernel_get_info(o->kernel, NULL), "info");
  REFUSED_VALUE(estoc_kernel_get_operand(NULL, 0, &operand), "kernel");
  REFUSED_VALUE(estoc_kernel_get_operand(o->kernel, 0, NULL), "operand");
  REFUSED_VALUE(estoc_kernel_get_operand(o->kernel, SIZE_MAX, &operand), "operand");
  REFUSED_VALUE(estoc_kernel_targets(NULL, &names), "kernel");
  REFUSED_VALUE(estoc_kernel_targets(o->kernel, NULL), "targets");
  REFUSED_VALUE(estoc_kernel_get_knobs(NULL, &knobs), "kernel");
  REFUSED_VALUE(estoc_kernel_get_knobs(o->kernel, NULL), "knobs");
  REFUSED_VALUE(estoc_kernel_with_knobs(NULL, &knobs, &kernel), "kernel");
  REFUSED_VALUE(estoc_kernel_with_knobs(o->kernel, NULL, &kernel), "knobs");
  REFUSED_VALUE(estoc_kernel_with_knobs(o->kernel, &knobs, NULL), "other");
  REFUSED_VALUE(estoc_kernel_with_epilogue(NULL, NULL, &kernel), "kernel");
  REFUSED_VALUE(estoc_kernel_with_epilogue(o->kernel, NULL, NULL), "other");
  EXPECT(estoc_kernel_equal(NULL, o->kernel) == 0 && estoc_kernel_equal(NULL, NULL) == 0);
  REFUSED_VALUE(estoc_kernel_workspace_size(NULL, o->arguments, &bytes), "kernel");
  REFUSED_VALUE(estoc_kernel_workspace_size(o->kernel, NULL, &bytes), "arguments");
  REFUSED_VALUE(estoc_kernel_workspace_size(o->kernel, o->arguments, NULL), "bytes");
  REFUSED_VALUE(estoc_kernel_workspace_bound(NULL, o->arguments, &bytes), "kernel");
  REFUSED_VALUE(estoc_kernel_workspace_bound(o->kernel, NULL, &bytes), "largest");
  REFUSED_VALUE(estoc_kernel_predict(NULL, o->arguments, NULL, &prediction), "kernel");
  REFUSED_VALUE(estoc_kernel_predict(o->kernel, NULL, NULL, &prediction), "arguments");
  REFUSED_VALUE(estoc_kernel_predict(o->kernel, o->arguments, NULL, NULL), "prediction");
  REFUSED_VALUE(estoc_prediction_get(NULL, 0, NULL), "prediction");
  REFUSED_VALUE(estoc_explain(NULL, NULL, &explanations), "arguments");
  REFUSED_VALUE(estoc_explain(o->arguments, NULL, NULL), "explanations");
  REFUSED_VALUE(estoc_explanations_get(NULL, 0, NULL), "explanations");
  EXPECT(estoc_prediction_count(NULL) == 0 && estoc_explanations_count(NULL) == 0);
  EXPECT(!kernel && !kernels && !prediction && !explanations && !names && !text);
  EXPECT(n == 77 && bytes == 77);
}

static void test_null_artifacts(const objects* o, const char* path) {
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  estoc_outcomes* outcomes = NULL;
  estoc_bundle* bundle = NULL;
  estoc_dispatch* dispatch = NULL;
  estoc_code code = {.struct_size = sizeof(code)};
  estoc_dispatch_rule rule = {.struct_size = sizeof(rule)};
  const estoc_kernel* const no_kernel[] = {NULL};
  const estoc_artifact* const no_artifact[] = {NULL};
  char* text = NULL;
  REFUSED_VALUE(estoc_kernel_compile(NULL, "cpu", NULL, &artifact), "kernel");
  REFUSED_VALUE(estoc_kernel_compile(o->kernel, NULL, NULL, &artifact), "target");
  REFUSED_VALUE(estoc_kernel_compile(o->kernel, "cpu", NULL, NULL), "artifact");
  REFUSED_VALUE(estoc_artifact_kernel(NULL, &kernel), "artifact");
  REFUSED_VALUE(estoc_artifact_kernel(o->artifact, NULL), "kernel");
  REFUSED_VALUE(estoc_artifact_code(NULL, &code), "artifact");
  REFUSED_VALUE(estoc_artifact_code(o->artifact, NULL), "code");
  REFUSED_VALUE(estoc_kernel_emit(NULL, ESTOC_EMIT_PTX, "cpu", NULL, &text), "kernel");
  REFUSED_VALUE(estoc_kernel_emit(o->kernel, ESTOC_EMIT_PTX, NULL, NULL, &text), "target");
  REFUSED_VALUE(estoc_kernel_emit(o->kernel, ESTOC_EMIT_PTX, "cpu", NULL, NULL), "text");
  REFUSED_VALUE(estoc_compile_all(NULL, 1, "cpu", NULL, &outcomes), "kernels");
  REFUSED_VALUE(estoc_compile_all(no_kernel, 1, "cpu", NULL, &outcomes), "kernels");
  REFUSED_VALUE(estoc_compile_all(NULL, 0, NULL, NULL, &outcomes), "target");
  REFUSED_VALUE(estoc_compile_all(NULL, 0, "cpu", NULL, NULL), "outcomes");
  REFUSED_VALUE(estoc_outcomes_get(NULL, 0, &artifact), "outcomes");
  REFUSED_VALUE(estoc_bundle_save(NULL, no_artifact, 0, NULL, 0), "path");
  REFUSED_VALUE(estoc_bundle_save(path, NULL, 1, NULL, 0), "artifacts");
  REFUSED_VALUE(estoc_bundle_save(path, no_artifact, 1, NULL, 0), "artifacts");
  REFUSED_VALUE(estoc_bundle_save(path, NULL, 0, NULL, 1), "rules");
  REFUSED_VALUE(estoc_bundle_save(path, NULL, 0, &rule, 1), "rules[0].problem");
  REFUSED_VALUE(estoc_bundle_open(NULL, &bundle), "path");
  REFUSED_VALUE(estoc_bundle_open(path, NULL), "bundle");
  REFUSED_VALUE(estoc_bundle_artifact(NULL, 0, &artifact), "bundle");
  REFUSED_VALUE(estoc_bundle_artifact(o->bundle, 0, NULL), "artifact");
  REFUSED_VALUE(estoc_bundle_artifact(o->bundle, SIZE_MAX, &artifact), "artifact");
  REFUSED_VALUE(estoc_bundle_rule(NULL, 0, &rule), "bundle");
  REFUSED_VALUE(estoc_bundle_rule(o->bundle, 0, &rule), "rule");
  REFUSED_VALUE(estoc_bundle_find(NULL, o->arguments, NULL, &artifact), "bundle");
  REFUSED_VALUE(estoc_bundle_find(o->bundle, NULL, NULL, &artifact), "arguments");
  REFUSED_VALUE(estoc_bundle_find(o->bundle, o->arguments, NULL, NULL), "artifact");
  REFUSED_VALUE(estoc_bundle_dispatch(NULL, o->arguments, NULL, &dispatch), "bundle");
  REFUSED_VALUE(estoc_bundle_dispatch(o->bundle, NULL, NULL, &dispatch), "arguments");
  REFUSED_VALUE(estoc_bundle_dispatch(o->bundle, o->arguments, NULL, NULL), "dispatch");
  EXPECT(estoc_dispatch_select(NULL, 1) == NULL && estoc_outcomes_count(NULL) == 0);
  EXPECT(estoc_bundle_artifact_count(NULL) == 0 && estoc_bundle_rule_count(NULL) == 0);
  EXPECT(!kernel && !artifact && !outcomes && !bundle && !dispatch && !text);
}

static void test_null_runs(const objects* o) {
  estoc_launch* launch = NULL;
  REFUSED_VALUE(estoc_kernel_run(NULL, o->arguments, NULL), "kernel");
  REFUSED_VALUE(estoc_kernel_run(o->kernel, NULL, NULL), "arguments");
  REFUSED_VALUE(estoc_artifact_run(NULL, o->arguments, NULL), "artifact");
  REFUSED_VALUE(estoc_artifact_run(o->artifact, NULL, NULL), "arguments");
  REFUSED_VALUE(estoc_artifact_bind(NULL, o->arguments, NULL, &launch), "artifact");
  REFUSED_VALUE(estoc_artifact_bind(o->artifact, NULL, NULL, &launch), "arguments");
  REFUSED_VALUE(estoc_artifact_bind(o->artifact, o->arguments, NULL, NULL), "launch");
  REFUSED_VALUE(estoc_launch_start(NULL, NULL), "launch");
  REFUSED_VALUE(estoc_launch_move(NULL, a, b, out), "launch");
  EXPECT(launch == NULL);
}

static void test_destroy_null(void) {
  EXPECT(strcmp(estoc_kernel_name(NULL), "") == 0);
  EXPECT(strcmp(estoc_artifact_kernel_name(NULL), "") == 0);
  EXPECT(strcmp(estoc_artifact_target(NULL), "") == 0);
  estoc_string_destroy(NULL);
  estoc_strings_destroy(NULL);
  estoc_tensor_file_destroy(NULL);
  estoc_arguments_destroy(NULL);
  estoc_kernel_destroy(NULL);
  estoc_kernels_destroy(NULL);
  estoc_prediction_destroy(NULL);
  estoc_explanations_destroy(NULL);
  estoc_artifact_destroy(NULL);
  estoc_outcomes_destroy(NULL);
  estoc_bundle_destroy(NULL);
  estoc_dispatch_destroy(NULL);
  estoc_launch_destroy(NULL);
}

/* An object of another kind, as a language without types may pass it, and one that was destroyed.
 */
static void test_other_objects(const objects* o) {
  estoc_kernel* kernel = NULL;
  const estoc_kernel* const artifact_as_kernel = (const estoc_kernel*)(const void*)o->artifact;
  REFUSED(estoc_artifact_run((const estoc_artifact*)(const void*)o->kernel, o->arguments, NULL),
          ESTOC_ERROR_TYPE, "artifact");
  REFUSED(estoc_kernel_run(artifact_as_kernel, o->arguments, NULL), ESTOC_ERROR_TYPE, "kernel");
  REFUSED(estoc_kernel_find((const estoc_arguments*)(const void*)o->bundle, NULL, &kernel),
          ESTOC_ERROR_TYPE, "arguments");
  EXPECT(strcmp(estoc_kernel_name(artifact_as_kernel), "") == 0);
  estoc_kernel_destroy((estoc_kernel*)(void*)o->artifact); /* leaves it */
  EXPECT_OK(estoc_artifact_run(o->artifact, o->arguments, NULL));
#ifndef ESTOC_SANITIZED /* which ends a program that reads destroyed objects */
  estoc_arguments* arguments = problem("gemm m=4 n=4 k=4 a=f32");
  estoc_arguments_destroy(arguments);
  REFUSED(estoc_kernel_find(arguments, NULL, &kernel), ESTOC_ERROR_TYPE, "destroyed");
  estoc_arguments_destroy(arguments);
#endif
  EXPECT(kernel == NULL);
}

static void test_tensors(void) {
  const estoc_tensor good = tensor(a), fine = tensor(out);
  const int64_t huge[] = {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
  const int64_t negative[] = {-4, 4}, least[] = {INT64_MIN, 4};
  estoc_arguments* none = NULL;
  estoc_tensor bad = good;
  bad.rank = 7;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.rank");
  bad.rank = -1;
  REFUSED_VALUE(gemm_of(&good, &bad, &fine, &none), "B.rank");
  bad.rank = 6;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A");
  bad.rank = 0;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A");
  bad = good;
  bad.shape = NULL;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.shape");
  bad.shape = huge;
  bad.rank = 3;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.shape");
  bad.rank = 2;
  bad.shape = negative;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A");
  bad.shape = least;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.shape");
  bad.strides = least;
  REFUSED_VALUE(gemm_of(&good, &bad, &fine, &none), "B");
  bad = good;
  bad.device = -2;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.device");
  bad.device = 100000;
  EXPECT(gemm_of(&bad, &good, &fine, &none) != ESTOC_OK); /* two devices */
  bad = good;
  bad.dtype = NULL;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.dtype");
  bad.dtype = "f31";
  REFUSED(gemm_of(&good, &bad, &fine, &none), ESTOC_ERROR_TYPE, "B.dtype");
  bad = good;
  bad.struct_size = 0;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.struct_size");
  const int64_t backwards[] = {-4, 1}, odd[] = {4, 1};
  bad = good;
  bad.strides = backwards;
  REFUSED_VALUE(gemm_of(&bad, &good, &fine, &none), "A.strides");
  REFUSED_VALUE(gemm_of(&good, &bad, &fine, &none), "B.strides");
  REFUSED_VALUE(gemm_of(&good, &good, &bad, &none), "out.strides");
  bad.data = NULL;
  REFUSED_VALUE(gemm_of(&good, &bad, &fine, &none), "B.strides");
  bad = good;
  bad.strides = odd;
  bad.data = (char*)bad.data + 1;
  REFUSED_VALUE(gemm_of(&good, &bad, &fine, &none), "B");
  bad = fine;
  const estoc_scale scale = {.struct_size = sizeof(scale), .tensor = &good, .mode = "tensorwise"};
  bad.scale = &scale;
  REFUSED_VALUE(gemm_of(&good, &good, &bad, &none), "out.scale");
  bad = good;
  bad.data = NULL;
  REFUSED_VALUE(estoc_fill_random(&bad, 1), "tensor.data");
  EXPECT(none == NULL);
}

/* What estoc_arguments_gemm refuses of `gemm`, and the word that says why. */
static void refused_gemm(estoc_gemm gemm, const char* word) {
  const estoc_tensor t = tensor(a), fine = tensor(out);
  estoc_arguments* none = NULL;
  gemm.a = gemm.b = &t;
  gemm.out = &fine;
  REFUSED_VALUE(estoc_arguments_gemm(&gemm, &none), word);
  EXPECT(none == NULL);
}

static void test_gemm(void) {
  const estoc_gemm none = {.struct_size = sizeof(none)};
  const estoc_tensor bias = tensor(b);
  estoc_operand operands[2] = {{.struct_size = sizeof(estoc_operand), .tensor = &bias},
                               {.struct_size = sizeof(estoc_operand), .name = "alpha"}};
  estoc_controls controls = {.struct_size = sizeof(controls)};
  estoc_gemm bad = none;
  bad.struct_size = 0;
  refused_gemm(bad, "gemm.struct_size");
  bad.struct_size = offsetof(estoc_gemm, epilogue) + 1; /* half a pointer */
  refused_gemm(bad, "gemm.struct_size");
  bad = none;
  bad.epilogue = "D = nonsense(accum)";
  refused_gemm(bad, "nonsense");
  bad.epilogue = "D = alpha * accum + bias";
  refused_gemm(bad, "alpha");
  bad.operand_count = 2;
  refused_gemm(bad, "gemm.operands");
  bad.operands = operands;
  refused_gemm(bad, "gemm.operands[0].name");
  operands[0].name = "bios";
  refused_gemm(bad, "bios");
  operands[0].name = "bias";
  operands[1].struct_size = sizeof(size_t);
  refused_gemm(bad, "gemm.operands[1].struct_size");
  operands[1].struct_size = sizeof(estoc_operand);
  bad.epilogue = NULL;
  refused_gemm(bad, "gemm.epilogue");
  bad = none;
  bad.controls = &controls;
  controls.limit_workspace = 1;
  controls.workspace_limit = -1;
  refused_gemm(bad, "controls.workspace_limit");
  controls.struct_size = 1;
  refused_gemm(bad, "controls.struct_size");
}

static void test_dtype_of_a_number(void) {
  const estoc_tensor t = tensor(a), fine = tensor(out);
  const estoc_operand alpha = {
      .struct_size = sizeof(alpha), .name = "alpha", .number = 1, .dtype = "f31"};
  estoc_gemm gemm = {.struct_size = sizeof(gemm),
                     .a = &t,
                     .b = &t,
                     .out = &fine,
                     .epilogue = "D = alpha * accum",
                     .operands = &alpha,
                     .operand_count = 1};
  estoc_arguments* none = NULL;
  REFUSED(estoc_arguments_gemm(&gemm, &none), ESTOC_ERROR_TYPE, "alpha.dtype");
  gemm.accumulator = "f31";
  REFUSED(estoc_arguments_gemm(&gemm, &none), ESTOC_ERROR_TYPE, "accumulator");
  EXPECT(none == NULL);
}

/* Structs of a newer header: what this library does not know must be 0. */
static void test_newer_program(const objects* o) {
  struct {
    estoc_run_options known;
    int64_t later[4];
  } options;
  struct {
    estoc_kernel_info known;
    int64_t later[4];
  } info;
  memset(&options, 0, sizeof(options));
  options.known.struct_size = sizeof(options);
  EXPECT_OK(estoc_artifact_run(o->artifact, o->arguments, &options.known));
  options.later[3] = 1;
  REFUSED(estoc_artifact_run(o->artifact, o->arguments, &options.known), ESTOC_ERROR_UNSUPPORTED,
          "options.struct_size");
  options.known.struct_size = sizeof(options.known);
  options.known.reserved = 1;
  REFUSED_VALUE(estoc_artifact_run(o->artifact, o->arguments, &options.known), "reserved");
  options.known.reserved = 0;
  options.known.threads = -1;
  REFUSED_VALUE(estoc_artifact_run(o->artifact, o->arguments, &options.known), "threads");
  memset(&info, 0xff, sizeof(info));
  info.known.struct_size = sizeof(info);
  EXPECT_OK(estoc_kernel_get_info(o->kernel, &info.known));
  EXPECT(info.known.struct_size == sizeof(info) && info.later[0] == 0 && info.later[3] == 0);
  info.known.struct_size = 3;
  REFUSED_VALUE(estoc_kernel_get_info(o->kernel, &info.known), "info.struct_size");
}

/* Every call that takes a kernel and arguments, with arguments of another operation. */
static void test_other_operation(const objects* o) {
  estoc_arguments* other = problem("elementwise op=relu shape=4 a=f32");
  estoc_launch* launch = NULL;
  estoc_prediction* prediction = NULL;
  estoc_reason reason = ESTOC_REASON_NONE;
  size_t n = 77;
  REFUSED(estoc_kernel_supports(o->kernel, other, NULL, &reason), ESTOC_ERROR_UNSUPPORTED, "");
  EXPECT(reason == ESTOC_REASON_OPERATION);
  REFUSED(estoc_kernel_workspace_size(o->kernel, other, &n), ESTOC_ERROR_UNSUPPORTED, "");
  REFUSED(estoc_kernel_workspace_bound(o->kernel, other, &n), ESTOC_ERROR_UNSUPPORTED, "");
  REFUSED(estoc_kernel_run(o->kernel, other, NULL), ESTOC_ERROR_UNSUPPORTED, "");
  REFUSED(estoc_artifact_run(o->artifact, other, NULL), ESTOC_ERROR_UNSUPPORTED, "");
  REFUSED(estoc_artifact_bind(o->artifact, other, NULL, &launch), ESTOC_ERROR_UNSUPPORTED, "");
  EXPECT_OK(estoc_kernel_predict(o->kernel, other, NULL, &prediction));
  EXPECT(estoc_prediction_count(prediction) == 0 && launch == NULL && n == 77);
  estoc_prediction_destroy(prediction);
  estoc_arguments_destroy(other);
}

static void test_described(void) {
  estoc_arguments* arguments = problem("gemm m=4 n=4 k=4 a=f32");
  estoc_query query = {.struct_size = sizeof(query), .filter = "class=nope*"};
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  REFUSED(estoc_kernel_find(arguments, &query, &kernel), ESTOC_ERROR_UNSUPPORTED,
          "filter: expected a kernel that passes");
  query.filter = "clas=x";
  REFUSED_VALUE(estoc_kernel_find(arguments, &query, &kernel), "clas");
  query.filter = NULL;
  query.target = "sm_1";
  REFUSED_VALUE(estoc_kernel_find(arguments, &query, &kernel), "sm_1");
  query.target = NULL;
  query.provider_count = 1;
  REFUSED_VALUE(estoc_kernel_find(arguments, &query, &kernel), "query.providers");
  EXPECT(kernel == NULL);
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  REFUSED_VALUE(estoc_kernel_compile(kernel, "sm_1", NULL, &artifact), "sm_1");
  REFUSED(estoc_kernel_compile(kernel, "sm_80", NULL, &artifact), ESTOC_ERROR_UNSUPPORTED, "sm_80");
  EXPECT(artifact == NULL);
  EXPECT_OK(estoc_kernel_compile(kernel, "cpu", NULL, &artifact));
  EXPECT(estoc_artifact_run(artifact, arguments, NULL) != ESTOC_OK);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

/* Each thread must see its own error, whatever the others do. */
static void* fail_in_a_thread(void* number) {
  char name[32];
  estoc_kernel* kernel = NULL;
  intptr_t wrong = strcmp(estoc_last_error(), "") != 0;
  snprintf(name, sizeof(name), "nope_%d", *(const int*)number);
  for (int i = 0; i < 300; ++i) {
    wrong += estoc_kernel_by_name(name, &kernel) != ESTOC_ERROR_NOT_FOUND;
    wrong += strstr(estoc_last_error(), name) == NULL;
  }
  return (void*)wrong;
}

static void test_threads(void) {
  enum { kThreads = 8 };
  pthread_t threads[kThreads];
  int numbers[kThreads];
  estoc_kernel* kernel = NULL;
  REFUSED(estoc_kernel_by_name("mine", &kernel), ESTOC_ERROR_NOT_FOUND, "mine");
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = 1000 + i;
    if (pthread_create(&threads[i], NULL, fail_in_a_thread, &numbers[i]) != 0) abort();
  }
  for (int i = 0; i < kThreads; ++i) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL);
  }
  EXPECT(strstr(estoc_last_error(), "mine") != NULL); /* this thread's error is still there */
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "c_api_misuse.estoc";
  EXPECT(strcmp(estoc_last_error(), "") == 0);
  EXPECT(strcmp(estoc_last_compile_log(), "") == 0 && strcmp(estoc_last_compile_source(), "") == 0);
  const objects made = make_objects(path);
  test_null_arguments(&made);
  test_null_files(path);
  test_null_kernels(&made);
  test_null_artifacts(&made, path);
  test_null_runs(&made);
  test_destroy_null();
  test_other_objects(&made);
  test_tensors();
  test_gemm();
  test_dtype_of_a_number();
  test_newer_program(&made);
  test_other_operation(&made);
  test_described();
  test_threads();
  destroy_objects(&made);
  remove(path);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
