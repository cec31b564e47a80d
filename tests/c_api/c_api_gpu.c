/* The C interface used from C on a GPU: compiled for the device, with streams, workspace of the
 * caller, programmatic launches, events, and what the compiler said. */
#include "c_api_support.h"

enum { M = 70, N = 40, K = 64 };

static const int64_t kA[] = {M, K}, kB[] = {K, N}, kOut[] = {M, N};
static float a[M * K], b[K * N], out[M * N], product[M * N];

static void fill(void) {
  for (int i = 0; i < M * K; ++i)
    a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; ++i)
    b[i] = (float)(i % 5 - 2);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      for (int k = 0; k < K; ++k)
        product[i * N + j] += a[i * K + k] * b[k * N + j];
}

static estoc_memory* on_device(const void* host, size_t bytes) {
  estoc_memory* memory = NULL;
  EXPECT_OK(estoc_memory_allocate(bytes, 0, &memory));
  EXPECT_OK(estoc_memory_upload(memory, host, bytes, 0));
  EXPECT(estoc_memory_bytes(memory) == bytes);
  REFUSED(estoc_memory_upload(memory, host, bytes, 1), ESTOC_ERROR_VALUE, "bytes");
  REFUSED(estoc_memory_upload(memory, host, 0, bytes + 1), ESTOC_ERROR_VALUE, "bytes");
  REFUSED(estoc_memory_download(memory, NULL, 1, 0), ESTOC_ERROR_VALUE, "host");
  return memory;
}

static estoc_tensor tensor(const estoc_memory* memory, const int64_t* shape) {
  estoc_tensor t = matrix(estoc_memory_data(memory), shape);
  t.device = 0;
  return t;
}

static void expect_product(const estoc_memory* memory, const estoc_stream* stream) {
  EXPECT_OK(estoc_stream_synchronize(stream));
  EXPECT_OK(estoc_memory_download(memory, out, sizeof(out), 0));
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
}

static void test_code(const estoc_kernel* kernel, const char* target) {
  const estoc_compile_options options = {
      .struct_size = sizeof(options), .lineinfo = 1, .no_caches = 1};
  estoc_artifact* artifact = NULL;
  estoc_code code = {.struct_size = sizeof(code)};
  EXPECT_OK(estoc_kernel_compile(kernel, target, &options, &artifact));
  EXPECT(strcmp(estoc_artifact_target(artifact), target) == 0);
  EXPECT_OK(estoc_artifact_code(artifact, &code));
  EXPECT(code.format != NULL && code.byte_count > 0 && code.compiler[0] != '\0' && code.log);
  estoc_artifact_destroy(artifact);
}

static void count(void* context, estoc_log_level level, const char* message) {
  (void)level;
  (void)message;
  ++*(int*)context;
}

/* What was compiled is in the cache, and a message told of it. */
static estoc_artifact* compile(const estoc_kernel* kernel, const char* target) {
  estoc_artifact* artifact = NULL;
  estoc_cache* cache = NULL;
  estoc_cached_kernel cached = {.struct_size = sizeof(cached)};
  int messages = 0, removed = 0;
  EXPECT_OK(estoc_cache_clear(NULL));
  EXPECT_OK(estoc_set_log_callback(count, &messages));
  EXPECT_OK(estoc_kernel_compile(kernel, target, NULL, &artifact));
  EXPECT_OK(estoc_set_log_callback(NULL, NULL));
  EXPECT(messages > 0);
  EXPECT_OK(estoc_cache_list(&cache));
  EXPECT(estoc_cache_count(cache) == 1);
  EXPECT_OK(estoc_cache_get(cache, 0, &cached));
  EXPECT(strcmp(cached.kernel, estoc_kernel_name(kernel)) == 0);
  EXPECT(strcmp(cached.target, target) == 0 && cached.bytes > 0 && cached.damaged == 0);
  estoc_cache_destroy(cache);
  EXPECT_OK(estoc_cache_prune(0, &removed));
  EXPECT(removed == 1);
  return artifact;
}

