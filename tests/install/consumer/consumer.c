/* Multiplies two small matrices with the installed shared library and compares with the product. */
#include <estoc/estoc.h>
#include <stdio.h>
#include <string.h>

static estoc_tensor matrix(void* data, const int64_t* shape) {
  const estoc_tensor tensor = {.struct_size = sizeof(tensor),
                               .data = data,
                               .dtype = "f32",
                               .shape = shape,
                               .rank = 2,
                               .device = -1};
  return tensor;
}

int main(void) {
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12}, out[4] = {0};
  const float expected[] = {58, 64, 139, 154};
  const int64_t a_shape[] = {2, 3}, b_shape[] = {3, 2}, out_shape[] = {2, 2};
  const estoc_tensor ta = matrix(a, a_shape), tb = matrix(b, b_shape), to = matrix(out, out_shape);
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &ta, .b = &tb, .out = &to};
  estoc_arguments* arguments = NULL;
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  if (estoc_arguments_gemm(&gemm, &arguments) != ESTOC_OK ||
      estoc_kernel_find(arguments, NULL, &kernel) != ESTOC_OK ||
      estoc_kernel_compile(kernel, "cpu", NULL, &artifact) != ESTOC_OK ||
      estoc_artifact_run(artifact, arguments, NULL) != ESTOC_OK) {
    fprintf(stderr, "%s\n", estoc_last_error());
    return 1;
  }
  printf("%s %s: %g %g %g %g\n", estoc_version(), estoc_kernel_name(kernel), out[0], out[1], out[2],
         out[3]);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
  return memcmp(out, expected, sizeof(out)) == 0 ? 0 : 1;
}
