/* The C interface misused: NULL everywhere, tensors that cannot be, and errors in many threads. */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estoc/estoc.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "expected: %s (last error: %s)\n", what, estoc_last_error());
}

/* The call must be refused as a wrong value, in words that hold `word`. */
static void refused(estoc_status status, const char* word) {
  if (status == ESTOC_ERROR_VALUE && strstr(estoc_last_error(), word) != NULL) return;
  ++failures;
  fprintf(stderr, "expected: an error about %s, got status %d (%s)\n", word, (int)status,
          estoc_last_error());
}

static const int64_t kShape[] = {4, 4, 4, 4, 4, 4, 4};

static estoc_tensor tensor(void* data) {
  const estoc_tensor t = {data, "f32", 2, kShape, NULL, -1};
  return t;
}

/* Objects to hand to calls of which another argument is missing. */
typedef struct {
  estoc_arguments* arguments;
  estoc_kernel* kernel;
  estoc_artifact* artifact;
  estoc_bundle* bundle;
  estoc_launch* launch;
} objects;

static float a[16], b[16], out[16];

static objects make_objects(const char* path) {
  objects made;
  size_t found = 0;
  memset(&made, 0, sizeof(made));
  const estoc_tensor ta = tensor(a), tb = tensor(b), tout = tensor(out);
  expect(estoc_gemm(&ta, &tb, &tout, "f32", &made.arguments) == ESTOC_OK, "arguments");
  expect(estoc_find(made.arguments, NULL, NULL, 1, &made.kernel, &found) == ESTOC_OK, "a kernel");
  expect(estoc_compile(made.kernel, "cpu", &made.artifact) == ESTOC_OK, "an artifact");
  const estoc_artifact* const saved[] = {made.artifact};
  expect(estoc_save(path, saved, 1) == ESTOC_OK, "a file");
  expect(estoc_bundle_open(path, &made.bundle) == ESTOC_OK, "a bundle");
  expect(estoc_bind(made.artifact, made.arguments, NULL, NULL, 0, &made.launch) == ESTOC_OK,
         "a bound kernel");
  return made;
}

static void free_objects(const objects* made) {
  estoc_launch_free(made->launch);
  estoc_bundle_free(made->bundle);
  estoc_artifact_free(made->artifact);
  estoc_kernel_free(made->kernel);
  estoc_arguments_free(made->arguments);
}

