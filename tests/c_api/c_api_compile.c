/* The C interface used from C: compiling one kernel or many, and files of compiled kernels. */
#include "c_api_support.h"

static estoc_kernel* kernel_for(const estoc_arguments* arguments) {
  estoc_kernel* kernel = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  return kernel;
}

static int count_calls(void* context, size_t done, size_t total) {
  size_t* const calls = (size_t*)context;
  EXPECT(done == ++*calls && done <= total && total == 3);
  return 0;
}

static int cancel(void* context, size_t done, size_t total) {
  (void)context;
  (void)done;
  (void)total;
  return 1;
}

static void test_compile_all(void) {
  estoc_arguments* arguments = problem("gemm m=4 n=4 k=4 a=f32");
  const estoc_query elsewhere = {
      .struct_size = sizeof(elsewhere), .filter = "class=simt_gemm", .target = "sm_80"};
  estoc_kernel *kernel = kernel_for(arguments), *other = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, &elsewhere, &other));
  const estoc_kernel* const kernels[] = {kernel, other, kernel};
  size_t calls = 0;
  estoc_compile_options options = {
      .struct_size = sizeof(options), .threads = 2, .progress = count_calls, .context = &calls};
  estoc_outcomes* outcomes = NULL;
  estoc_artifact* artifact = NULL;
  EXPECT_OK(estoc_compile_all(kernels, 3, "cpu", &options, &outcomes));
  EXPECT(calls == 3 && estoc_outcomes_count(outcomes) == 3);
  EXPECT_OK(estoc_outcomes_get(outcomes, 2, &artifact));
  EXPECT(strcmp(estoc_artifact_kernel_name(artifact), estoc_kernel_name(kernel)) == 0);
  estoc_artifact_destroy(artifact);
  artifact = NULL;
  REFUSED(estoc_outcomes_get(outcomes, 1, &artifact), ESTOC_ERROR_UNSUPPORTED, "cpu");
  REFUSED(estoc_outcomes_get(outcomes, 3, &artifact), ESTOC_ERROR_VALUE, "outcome");
  EXPECT(artifact == NULL);
  estoc_outcomes_destroy(outcomes);
  outcomes = NULL;
  options.progress = cancel;
  REFUSED(estoc_compile_all(kernels, 3, "cpu", &options, &outcomes), ESTOC_ERROR_CANCELLED, "");
  options.threads = -1;
  REFUSED(estoc_compile_all(kernels, 3, "cpu", &options, &outcomes), ESTOC_ERROR_VALUE, "threads");
  EXPECT(outcomes == NULL);
  estoc_kernel_destroy(other);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

static void test_texts(void) {
  estoc_arguments* arguments = problem("gemm m=4 n=4 k=4 a=f32");
  const estoc_query query = {
      .struct_size = sizeof(query), .filter = "class=simt_gemm", .target = "sm_80"};
  estoc_kernel *kernel = NULL, *host = kernel_for(arguments);
  estoc_artifact* artifact = NULL;
  estoc_code code = {.struct_size = sizeof(code), .format = "untouched"};
  char* text = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, &query, &kernel));
  EXPECT_OK(estoc_kernel_emit(kernel, ESTOC_EMIT_SOURCE, "sm_80", NULL, &text));
  EXPECT(strstr(text, "__global__") != NULL || strstr(text, "estoc") != NULL);
  estoc_string_destroy(text);
  text = NULL;
  REFUSED(estoc_kernel_emit(kernel, ESTOC_EMIT_SOURCE, "cpu", NULL, &text), ESTOC_ERROR_UNSUPPORTED,
          "cpu");
  REFUSED(estoc_kernel_emit(kernel, 7, "sm_80", NULL, &text), ESTOC_ERROR_VALUE, "what");
  REFUSED(estoc_kernel_emit(host, ESTOC_EMIT_PTX, "cpu", NULL, &text), ESTOC_ERROR_UNSUPPORTED, "");
  EXPECT(text == NULL);
  EXPECT_OK(estoc_kernel_compile(host, "cpu", NULL, &artifact));
  EXPECT_OK(estoc_artifact_code(artifact, &code));
  EXPECT(code.format == NULL && code.byte_count == 0); /* the host compiles nothing */
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_kernel_destroy(host);
  estoc_arguments_destroy(arguments);
}

static estoc_artifact* compiled(const char* text) {
  estoc_arguments* arguments = problem(text);
  estoc_kernel* kernel = kernel_for(arguments);
  estoc_artifact* artifact = NULL;
  EXPECT_OK(estoc_kernel_compile(kernel, "cpu", NULL, &artifact));
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
  return artifact;
}

