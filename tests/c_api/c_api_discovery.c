/* The C interface used from C: searches, what kernels are, and why they are none. */
#include "c_api_support.h"

static const char kProblem[] = "gemm m=512 n=512 k=512 a=bf16:t b=bf16:n";

static const estoc_query kSm90 = {.struct_size = sizeof(kSm90), .target = "sm_90a"};

static void test_search(void) {
  static const char* const providers[] = {"cuda"};
  estoc_query query = kSm90;
  query.filter = "class=sm80_gemm";
  query.portable = 1;
  query.providers = providers;
  query.provider_count = 1;
  estoc_arguments* arguments = problem(kProblem);
  estoc_kernels* kernels = NULL;
  estoc_kernel *first = NULL, *again = NULL;
  uint64_t count = 0;
  EXPECT_OK(estoc_kernels_find(arguments, &query, &kernels));
  EXPECT_OK(estoc_kernels_count(kernels, &count));
  EXPECT(count > 1);
  EXPECT_OK(estoc_kernels_get(kernels, 0, &first));
  EXPECT(strncmp(estoc_kernel_name(first), "sm80_gemm", 9) == 0);
  EXPECT_OK(estoc_kernel_find(arguments, &query, &again));
  EXPECT(estoc_kernel_equal(first, again) == 1);
  estoc_kernel_destroy(again);
  again = NULL;
  EXPECT_OK(estoc_kernels_get(kernels, 1, &again));
  EXPECT(estoc_kernel_equal(first, again) == 0);
  estoc_kernel_destroy(again);
  again = NULL;
  REFUSED(estoc_kernels_get(kernels, count, &again), ESTOC_ERROR_VALUE, "");
  EXPECT(again == NULL);
  estoc_kernels_destroy(kernels);
  kernels = NULL;
  query.providers = (const char* const[]){"nobody"};
  REFUSED(estoc_kernels_find(arguments, &query, &kernels), ESTOC_ERROR_NOT_FOUND, "nobody");
  estoc_kernel_destroy(first);
  estoc_arguments_destroy(arguments);
}

static void test_empty(void) {
  estoc_arguments* arguments = problem("gemm m=4 n=4 k=4 a=f32 out=f64 acc=f64");
  estoc_kernels* kernels = NULL;
  estoc_kernel* kernel = NULL;
  estoc_strings* messages = NULL;
  char* text = NULL;
  uint64_t count = 7;
  EXPECT_OK(estoc_kernels_find(arguments, NULL, &kernels));
  EXPECT_OK(estoc_kernels_count(kernels, &count));
  EXPECT(count == 0);
  EXPECT_OK(estoc_kernels_why_empty(kernels, &text));
  EXPECT(strstr(text, "cpu_gemm: ") != NULL);
  estoc_string_destroy(text);
  EXPECT_OK(estoc_kernels_failures(kernels, &messages));
  EXPECT(estoc_strings_count(messages) == 0);
  estoc_strings_destroy(messages);
  estoc_kernels_destroy(kernels);
  REFUSED(estoc_kernel_find(arguments, NULL, &kernel), ESTOC_ERROR_UNSUPPORTED, "cpu_gemm: ");
  estoc_arguments_destroy(arguments);
}

static void test_enumeration(void) {
  const estoc_query query = {.struct_size = sizeof(query), .filter = "class=cpu_gemm a=f64"};
  estoc_kernels* kernels = NULL;
  estoc_kernel* kernel = NULL;
  char* text = NULL;
  uint64_t all = 0, some = 0;
  EXPECT_OK(estoc_kernels_enumerate(NULL, &kernels));
  EXPECT_OK(estoc_kernels_count(kernels, &all));
  EXPECT_OK(estoc_kernels_why_empty(kernels, &text));
  EXPECT(strcmp(text, "") == 0);
  estoc_string_destroy(text);
  estoc_kernels_destroy(kernels);
  EXPECT_OK(estoc_kernels_enumerate(&query, &kernels));
  EXPECT_OK(estoc_kernels_count(kernels, &some));
  EXPECT(0 < some && some < all);
  EXPECT_OK(estoc_kernels_get(kernels, some - 1, &kernel));
  EXPECT(strncmp(estoc_kernel_name(kernel), "cpu_gemm-f64", 12) == 0);
  estoc_kernel_destroy(kernel);
  kernel = NULL;
  REFUSED(estoc_kernels_get(kernels, some, &kernel), ESTOC_ERROR_VALUE, "");
  estoc_kernels_destroy(kernels);
}