static void test_null(const objects* o, const char* path) {
  const estoc_tensor t = tensor(a);
  estoc_arguments* arguments = NULL;
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  estoc_bundle* bundle = NULL;
  estoc_launch* launch = NULL;
  const estoc_artifact* const nothing[] = {NULL};
  size_t n = 77;
  refused(estoc_gemm(NULL, &t, &t, "f32", &arguments), "A");
  refused(estoc_gemm(&t, NULL, &t, "f32", &arguments), "B");
  refused(estoc_gemm(&t, &t, NULL, "f32", &arguments), "out");
  refused(estoc_gemm(&t, &t, &t, NULL, &arguments), "accumulator");
  refused(estoc_gemm(&t, &t, &t, "f32", NULL), "arguments");
  refused(estoc_problem(NULL, -1, &arguments), "text");
  refused(estoc_problem("gemm m=4 n=4 k=4 a=f32", -1, NULL), "arguments");
  refused(estoc_find(NULL, NULL, NULL, 1, &kernel, &n), "arguments");
  refused(estoc_find(o->arguments, NULL, NULL, 1, NULL, &n), "kernels");
  refused(estoc_find(o->arguments, NULL, NULL, 1, &kernel, NULL), "written");
  refused(estoc_find_first(NULL, NULL, NULL, &kernel), "arguments");
  refused(estoc_find_first(o->arguments, NULL, NULL, NULL), "kernel");
  refused(estoc_kernel_by_name(NULL, &kernel), "name");
  refused(estoc_kernel_by_name(estoc_kernel_name(o->kernel), NULL), "kernel");
  refused(estoc_kernel_supports(NULL, o->arguments, NULL), "kernel");
  refused(estoc_kernel_supports(o->kernel, NULL, NULL), "arguments");
  refused(estoc_compile(NULL, "cpu", &artifact), "kernel");
  refused(estoc_compile(o->kernel, NULL, &artifact), "target");
  refused(estoc_compile(o->kernel, "cpu", NULL), "artifact");
  refused(estoc_save(NULL, nothing, 0), "path");
  refused(estoc_save(path, NULL, 1), "artifacts");
  refused(estoc_save(path, nothing, 1), "artifacts");
  refused(estoc_bundle_open(NULL, &bundle), "path");
  refused(estoc_bundle_open(path, NULL), "bundle");
  refused(estoc_bundle_find(NULL, o->arguments, NULL, &artifact), "bundle");
  refused(estoc_bundle_find(o->bundle, NULL, NULL, &artifact), "arguments");
  refused(estoc_bundle_find(o->bundle, o->arguments, NULL, NULL), "artifact");
  refused(estoc_workspace_size(NULL, o->arguments, &n), "artifact");
  refused(estoc_workspace_size(o->artifact, NULL, &n), "arguments");
  refused(estoc_workspace_size(o->artifact, o->arguments, NULL), "bytes");
  refused(estoc_run(NULL, o->arguments, NULL, NULL, 0), "artifact");
  refused(estoc_run(o->artifact, NULL, NULL, NULL, 0), "arguments");
  refused(estoc_bind(NULL, o->arguments, NULL, NULL, 0, &launch), "artifact");
  refused(estoc_bind(o->artifact, NULL, NULL, NULL, 0, &launch), "arguments");
  refused(estoc_bind(o->artifact, o->arguments, NULL, NULL, 0, NULL), "launch");
  refused(estoc_gemm_with(&t, &t, NULL, "f32", NULL, &arguments), "out");
  refused(estoc_run_with(NULL, o->arguments, NULL), "artifact");
  refused(estoc_run_with(o->artifact, NULL, NULL), "arguments");
  refused(estoc_bind_with(o->artifact, o->arguments, NULL, NULL), "launch");
  refused(estoc_launch_on(NULL, NULL), "launch");
  expect(n == 77, "no number where a call fails");
  expect(!arguments && !kernel && !artifact && !bundle && !launch, "no object where a call fails");
  expect(strcmp(estoc_kernel_name(NULL), "") == 0, "no name of no kernel");
  expect(strcmp(estoc_artifact_kernel_name(NULL), "") == 0, "no name of no artifact");
  estoc_arguments_free(NULL);
  estoc_kernel_free(NULL);
  estoc_artifact_free(NULL);
  estoc_bundle_free(NULL);
  estoc_launch_free(NULL);
}