static void test_launches(const estoc_artifact* artifact, const estoc_arguments* arguments,
                          estoc_memory* result) {
  estoc_kernel* kernel = NULL;
  estoc_stream* stream = NULL;
  estoc_memory* workspace = NULL;
  estoc_event *start = NULL, *end = NULL;
  estoc_launch* launch = NULL;
  size_t bytes = 0;
  double seconds = -1;
  EXPECT_OK(estoc_artifact_kernel(artifact, &kernel));
  EXPECT_OK(estoc_kernel_workspace_size(kernel, arguments, &bytes));
  EXPECT_OK(estoc_memory_allocate(bytes + 256, 0, &workspace));
  EXPECT_OK(estoc_stream_create(0, &stream));
  EXPECT_OK(estoc_event_create(0, &start));
  EXPECT_OK(estoc_event_create(0, &end));
  void* const handle = estoc_stream_handle(stream);
  EXPECT(handle != NULL);
  const estoc_run_options options = {.struct_size = sizeof(options),
                                     .stream = handle,
                                     .workspace = estoc_memory_data(workspace),
                                     .workspace_bytes = estoc_memory_bytes(workspace),
                                     .programmatic = 1};
  EXPECT_OK(estoc_memory_fill(result, 0xff, handle));
  EXPECT_OK(estoc_artifact_run(artifact, arguments, &options));
  expect_product(result, stream);
  EXPECT_OK(estoc_artifact_bind(artifact, arguments, &options, &launch));
  EXPECT_OK(estoc_memory_fill(result, 0xff, handle));
  EXPECT_OK(estoc_event_record(start, handle));
  EXPECT_OK(estoc_launch_start(launch, handle));
  EXPECT_OK(estoc_launch_start(launch, handle));
  EXPECT_OK(estoc_event_record(end, handle));
  EXPECT_OK(estoc_event_delay(end, handle));
  EXPECT_OK(estoc_await_stream(handle, NULL, 0));
  EXPECT_OK(estoc_event_synchronize(end));
  EXPECT_OK(estoc_event_seconds(start, end, &seconds));
  EXPECT(seconds >= 0);
  expect_product(result, stream);
  EXPECT_OK(estoc_device_synchronize(0));
  estoc_launch_destroy(launch);
  estoc_event_destroy(end);
  estoc_event_destroy(start);
  estoc_stream_destroy(stream);
  estoc_memory_destroy(workspace);
  estoc_kernel_destroy(kernel);
}

/* What a file holds runs without a compiler. */
static void test_file(const char* path, const estoc_artifact* artifact,
                      const estoc_arguments* arguments, estoc_memory* result) {
  const estoc_artifact* const saved[] = {artifact};
  estoc_bundle* bundle = NULL;
  estoc_artifact* opened = NULL;
  estoc_stream* stream = NULL;
  EXPECT_OK(estoc_bundle_save(path, saved, 1, NULL, 0));
  EXPECT_OK(estoc_bundle_open(path, &bundle));
  EXPECT_OK(estoc_bundle_find(bundle, arguments, NULL, &opened));
  EXPECT_OK(estoc_stream_create(0, &stream));
  const estoc_run_options options = {.struct_size = sizeof(options),
                                     .stream = estoc_stream_handle(stream)};
  EXPECT_OK(estoc_memory_fill(result, 0xff, options.stream));
  EXPECT_OK(estoc_artifact_run(opened, arguments, &options));
  expect_product(result, stream);
  estoc_stream_destroy(stream);
  estoc_artifact_destroy(opened);
  estoc_bundle_destroy(bundle);
  remove(path);
}

