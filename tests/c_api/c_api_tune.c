/* The C interface used from C: a search, and the records of searches. */
#include "c_api_support.h"

static const char* const kProblem = "gemm m=8 n=8 k=8 a=f32";

static int on_progress(void* context, const char* stage, double part) {
  EXPECT(strcmp(stage, "compiling") == 0 || strcmp(stage, "timing") == 0 ||
         strcmp(stage, "checking") == 0);
  EXPECT(part >= 0 && part <= 1);
  return --*(int*)context < 0;
}

static void test_search(void) {
  estoc_arguments* arguments = problem(kProblem);
  estoc_tuned *record = NULL, *found = NULL;
  estoc_tuned_kernel tuned = {.struct_size = sizeof(tuned)};
  estoc_kernel* kernel = NULL;
  estoc_kernel_info info = {.struct_size = sizeof(info)};
  estoc_knobs knobs = {.struct_size = sizeof(knobs)};
  int calls = 0;
  estoc_tune_options options = {.struct_size = sizeof(options),
                                .budget_seconds = 0.1,
                                .rounds = 2,
                                .progress = on_progress,
                                .context = &calls};
  REFUSED(estoc_tune(arguments, &options, &record), ESTOC_ERROR_CANCELLED, "cancelled");
  calls = 1000;
  options.dry = 1;
  EXPECT_OK(estoc_tune(arguments, &options, &record));
  estoc_tuned_destroy(record);
  EXPECT_OK(estoc_tuned_find(arguments, &found));
  EXPECT(estoc_tuned_count(found) == 0);
  estoc_tuned_destroy(found);
  options.dry = 0;
  EXPECT_OK(estoc_tune(arguments, &options, &record));
  EXPECT(calls < 1000 && estoc_tuned_count(record) == 1);
  EXPECT_OK(estoc_tuned_get(record, 0, &tuned));
  EXPECT(tuned.seconds > 0 && tuned.predicted_seconds > 0 && tuned.rounds == 2);
  EXPECT_OK(estoc_tuned_get_knobs(record, 0, &knobs));
  EXPECT(knobs.swizzle == 1 && knobs.split == 1);
  REFUSED(estoc_tuned_get_knobs(record, 1, &knobs), ESTOC_ERROR_VALUE, "record");
  REFUSED(estoc_tuned_get_knobs(record, 0, NULL), ESTOC_ERROR_VALUE, "knobs");
  EXPECT(strcmp(tuned.kernel, "cpu_gemm-f32-f32-f32-f32") == 0 && tuned.time > 0);
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_get_info(kernel, &info));
  EXPECT(info.tuned_seconds == tuned.seconds);
  EXPECT_OK(estoc_tuned_find(arguments, &found));
  EXPECT(estoc_tuned_count(found) == 1);
  estoc_kernel_destroy(kernel);
  estoc_tuned_destroy(found);
  estoc_tuned_destroy(record);
  estoc_arguments_destroy(arguments);
}

static void test_background(void) {
  float a[64] = {1}, b[64] = {1}, out[64] = {0};
  const int64_t shape[2] = {8, 8};
  const estoc_tuner_options options = {
      .struct_size = sizeof(options), .budget_seconds = 0.1, .top = 2};
  const estoc_tuner_options wrong = {.struct_size = sizeof(wrong), .threads = -1};
  estoc_tuner_progress progress = {.struct_size = sizeof(progress)};
  estoc_tuner* tuner = NULL;
  char* failure = NULL;
  estoc_tensor tensors[3];
  estoc_gemm gemm = {
      .struct_size = sizeof(gemm), .a = &tensors[0], .b = &tensors[1], .out = &tensors[2]};
  estoc_run_options run = {.struct_size = sizeof(run)};
  float* const data[3] = {a, b, out};
  for (int i = 0; i < 3; ++i)
    tensors[i] = (estoc_tensor){.struct_size = sizeof(estoc_tensor),
                                .data = data[i],
                                .dtype = "f32",
                                .shape = shape,
                                .rank = 2,
                                .device = -1};
  REFUSED(estoc_tuner_create(&wrong, &tuner), ESTOC_ERROR_VALUE, "threads");
  EXPECT_OK(estoc_tuner_create(&options, &tuner));
  run.tuner = tuner;
  EXPECT_OK(estoc_matmul(&gemm, &run));
  EXPECT(out[0] == 1);
  EXPECT_OK(estoc_tuner_wait(tuner));
  EXPECT_OK(estoc_tuner_get_progress(tuner, &progress));
  EXPECT(progress.tuned == 1 && progress.waiting == 0 && progress.failed == 0);
  EXPECT_OK(estoc_tuner_last_failure(tuner, &failure));
  EXPECT(strcmp(failure, "") == 0);
  estoc_string_destroy(failure);
  estoc_tuner_destroy(tuner);
  REFUSED(estoc_tuner_wait(NULL), ESTOC_ERROR_VALUE, "tuner");
}

