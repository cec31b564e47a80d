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
  expect(none == NULL, "no object where a call fails");

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