static void test_dispatch(const estoc_bundle* bundle, const estoc_artifact* const* saved) {
  estoc_arguments* arguments = problem("gemm m=1 n=8 k=8 a=f32");
  estoc_dispatch* dispatch = NULL;
  estoc_artifact* found = NULL;
  EXPECT_OK(estoc_bundle_find(bundle, arguments, NULL, &found));
  /* The first rule's artifact is for f64, which a dispatch does not look at. */
  EXPECT(strcmp(estoc_artifact_kernel_name(found), estoc_artifact_kernel_name(saved[0])) == 0);
  EXPECT_OK(estoc_bundle_dispatch(bundle, arguments, "cpu", &dispatch));
  const estoc_artifact* const few = estoc_dispatch_select(dispatch, 4);
  const estoc_artifact* const many = estoc_dispatch_select(dispatch, 5);
  EXPECT(strcmp(estoc_artifact_kernel_name(few), estoc_artifact_kernel_name(saved[1])) == 0);
  EXPECT(strcmp(estoc_artifact_kernel_name(many), estoc_artifact_kernel_name(saved[0])) == 0);
  EXPECT(estoc_dispatch_select(dispatch, 0) == NULL);
  EXPECT(estoc_dispatch_select(dispatch, INT64_MAX) == many);
  estoc_dispatch_destroy(dispatch);
  estoc_artifact_destroy(found);
  estoc_arguments_destroy(arguments);
}

static void test_bundle(const char* path) {
  static const char rule[] = "gemm n=8 k=8 a=f32";
  estoc_artifact* const artifacts[] = {compiled("gemm m=4 n=8 k=8 a=f32"),
                                       compiled("gemm m=4 n=8 k=8 a=f64")};
  const estoc_artifact* const saved[] = {artifacts[0], artifacts[1]};
  const size_t size = sizeof(estoc_dispatch_rule);
  estoc_dispatch_rule rules[] = {
      {.struct_size = size, .problem = rule, .m_low = 1, .m_high = 4, .artifact = 1},
      {.struct_size = size, .problem = rule, .m_low = 5, .artifact = 0}};
  estoc_bundle* bundle = NULL;
  estoc_artifact* one = NULL;
  estoc_dispatch_rule read = {.struct_size = size};
  EXPECT_OK(estoc_bundle_save(path, saved, 2, rules, 2));
  EXPECT_OK(estoc_bundle_open(path, &bundle));
  EXPECT(estoc_bundle_artifact_count(bundle) == 2 && estoc_bundle_rule_count(bundle) == 2);
  EXPECT_OK(estoc_bundle_artifact(bundle, 1, &one));
  EXPECT(strcmp(estoc_artifact_kernel_name(one), estoc_artifact_kernel_name(saved[1])) == 0);
  estoc_artifact_destroy(one);
  one = NULL;
  REFUSED(estoc_bundle_artifact(bundle, 2, &one), ESTOC_ERROR_VALUE, "artifact");
  EXPECT_OK(estoc_bundle_rule(bundle, 0, &read));
  EXPECT(read.m_low == 1 && read.m_high == 4 && read.artifact == 1);
  EXPECT(strncmp(read.problem, "gemm ", 5) == 0);
  EXPECT_OK(estoc_bundle_rule(bundle, 1, &read));
  EXPECT(read.m_low == 5 && read.m_high == 0 && read.artifact == 0);
  REFUSED(estoc_bundle_rule(bundle, 2, &read), ESTOC_ERROR_VALUE, "rule");
  test_dispatch(bundle, saved);
  estoc_bundle_destroy(bundle);
  bundle = NULL;
  rules[1].artifact = 2;
  REFUSED(estoc_bundle_save(path, saved, 2, rules, 2), ESTOC_ERROR_VALUE, "below 2");
  rules[1].m_low = -1;
  REFUSED(estoc_bundle_save(path, saved, 2, rules, 2), ESTOC_ERROR_VALUE, "rules[1]");
  rules[1].struct_size = sizeof(size_t);
  REFUSED(estoc_bundle_save(path, saved, 2, rules, 2), ESTOC_ERROR_VALUE, "rules[1].struct_size");
  REFUSED(estoc_bundle_open("/nonexistent", &bundle), ESTOC_ERROR_NOT_FOUND, "/nonexistent");
  EXPECT(bundle == NULL);
  estoc_artifact_destroy(artifacts[0]);
  estoc_artifact_destroy(artifacts[1]);
  remove(path);
}

int main(int argc, char** argv) {
  test_compile_all();
  test_texts();
  test_bundle(argc > 1 ? argv[1] : "c_api_compile.estoc");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
