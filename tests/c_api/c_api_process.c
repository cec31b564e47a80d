/* The C interface used from C: devices, libraries, environment, cache, messages. */
#include "c_api_support.h"

static void test_devices(void) {
  estoc_device_info info = {.struct_size = sizeof(info)};
  for (size_t i = 0; i < estoc_device_count(); ++i) {
    EXPECT_OK(estoc_device_get(i, &info));
    EXPECT(info.index == (int)i && info.name[0] != '\0' && info.target[0] != '\0');
  }
  REFUSED(estoc_device_get(estoc_device_count(), &info), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_device_synchronize(-1), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_await_stream(NULL, NULL, -1), ESTOC_ERROR_VALUE, "device");
}

static void test_libraries(void) {
  estoc_libraries* libraries = NULL;
  estoc_library_info info = {.struct_size = sizeof(info)};
  int driver = 0;
  EXPECT_OK(estoc_libraries_find(&libraries));
  for (size_t i = 0; i < estoc_libraries_count(libraries); ++i) {
    EXPECT_OK(estoc_libraries_get(libraries, i, &info));
    EXPECT(info.problem[0] != '\0' || info.path[0] != '\0');
    driver += strcmp(info.name, "CUDA driver") == 0;
  }
  EXPECT(driver == 1);
  REFUSED(estoc_libraries_get(libraries, 100, &info), ESTOC_ERROR_VALUE, "library");
  REFUSED(estoc_libraries_find(NULL), ESTOC_ERROR_VALUE, "libraries");
  REFUSED(estoc_libraries_get(NULL, 0, &info), ESTOC_ERROR_VALUE, "libraries");
  EXPECT(estoc_libraries_count(NULL) == 0);
  estoc_libraries_destroy(libraries);
  estoc_libraries_destroy(NULL);
}

/* Calls that need a device, without one or with wrong arguments. */
static void test_memory(void) {
  estoc_memory* memory = NULL;
  estoc_stream* stream = NULL;
  estoc_event* event = NULL;
  double seconds = 7;
  REFUSED(estoc_memory_allocate(16, -1, &memory), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_memory_allocate(16, 0, NULL), ESTOC_ERROR_VALUE, "memory");
  REFUSED(estoc_memory_upload(NULL, "", 1, 0), ESTOC_ERROR_VALUE, "memory");
  REFUSED(estoc_memory_download(NULL, &seconds, 1, 0), ESTOC_ERROR_VALUE, "memory");
  REFUSED(estoc_memory_fill(NULL, 0, NULL), ESTOC_ERROR_VALUE, "memory");
  REFUSED(estoc_stream_create(-1, &stream), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_stream_synchronize(NULL), ESTOC_ERROR_VALUE, "stream");
  REFUSED(estoc_event_create(-1, &event), ESTOC_ERROR_VALUE, "device");
  REFUSED(estoc_event_record(NULL, NULL), ESTOC_ERROR_VALUE, "event");
  REFUSED(estoc_event_delay(NULL, NULL), ESTOC_ERROR_VALUE, "event");
  REFUSED(estoc_event_synchronize(NULL), ESTOC_ERROR_VALUE, "event");
  REFUSED(estoc_event_seconds(NULL, NULL, &seconds), ESTOC_ERROR_VALUE, "start");
  if (estoc_device_count() == 0) {
    EXPECT(estoc_memory_allocate(16, 0, &memory) != ESTOC_OK);
    EXPECT(estoc_stream_create(0, &stream) != ESTOC_OK);
    EXPECT(estoc_event_create(0, &event) != ESTOC_OK);
    EXPECT(!memory && !stream && !event);
  }
  EXPECT(estoc_memory_data(NULL) == NULL && estoc_memory_bytes(NULL) == 0 && seconds == 7);
  EXPECT(estoc_stream_handle(NULL) == NULL);
  estoc_memory_destroy(memory);
  estoc_stream_destroy(stream);
  estoc_event_destroy(event);
}

