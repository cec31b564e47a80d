/* The C interface used from C: a product on the host, files, and what it refuses. */
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

enum { M = 3, N = 5, K = 4 };

static estoc_tensor tensor(void* data, const int64_t* shape) {
  const estoc_tensor t = {data, "f32", 2, shape, NULL, -1};
  return t;
}

/* out = relu(alpha * (a @ b) + bias) and its largest magnitude, on one thread. */
static void test_epilogue(const estoc_tensor* ta, const estoc_tensor* tb, float* out,
                          const float* product) {
  const int64_t out_shape[] = {M, N}, row[] = {N};
  float bias[N], amax = -1, largest = 0;
  for (int j = 0; j < N; ++j)
    bias[j] = (float)(j - 2);
  const estoc_tensor tout = tensor(out, out_shape);
  const estoc_tensor tbias = {bias, "f32", 1, row, NULL, -1},
                     tamax = {&amax, "f32", 0, NULL, NULL, -1};
  const estoc_operand operands[] = {
      {"bias", &tbias, 0, NULL}, {"alpha", NULL, 0.5, NULL}, {"amax", &tamax, 0, NULL}};
  estoc_gemm_options wishes = {sizeof(wishes), NULL, operands, 3, "deterministic=1 workspace=1MiB"};
  wishes.epilogue = "D = relu(alpha * accum + bias); amax = absmax(D)";
  estoc_arguments* arguments = NULL;
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  estoc_launch* launch = NULL;
  expect(estoc_gemm_with(ta, tb, &tout, "f32", &wishes, &arguments) == ESTOC_OK, "an epilogue");
  expect(estoc_find_first(arguments, NULL, NULL, &kernel) == ESTOC_OK, "a kernel that fuses it");
  expect(estoc_compile(kernel, "cpu", &artifact) == ESTOC_OK, "the fused kernel, compiled");
  estoc_run_options options = {sizeof(options), NULL, NULL, 0, 1, 0, 0};
  memset(out, 0xff, M * N * sizeof(float));
  expect(estoc_run_with(artifact, arguments, &options) == ESTOC_OK, "a run on one thread");
  for (int i = 0; i < M * N; ++i) {
    const float value = product[i] / 2 + bias[i % N], wanted = value > 0 ? value : 0;
    largest = wanted > largest ? wanted : largest;
    expect(out[i] == wanted, "relu(alpha * accum + bias)");
  }
  expect(amax == largest, "the largest magnitude");
  memset(out, 0xff, M * N * sizeof(float));
  options.assume_supported = options.programmatic = 1;
  expect(estoc_bind_with(artifact, arguments, &options, &launch) == ESTOC_OK, "bound");
  expect(estoc_launch_on(launch, NULL) == ESTOC_OK, "launched");
  expect(out[0] == (product[0] / 2 - 2 > 0 ? product[0] / 2 - 2 : 0), "the same again");
  options.threads = -1;
  expect(estoc_run_with(artifact, arguments, &options) == ESTOC_ERROR_VALUE, "threads below 0");
  estoc_launch_free(launch);
  estoc_artifact_free(artifact);
  estoc_kernel_free(kernel);
  estoc_arguments_free(arguments);
}