static void test_check(const estoc_arguments* arguments, estoc_memory* result) {
  estoc_device_check* check = NULL;
  estoc_check_result verdict = {.struct_size = sizeof(verdict)};
  char* worst = NULL;
  const float wrong = 1e6F;
  EXPECT_OK(estoc_device_check_create(arguments, NULL, &check));
  EXPECT_OK(estoc_device_check_run(check, &verdict, NULL));
  EXPECT(verdict.passed == 1 && verdict.rows_checked == M);
  EXPECT_OK(estoc_memory_upload(result, &wrong, sizeof(wrong), 0));
  EXPECT_OK(estoc_device_check_run(check, &verdict, &worst));
  EXPECT(verdict.passed == 0 && strncmp(worst, "out[0, 0]", 9) == 0);
  estoc_string_destroy(worst);
  estoc_device_check_destroy(check);
}

static void test_measure(const estoc_kernel* kernel) {
  static const char text[] = "gemm m=70 n=40 k=64 a=f32";
  const estoc_kernel* const kernels[] = {kernel, NULL};
  estoc_measure_options options = {
      .struct_size = sizeof(options), .mode = ESTOC_MEASURE_SURVEY, .rounds = 2};
  estoc_measure_session* session = NULL;
  estoc_measurement* measurement = NULL;
  estoc_timing timing = {.struct_size = sizeof(timing)};
  estoc_measurement_info info = {.struct_size = sizeof(info)};
  EXPECT_OK(estoc_measure_session_create(0, &session));
  EXPECT_OK(estoc_measure(session, text, kernels, 1, &options, &measurement));
  EXPECT(estoc_measurement_count(measurement) == 1);
  EXPECT_OK(estoc_measurement_get(measurement, 0, &timing));
  EXPECT(strcmp(timing.kernel, estoc_kernel_name(kernel)) == 0 && timing.median > 0);
  EXPECT(timing.slice_count >= 1 && timing.slices[0] > 0 && timing.problem[0] == '\0');
  EXPECT_OK(estoc_measurement_get_info(measurement, &info));
  EXPECT(info.operand_sets >= 1 && info.noise == 0);
  REFUSED(estoc_measurement_get(measurement, 1, &timing), ESTOC_ERROR_VALUE, "timing");
  estoc_measurement_destroy(measurement);
  measurement = NULL;
  REFUSED(estoc_measure(session, text, kernels, 2, &options, &measurement), ESTOC_ERROR_VALUE,
          "kernels");
  REFUSED(estoc_measure(session, "gemm", kernels, 1, &options, &measurement), ESTOC_ERROR_VALUE,
          "");
  options.rounds = -1;
  REFUSED(estoc_measure(session, text, kernels, 1, &options, &measurement), ESTOC_ERROR_VALUE,
          "rounds");
  EXPECT(measurement == NULL);
  estoc_measure_session_destroy(session);
}

int main(int argc, char** argv) {
  estoc_device_info info = {.struct_size = sizeof(info)};
  if (estoc_device_count() == 0) return EXIT_FAILURE;
  EXPECT_OK(estoc_device_get(0, &info));
  EXPECT(info.memory_bytes > 0 && info.multiprocessors > 0 && info.cc >= 80);
  fill();
  estoc_memory* const da = on_device(a, sizeof(a));
  estoc_memory* const db = on_device(b, sizeof(b));
  estoc_memory* const dout = on_device(out, sizeof(out));
  const estoc_tensor ta = tensor(da, kA), tb = tensor(db, kB), tout = tensor(dout, kOut);
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &ta, .b = &tb, .out = &tout};
  const estoc_query query = {.struct_size = sizeof(query), .filter = "class=simt_gemm"};
  estoc_arguments* arguments = NULL;
  estoc_kernel* kernel = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  EXPECT_OK(estoc_kernel_find(arguments, &query, &kernel));
  EXPECT(estoc_kernel_supports(kernel, arguments, "cpu", NULL) == ESTOC_ERROR_UNSUPPORTED);
  test_code(kernel, info.target);
  estoc_artifact* const artifact = compile(kernel, info.target);
  test_launches(artifact, arguments, dout);
  test_file(argc > 1 ? argv[1] : "c_api_gpu.estoc", artifact, arguments, dout);
  test_check(arguments, dout);
  test_measure(kernel);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
  estoc_memory_destroy(dout);
  estoc_memory_destroy(db);
  estoc_memory_destroy(da);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