static void test_records(const char* folder) {
  char file[4200];
  char* path = NULL;
  estoc_arguments* arguments = problem(kProblem);
  estoc_tuned* records = NULL;
  estoc_tuned_merge merge = {.struct_size = sizeof(merge)};
  size_t removed = 7;
  snprintf(file, sizeof(file), "%s.json", folder);
  EXPECT_OK(estoc_tuned_path(&path));
  EXPECT(strstr(path, ".tuned") != NULL);
  EXPECT_OK(estoc_tuned_export(file));
  EXPECT_OK(estoc_tuned_import(file, &merge));
  EXPECT(merge.added == 0 && merge.replaced == 0 && merge.kept == 1);
  EXPECT_OK(estoc_tuned_forget(arguments, &removed));
  EXPECT(removed == 1);
  EXPECT_OK(estoc_tuned_import(file, NULL));
  EXPECT_OK(estoc_tuned_list(&records));
  EXPECT(estoc_tuned_count(records) == 1);
  EXPECT_OK(estoc_tuned_forget(NULL, NULL));
  estoc_tuned_destroy(records);
  estoc_arguments_destroy(arguments);
  estoc_string_destroy(path);
  remove(file);
}

static void test_refusals(void) {
  estoc_arguments* arguments = problem(kProblem);
  estoc_tuned* record = NULL;
  estoc_tuned_kernel tuned = {.struct_size = sizeof(tuned)};
  const estoc_tune_options wrong = {.struct_size = sizeof(wrong), .rounds = -1};
  REFUSED(estoc_tune(NULL, NULL, &record), ESTOC_ERROR_VALUE, "arguments");
  REFUSED(estoc_tune(arguments, NULL, NULL), ESTOC_ERROR_VALUE, "record");
  REFUSED(estoc_tune(arguments, &wrong, &record), ESTOC_ERROR_VALUE, "rounds");
  REFUSED(estoc_tuned_find(NULL, &record), ESTOC_ERROR_VALUE, "arguments");
  REFUSED(estoc_tuned_list(NULL), ESTOC_ERROR_VALUE, "records");
  REFUSED(estoc_tuned_get(NULL, 0, &tuned), ESTOC_ERROR_VALUE, "records");
  REFUSED(estoc_tuned_path(NULL), ESTOC_ERROR_VALUE, "path");
  REFUSED(estoc_tuned_export(NULL), ESTOC_ERROR_VALUE, "path");
  REFUSED(estoc_tuned_import("/none/none.json", NULL), ESTOC_ERROR_NOT_FOUND, "none.json");
  EXPECT(record == NULL && estoc_tuned_count(NULL) == 0);
  estoc_tuned_destroy(NULL);
  estoc_arguments_destroy(arguments);
}

int main(int argc, char** argv) {
  static char file[4200];
  const char* folder = argc > 1 ? argv[1] : "/tmp/c_api_tune";
  snprintf(file, sizeof(file), "%s.tuned", folder);
  remove(file);
  setenv("ESTOC_TUNED", file, 1);
  test_search();
  test_background();
  test_records(folder);
  test_refusals();
  remove(file);
  return failures != 0;
}