int main(int argc, char** argv) {
  const int64_t a_shape[] = {M, K}, b_shape[] = {K, N}, out_shape[] = {M, N}, bad_shape[] = {K, K};
  float a[M * K], b[K * N], out[M * N], reference[M * N];
  for (int i = 0; i < M * K; ++i)
    a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; ++i)
    b[i] = (float)(i % 5 - 2);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      reference[i * N + j] = 0;
      for (int k = 0; k < K; ++k)
        reference[i * N + j] += a[i * K + k] * b[k * N + j];
    }
  const char* path = argc > 1 ? argv[1] : "c_api_test.estoc";
  const estoc_tensor ta = tensor(a, a_shape), tb = tensor(b, b_shape),
                     tout = tensor(out, out_shape);
  const estoc_tensor bad = tensor(b, bad_shape);

  estoc_arguments* arguments = NULL;
  expect(estoc_gemm(&ta, &tb, &tout, "f32", &arguments) == ESTOC_OK, "arguments of a product");
  estoc_kernel* kernels[4];
  size_t found = 0;
  expect(estoc_find(arguments, NULL, NULL, 4, kernels, &found) == ESTOC_OK, "a search");
  expect(found >= 1, "a kernel for a product on the host");
  expect(estoc_kernel_supports(kernels[0], arguments, NULL) == ESTOC_OK, "it supports them");

  estoc_artifact* artifact = NULL;
  expect(estoc_compile(kernels[0], "cpu", &artifact) == ESTOC_OK, "a compiled kernel");
  expect(estoc_run(artifact, arguments, NULL, NULL, 0) == ESTOC_OK, "a run");
  expect(memcmp(out, reference, sizeof(out)) == 0, "the product of small integers");

  test_epilogue(&ta, &tb, out, reference);

  const estoc_artifact* const saved[] = {artifact};
  estoc_bundle* bundle = NULL;
  estoc_artifact* opened = NULL;
  expect(estoc_save(path, saved, 1) == ESTOC_OK, "a file");
  expect(estoc_bundle_open(path, &bundle) == ESTOC_OK, "the file read again");
  expect(estoc_bundle_find(bundle, arguments, NULL, &opened) == ESTOC_OK, "its artifact");
  expect(strcmp(estoc_artifact_kernel_name(opened), estoc_kernel_name(kernels[0])) == 0,
         "its name");
  size_t bytes = 1;
  expect(estoc_workspace_size(opened, arguments, &bytes) == ESTOC_OK, "the size of the workspace");
  estoc_launch* launch = NULL;
  memset(out, 0xff, sizeof(out));
  expect(estoc_bind(opened, arguments, NULL, NULL, 0, &launch) == ESTOC_OK, "a bound kernel");
  expect(estoc_launch_on(launch, NULL) == ESTOC_OK, "a launch");
  expect(memcmp(out, reference, sizeof(out)) == 0, "the product again");

  estoc_arguments* none = NULL;
  expect(estoc_gemm(&ta, &bad, &tout, "f32", &none) == ESTOC_ERROR_VALUE, "an extent that differs");
  expect(strstr(estoc_last_error(), "out") != NULL || strstr(estoc_last_error(), "B") != NULL,
         "a message that names the operand");
  expect(estoc_gemm(NULL, &tb, &tout, "f32", &none) == ESTOC_ERROR_VALUE, "a missing operand");
  expect(estoc_gemm(&ta, &tb, &tout, "f31", &none) == ESTOC_ERROR_TYPE, "an unknown dtype");
  expect(estoc_problem("gemm m=", -1, &none) == ESTOC_ERROR_VALUE, "a malformed problem");
  expect(estoc_compile(kernels[0], "sm_1", &opened) == ESTOC_ERROR_VALUE, "an unknown target");
  expect(estoc_bundle_open("/nonexistent", &bundle) == ESTOC_ERROR_NOT_FOUND, "a missing file");
  expect(estoc_kernel_by_name("nope", &kernels[1]) == ESTOC_ERROR_NOT_FOUND, "a missing kernel");
  estoc_kernel* first = NULL;
  expect(estoc_problem("gemm m=4 n=4 k=4 a=f32 out=f64 acc=f64", -1, &none) == ESTOC_OK,
         "an unusual product");
  expect(estoc_find_first(none, NULL, NULL, &first) == ESTOC_ERROR_UNSUPPORTED &&
             strstr(estoc_last_error(), "cpu_gemm: ") != NULL,
         "why there is no kernel");
  estoc_arguments_free(none);
  expect(first == NULL, "no object where a call fails");

  estoc_launch_free(launch);
  estoc_artifact_free(opened);
  estoc_bundle_free(bundle);
  estoc_artifact_free(artifact);
  for (size_t i = 0; i < found; ++i)
    estoc_kernel_free(kernels[i]);
  estoc_arguments_free(arguments);
  estoc_kernel_free(NULL);
  remove(path);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