static void test_environment(const char* folder) {
  estoc_environment* environment = NULL;
  estoc_variable variable = {.struct_size = sizeof(variable)};
  int found = 0;
  EXPECT_OK(estoc_environment_list(&environment));
  for (size_t i = 0; i < estoc_environment_count(environment); ++i) {
    EXPECT_OK(estoc_environment_get(environment, i, &variable));
    EXPECT(variable.meaning[0] != '\0');
    if (strcmp(variable.name, "ESTOC_CACHE_DIR") != 0) continue;
    found = variable.value != NULL && strcmp(variable.value, folder) == 0;
  }
  EXPECT(found);
  REFUSED(estoc_environment_get(environment, 1000, &variable), ESTOC_ERROR_VALUE, "variable");
  REFUSED(estoc_environment_get(NULL, 0, &variable), ESTOC_ERROR_VALUE, "environment");
  REFUSED(estoc_environment_list(NULL), ESTOC_ERROR_VALUE, "environment");
  EXPECT(estoc_environment_count(NULL) == 0);
  estoc_environment_destroy(environment);
  estoc_environment_destroy(NULL);
}

static void test_cache(const char* folder) {
  estoc_cache* cache = NULL;
  estoc_cached_kernel kernel = {.struct_size = sizeof(kernel)};
  char *path = NULL, *problem_text = NULL;
  int64_t bytes = 7;
  int removed = 7;
  EXPECT_OK(estoc_cache_path(&path));
  EXPECT(strncmp(path, folder, strlen(folder)) == 0);
  EXPECT_OK(estoc_cache_problem(&problem_text));
  EXPECT(strcmp(problem_text, "") == 0);
  EXPECT_OK(estoc_cache_limit(&bytes));
  EXPECT(bytes > 0);
  EXPECT_OK(estoc_cache_parse_size("512K", &bytes));
  EXPECT(bytes == 512 << 10);
  REFUSED(estoc_cache_parse_size("much", &bytes), ESTOC_ERROR_VALUE, "much");
  REFUSED(estoc_cache_parse_size(NULL, &bytes), ESTOC_ERROR_VALUE, "text");
  REFUSED(estoc_cache_limit(NULL), ESTOC_ERROR_VALUE, "bytes");
  REFUSED(estoc_cache_path(NULL), ESTOC_ERROR_VALUE, "path");
  REFUSED(estoc_cache_problem(NULL), ESTOC_ERROR_VALUE, "problem");
  REFUSED(estoc_cache_prune(-1, &removed), ESTOC_ERROR_VALUE, "bytes");
  EXPECT(removed == 7);
  EXPECT_OK(estoc_cache_clear(NULL));
  EXPECT_OK(estoc_cache_verify(&removed));
  EXPECT(removed == 0);
  EXPECT_OK(estoc_cache_prune(0, &removed));
  EXPECT(removed == 0);
  EXPECT_OK(estoc_cache_list(&cache));
  EXPECT(estoc_cache_count(cache) == 0 && estoc_cache_count(NULL) == 0);
  REFUSED(estoc_cache_get(cache, 0, &kernel), ESTOC_ERROR_VALUE, "kernel");
  REFUSED(estoc_cache_get(NULL, 0, &kernel), ESTOC_ERROR_VALUE, "cache");
  REFUSED(estoc_cache_list(NULL), ESTOC_ERROR_VALUE, "cache");
  estoc_cache_destroy(cache);
  estoc_cache_destroy(NULL);
  estoc_string_destroy(path);
  estoc_string_destroy(problem_text);
}

static void count(void* context, estoc_log_level level, const char* message) {
  (void)level;
  (void)message;
  ++*(int*)context;
}

/* NULL ends what was set; the messages themselves are looked at where something is compiled. */
static void test_messages(void) {
  int messages = 0;
  EXPECT_OK(estoc_set_log_callback(count, &messages));
  EXPECT_OK(estoc_set_log_callback(NULL, NULL));
  EXPECT_OK(estoc_cache_verify(NULL));
  EXPECT(messages == 0);
}

int main(int argc, char** argv) {
  static char folder[4096];
  static char variable[4200];
  snprintf(folder, sizeof(folder), "%s.cache", argc > 1 ? argv[1] : "/tmp/c_api_process");
  snprintf(variable, sizeof(variable), "ESTOC_CACHE_DIR=%s", folder);
  if (putenv(variable) != 0) return EXIT_FAILURE;
  const char* const folders[] = {"/nonexistent/site-packages"};
  EXPECT_OK(estoc_set_package_folders(folders, 1));
  EXPECT_OK(estoc_set_package_folders(NULL, 0));
  REFUSED(estoc_set_package_folders(NULL, 1), ESTOC_ERROR_VALUE, "folders");
  EXPECT_OK(estoc_set_nvtx_ranges(0));
  test_environment(folder);
  test_cache(folder);
  test_messages();
  test_devices();
  test_libraries();
  test_memory();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