static void test_tensors(void) {
  const estoc_tensor good = tensor(a), fine = tensor(out);
  const int64_t huge[] = {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
  const int64_t negative[] = {-4, 4}, least[] = {INT64_MIN, 4};
  estoc_arguments* none = NULL;
  estoc_tensor bad = good;
  bad.rank = 7;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.rank");
  bad.rank = -1;
  refused(estoc_gemm(&good, &bad, &fine, "f32", &none), "B.rank");
  bad.rank = 6;
  expect(estoc_gemm(&bad, &good, &fine, "f32", &none) == ESTOC_ERROR_VALUE, "too many modes");
  bad.rank = 0;
  expect(estoc_gemm(&bad, &good, &fine, "f32", &none) == ESTOC_ERROR_VALUE, "too few modes");
  bad = good;
  bad.shape = NULL;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.shape");
  bad.shape = huge;
  bad.rank = 3;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.shape");
  bad.rank = 2;
  bad.shape = negative;
  expect(estoc_gemm(&bad, &good, &fine, "f32", &none) == ESTOC_ERROR_VALUE, "a negative extent");
  bad.shape = least;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.shape");
  bad.strides = least;
  refused(estoc_gemm(&good, &bad, &fine, "f32", &none), "B");
  bad = good;
  bad.device = -2;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.device");
  bad.device = 100000;
  expect(estoc_gemm(&bad, &good, &fine, "f32", &none) != ESTOC_OK, "operands on two devices");
  bad = good;
  bad.dtype = NULL;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.dtype");
  const int64_t backwards[] = {-4, 1}, odd[] = {4, 1};
  bad = good;
  bad.strides = backwards;
  refused(estoc_gemm(&bad, &good, &fine, "f32", &none), "A.strides");
  refused(estoc_gemm(&good, &bad, &fine, "f32", &none), "B.strides");
  refused(estoc_gemm(&good, &good, &bad, "f32", &none), "out.strides");
  bad.data = NULL;
  refused(estoc_gemm(&good, &bad, &fine, "f32", &none), "B.strides");
  bad = good;
  bad.strides = odd;
  bad.data = (char*)bad.data + 1;
  refused(estoc_gemm(&good, &bad, &fine, "f32", &none), "B");
  expect(none == NULL, "no arguments from bad tensors");
}

/* What estoc_gemm_with refuses, and the word that says why. */
static void refused_options(const estoc_gemm_options* options, const char* word) {
  const estoc_tensor t = tensor(a), fine = tensor(out);
  estoc_arguments* none = NULL;
  refused(estoc_gemm_with(&t, &t, &fine, "f32", options, &none), word);
  expect(none == NULL, "no arguments from bad options");
}

static void test_gemm_options(void) {
  const estoc_gemm_options none = {sizeof(none), NULL, NULL, 0, NULL};
  const estoc_tensor bias = tensor(b);
  estoc_operand operands[2] = {{"bias", &bias, 0, NULL}, {"alpha", NULL, 0.5, NULL}};
  estoc_gemm_options bad = none;
  bad.size = 0;
  refused_options(&bad, "options.size");
  bad.size = offsetof(estoc_gemm_options, epilogue) + 1; /* half a pointer */
  refused_options(&bad, "options.size");
  bad = none;
  bad.epilogue = "D = nonsense(accum)";
  refused_options(&bad, "nonsense");
  bad.epilogue = "D = alpha * accum + bias";
  refused_options(&bad, "alpha");
  bad.operand_count = 2;
  refused_options(&bad, "options.operands");
  bad.operands = operands;
  operands[0].name = NULL;
  refused_options(&bad, "name");
  operands[0].name = "bios";
  refused_options(&bad, "bios");
  operands[0].name = "bias";
  operands[1].dtype = "f31";
  const estoc_tensor t = tensor(a), fine = tensor(out);
  estoc_arguments* arguments = NULL;
  expect(estoc_gemm_with(&t, &t, &fine, "f32", &bad, &arguments) == ESTOC_ERROR_TYPE &&
             strstr(estoc_last_error(), "alpha.dtype") != NULL,
         "a number of no dtype");
  bad.epilogue = NULL;
  refused_options(&bad, "options.epilogue");
  bad = none;
  bad.controls = "deterministic=2";
  refused_options(&bad, "options.controls: in 'gemm deterministic=2'");
  bad.controls = "m=4";
  refused_options(&bad, "options.controls");
  bad.controls = "a=f32 deterministic=1";
  refused_options(&bad, "options.controls");
}

/* Options of a newer header: what this library does not know must be 0. */
static void test_sizes(const objects* o) {
  struct {
    estoc_run_options known;
    int64_t later[4];
  } options;
  memset(&options, 0, sizeof(options));
  options.known.size = sizeof(options);
  const estoc_run_options* const given = &options.known;
  expect(estoc_run_with(o->artifact, o->arguments, given) == ESTOC_OK, "a newer program");
  options.later[3] = 1;
  expect(estoc_run_with(o->artifact, o->arguments, given) == ESTOC_ERROR_UNSUPPORTED &&
             strstr(estoc_last_error(), "options.size") != NULL,
         "a newer program's wish");
  options.known.size = sizeof(size_t);
  options.known.workspace_bytes = 7; /* behind the stated size */
  expect(estoc_run_with(o->artifact, o->arguments, given) == ESTOC_OK, "an older program");
}

/* Every call that takes a kernel and arguments, with arguments of another operation. */
static void test_other_operation(const objects* o) {
  estoc_arguments* other = NULL;
  estoc_launch* launch = NULL;
  size_t n = 77;
  expect(estoc_problem("elementwise op=relu shape=4 a=f32", -1, &other) == ESTOC_OK, "a problem");
  expect(estoc_kernel_supports(o->kernel, other, NULL) == ESTOC_ERROR_UNSUPPORTED, "no support");
  expect(estoc_workspace_size(o->artifact, other, &n) == ESTOC_ERROR_UNSUPPORTED && n == 77,
         "no size of a workspace");
  expect(estoc_run(o->artifact, other, NULL, NULL, 0) == ESTOC_ERROR_UNSUPPORTED, "no run");
  expect(estoc_bind(o->artifact, other, NULL, NULL, 0, &launch) == ESTOC_ERROR_UNSUPPORTED,
         "no bind");
  expect(launch == NULL, "no launch");
  estoc_arguments_free(other);
}

static void test_described(void) {
  estoc_arguments* described = NULL;
  estoc_kernel* kernels[3] = {NULL, NULL, NULL};
  estoc_artifact* artifact = NULL;
  size_t found = 0;
  expect(estoc_problem("gemm m=4 n=4 k=4 a=f32", -1, &described) == ESTOC_OK, "a problem");
  expect(estoc_find(described, NULL, NULL, 0, NULL, &found) == ESTOC_OK && found == 0, "no room");
  expect(estoc_find(described, "class=nope*", NULL, 3, kernels, &found) == ESTOC_OK && found == 0,
         "a filter that nothing passes");
  expect(estoc_find(described, "clas=x", NULL, 3, kernels, &found) == ESTOC_ERROR_VALUE,
         "a filter that is none");
  expect(estoc_find(described, NULL, "sm_1", 3, kernels, &found) == ESTOC_ERROR_VALUE,
         "a target that is none");
  expect(estoc_find(described, NULL, NULL, 1, kernels, &found) == ESTOC_OK && found == 1, "one");
  expect(estoc_find_first(described, "class=nope*", NULL, &kernels[1]) == ESTOC_ERROR_UNSUPPORTED &&
             strstr(estoc_last_error(), "filter: expected a kernel that passes") != NULL,
         "why there is no first kernel");
  expect(kernels[1] == NULL, "no kernel where there is none");
  expect(estoc_compile(kernels[0], "cpu", &artifact) == ESTOC_OK, "compiling needs no data");
  expect(estoc_run(artifact, described, NULL, NULL, 0) != ESTOC_OK, "running does");
  estoc_artifact_free(artifact);
  estoc_kernel_free(kernels[0]);
  estoc_arguments_free(described);
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
  expect(estoc_kernel_by_name("mine", &kernel) == ESTOC_ERROR_NOT_FOUND, "an error");
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = 1000 + i;
    if (pthread_create(&threads[i], NULL, fail_in_a_thread, &numbers[i]) != 0) abort();
  }
  for (int i = 0; i < kThreads; ++i) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    expect(wrong == NULL, "the thread's own error");
  }
  expect(strstr(estoc_last_error(), "mine") != NULL, "this thread's error is still there");
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "c_api_misuse.estoc";
  expect(strcmp(estoc_last_error(), "") == 0, "no error before any");
  const objects made = make_objects(path);
  test_null(&made, path);
  test_tensors();
  test_gemm_options();
  test_sizes(&made);
  test_other_operation(&made);
  test_described();
  test_threads();
  free_objects(&made);
  remove(path);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
