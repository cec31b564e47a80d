/* Multiplies two small matrices with the installed shared library and compares with the product. */
#include <estoc/estoc.h>
#include <stdio.h>
#include <string.h>

static estoc_tensor matrix(void* data, const int64_t* shape) {
  const estoc_tensor tensor = {data, "f32", 2, shape, NULL, -1};
  return tensor;
}

int main(void) {
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12}, out[4] = {0};
  const float expected[] = {58, 64, 139, 154};
  const int64_t a_shape[] = {2, 3}, b_shape[] = {3, 2}, out_shape[] = {2, 2};
  const estoc_tensor ta = matrix(a, a_shape), tb = matrix(b, b_shape), to = matrix(out, out_shape);
  estoc_arguments* arguments = NULL;
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  size_t found = 0;
  if (estoc_gemm(&ta, &tb, &to, "f32", &arguments) != ESTOC_OK ||
      estoc_find(arguments, NULL, NULL, 1, &kernel, &found) != ESTOC_OK || found != 1 ||
      estoc_compile(kernel, "cpu", &artifact) != ESTOC_OK ||
      estoc_run(artifact, arguments, NULL, NULL, 0) != ESTOC_OK) {
    fprintf(stderr, "%s\n", estoc_last_error());
    return 1;
  }
  printf("%s %s: %g %g %g %g\n", estoc_version(), estoc_kernel_name(kernel), out[0], out[1], out[2],
         out[3]);
  estoc_artifact_free(artifact);
  estoc_kernel_free(kernel);
  estoc_arguments_free(arguments);
  return memcmp(out, expected, sizeof(out)) == 0 ? 0 : 1;
}