static void test_info(void) {
  const estoc_query query = {
      .struct_size = sizeof(query), .filter = "class=sm80_gemm", .target = "sm_80"};
  estoc_arguments* arguments = problem(kProblem);
  estoc_kernel *kernel = NULL, *named = NULL;
  estoc_kernel_info info = {.struct_size = sizeof(info)};
  estoc_kernel_operand operand = {.struct_size = sizeof(operand)};
  estoc_strings* targets = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, &query, &kernel));
  EXPECT_OK(estoc_kernel_get_info(kernel, &info));
  EXPECT(strcmp(info.name, estoc_kernel_name(kernel)) == 0);
  EXPECT(strcmp(info.kernel_class, "sm80_gemm") == 0 && strcmp(info.provider, "cuda") == 0);
  EXPECT(strcmp(info.operation, "gemm") == 0 && info.op == NULL);
  EXPECT(strcmp(info.accumulator, "f32") == 0 && strcmp(info.epilogue, "") == 0);
  EXPECT(info.min_cc == 80 && info.tile[0] > 0 && info.tile[1] > 0 && info.tile[2] > 0);
  EXPECT(info.cluster[0] == 1 && info.stages >= 1 && info.split >= 1);
  EXPECT(info.predicted_seconds > 0);
  EXPECT_OK(estoc_kernel_get_operand(kernel, 1, &operand));
  EXPECT(strcmp(operand.name, "B") == 0 && strcmp(operand.dtype, "bf16") == 0);
  EXPECT(strcmp(operand.layout, "n") == 0 && operand.alignment >= 1);
  EXPECT_OK(estoc_kernel_get_operand(kernel, 2, &operand));
  REFUSED(estoc_kernel_get_operand(kernel, 3, &operand), ESTOC_ERROR_VALUE, "operand");
  EXPECT_OK(estoc_kernel_targets(kernel, &targets));
  EXPECT(estoc_strings_count(targets) > 1);
  EXPECT(strcmp(estoc_strings_get(targets, 0), "sm_80") == 0);
  estoc_strings_destroy(targets);
  EXPECT_OK(estoc_kernel_by_name(info.name, &named));
  estoc_kernel_info small = {.struct_size = offsetof(estoc_kernel_info, kernel_class),
                             .kernel_class = "untouched"};
  EXPECT_OK(estoc_kernel_get_info(named, &small));
  EXPECT(strcmp(small.name, info.name) == 0 && strcmp(small.kernel_class, "untouched") == 0);
  estoc_kernel_destroy(named);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

