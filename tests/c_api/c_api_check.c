/* The C interface used from C: outputs on the host are judged, and what cannot be is refused. */
#include "c_api_support.h"

enum { N = 4 };

static const int64_t kShape[] = {N, N};
static float a[N * N], b[N * N], out[N * N];

static estoc_arguments* arguments_of_product(void) {
  const estoc_tensor ta = matrix(a, kShape), tb = matrix(b, kShape), tout = matrix(out, kShape);
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &ta, .b = &tb, .out = &tout};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_fill_random(&ta, 1));
  EXPECT_OK(estoc_fill_random(&tb, 2));
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  return arguments;
}

static int calls = 0;

static int progress(void* context, double part) {
  ++calls;
  EXPECT(0 <= part && part <= 1);
  return *(const int*)context;
}

static void test_output(const estoc_arguments* arguments) {
  int cancels = 0;
  estoc_check_options options = {
      .struct_size = sizeof(options), .threads = 1, .progress = progress, .context = &cancels};
  estoc_check_result result = {.struct_size = sizeof(result)};
  estoc_kernel* kernel = NULL;
  char* worst = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_run(kernel, arguments, NULL));
  EXPECT_OK(estoc_check_output(arguments, NULL, &result, &worst));
  EXPECT(result.passed == 1 && result.error <= result.bound && strcmp(worst, "") == 0);
  EXPECT(result.rows_checked == N && result.rows_total == N);
  estoc_string_destroy(worst);
  out[5] += 1;
  EXPECT_OK(estoc_check_output(arguments, &options, &result, &worst));
  EXPECT(result.passed == 0 && strncmp(worst, "out[1, 1]: expected ", 20) == 0 && calls > 0);
  estoc_string_destroy(worst);
  EXPECT_OK(estoc_check_output(arguments, NULL, &result, NULL));
  cancels = 1;
  worst = NULL;
  REFUSED(estoc_check_output(arguments, &options, &result, &worst), ESTOC_ERROR_CANCELLED, "");
  options.threads = -1;
  REFUSED(estoc_check_output(arguments, &options, &result, &worst), ESTOC_ERROR_VALUE, "threads");
  REFUSED(estoc_check_output(NULL, NULL, &result, &worst), ESTOC_ERROR_VALUE, "arguments");
  REFUSED(estoc_check_output(arguments, NULL, NULL, &worst), ESTOC_ERROR_VALUE, "result");
  EXPECT(worst == NULL);
  estoc_kernel_destroy(kernel);
}

static void test_device(const estoc_arguments* on_host) {
  estoc_check_result result = {.struct_size = sizeof(result)};
  estoc_timing timing = {.struct_size = sizeof(timing)};
  estoc_measurement_info info = {.struct_size = sizeof(info)};
  estoc_device_check* check = NULL;
  estoc_measure_session* session = NULL;
  estoc_measurement* measurement = NULL;
  REFUSED(estoc_device_check_create(on_host, NULL, &check), ESTOC_ERROR_VALUE, "CUDA");
  REFUSED(estoc_device_check_create(NULL, NULL, &check), ESTOC_ERROR_VALUE, "arguments");
  REFUSED(estoc_device_check_run(NULL, &result, NULL), ESTOC_ERROR_VALUE, "check");
  REFUSED(estoc_measure_session_create(-1, &session), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_measure_session_create(0, NULL), ESTOC_ERROR_VALUE, "session");
  REFUSED(estoc_measure(NULL, "gemm", NULL, 0, NULL, &measurement), ESTOC_ERROR_VALUE, "session");
  REFUSED(estoc_measurement_get(NULL, 0, &timing), ESTOC_ERROR_VALUE, "measurement");
  REFUSED(estoc_measurement_get_info(NULL, &info), ESTOC_ERROR_VALUE, "measurement");
  EXPECT(estoc_measurement_count(NULL) == 0);
  EXPECT(strcmp(estoc_device_check_host_reason(NULL), "") == 0);
  EXPECT(!check && !session && !measurement);
  estoc_device_check_destroy(NULL);
  estoc_measurement_destroy(NULL);
  estoc_measure_session_destroy(NULL);
}

int main(void) {
  estoc_arguments* const arguments = arguments_of_product();
  test_output(arguments);
  test_device(arguments);
  estoc_arguments_destroy(arguments);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