static void test_prediction(void) {
  estoc_arguments* arguments = problem(kProblem);
  estoc_kernel* kernel = NULL;
  estoc_prediction* prediction = NULL;
  estoc_prediction_part part = {.struct_size = sizeof(part)};
  int seconds = 0;
  EXPECT_OK(estoc_kernel_find(arguments, &kSm90, &kernel));
  EXPECT_OK(estoc_kernel_predict(kernel, arguments, "sm_90a", &prediction));
  EXPECT(estoc_prediction_count(prediction) > 0);
  for (size_t i = 0; i < estoc_prediction_count(prediction); ++i) {
    EXPECT_OK(estoc_prediction_get(prediction, i, &part));
    EXPECT(part.name[0] != '\0');
    seconds += part.unit == ESTOC_UNIT_SECONDS && part.value > 0;
  }
  EXPECT(seconds > 0);
  REFUSED(estoc_prediction_get(prediction, 1000, &part), ESTOC_ERROR_VALUE, "part");
  estoc_prediction_destroy(prediction);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

static void test_explanations(void) {
  estoc_arguments* arguments = problem(kProblem);
  estoc_explanations* explanations = NULL;
  estoc_explanation one = {.struct_size = sizeof(one)};
  int applies = 0, does_not = 0;
  EXPECT_OK(estoc_explain(arguments, &kSm90, &explanations));
  for (size_t i = 0; i < estoc_explanations_count(explanations); ++i) {
    EXPECT_OK(estoc_explanations_get(explanations, i, &one));
    EXPECT((one.supported > 0) == (one.reason == ESTOC_REASON_NONE));
    EXPECT((one.supported > 0) == (one.message[0] == '\0') && one.described >= one.supported);
    if (one.supported > 0) EXPECT(strncmp(one.first, one.kernel_class, 4) == 0);
    applies += strcmp(one.kernel_class, "sm90_gemm") == 0 && one.supported > 0;
    does_not += strcmp(one.kernel_class, "cpu_gemm") == 0 && one.reason == ESTOC_REASON_TARGET;
  }
  EXPECT(applies == 1 && does_not == 1);
  estoc_explanations_destroy(explanations);
  estoc_arguments_destroy(arguments);
  EXPECT_OK(estoc_clear_discovery_cache());
}

static void test_variants(void) {
  estoc_arguments* arguments = problem(kProblem);
  estoc_arguments* fused =
      problem("gemm m=512 n=512 k=512 a=bf16:t b=bf16:n epi=\"D = relu(accum)\"");
  estoc_kernel *kernel = NULL, *other = NULL, *with_relu = NULL, *without = NULL;
  estoc_knobs knobs = {.struct_size = sizeof(knobs)};
  estoc_kernel_info info = {.struct_size = sizeof(info)};
  size_t bytes = 77, bound = 77;
  EXPECT_OK(estoc_kernel_find(arguments, &kSm90, &kernel));
  EXPECT_OK(estoc_kernel_get_knobs(kernel, &knobs));
  EXPECT(knobs.swizzle >= 1 && knobs.split >= 1);
  ++knobs.swizzle;
  EXPECT_OK(estoc_kernel_with_knobs(kernel, &knobs, &other));
  EXPECT(estoc_kernel_equal(kernel, other) == 0);
  const int swizzle = knobs.swizzle;
  EXPECT_OK(estoc_kernel_get_knobs(other, &knobs));
  EXPECT(knobs.swizzle == swizzle);
  knobs.split = 0;
  estoc_kernel* none = NULL;
  REFUSED(estoc_kernel_with_knobs(kernel, &knobs, &none), ESTOC_ERROR_VALUE, "knobs.split");
  EXPECT_OK(estoc_kernel_find(fused, &kSm90, &with_relu));
  EXPECT_OK(estoc_kernel_get_info(with_relu, &info));
  EXPECT(strstr(info.epilogue, "relu") != NULL);
  EXPECT_OK(estoc_kernel_with_epilogue(with_relu, NULL, &without));
  estoc_kernel_destroy(other);
  other = NULL;
  EXPECT_OK(estoc_kernel_with_epilogue(without, info.epilogue, &other));
  EXPECT(estoc_kernel_equal(other, with_relu) == 1 && estoc_kernel_equal(other, without) == 0);
  REFUSED(estoc_kernel_with_epilogue(without, "nonsense", &none), ESTOC_ERROR_VALUE, "");
  EXPECT_OK(estoc_kernel_workspace_size(kernel, arguments, &bytes));
  EXPECT_OK(estoc_kernel_workspace_bound(kernel, arguments, &bound));
  EXPECT(bytes <= bound && bound != 77);
  REFUSED(estoc_kernel_workspace_size(kernel, fused, &bytes), ESTOC_ERROR_UNSUPPORTED, "epilogue");
  estoc_kernel_destroy(without);
  estoc_kernel_destroy(with_relu);
  estoc_kernel_destroy(other);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(fused);
  estoc_arguments_destroy(arguments);
}

static int holds(const estoc_strings* strings, const char* word) {
  for (size_t i = 0; i < estoc_strings_count(strings); ++i)
    if (strcmp(estoc_strings_get(strings, i), word) == 0) return 1;
  return 0;
}

static void test_names(void) {
  estoc_strings* names = NULL;
  int bits = 0;
  EXPECT_OK(estoc_dtypes(&names));
  EXPECT(holds(names, "bf16") && holds(names, "e4m3"));
  estoc_strings_destroy(names);
  EXPECT_OK(estoc_targets(&names));
  EXPECT(holds(names, "cpu") && holds(names, "sm_90a"));
  estoc_strings_destroy(names);
  EXPECT_OK(estoc_providers(&names));
  EXPECT(holds(names, "cpu") && holds(names, "cuda"));
  estoc_strings_destroy(names);
  EXPECT_OK(estoc_dtype_bits("e2m1", &bits));
  EXPECT(bits == 4);
  REFUSED(estoc_dtype_bits("f31", &bits), ESTOC_ERROR_TYPE, "f31");
}

int main(void) {
  test_search();
  test_empty();
  test_enumeration();
  test_info();
  test_prediction();
  test_explanations();
  test_variants();
  test_names();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
