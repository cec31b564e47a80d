/* The C interface used from C: operations on the host are described, found, compiled and run. */
#include "c_api_support.h"

enum { M = 3, N = 5, K = 4 };

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

static void poison(void) {
  memset(out, 0xff, sizeof(out));
}

/* out = A @ B on the host, into `to`. */
static estoc_arguments* plain(float* to) {
  const estoc_tensor ta = matrix(a, kA), tb = matrix(b, kB), tout = matrix(to, kOut);
  const estoc_gemm gemm = {
      .struct_size = sizeof(gemm), .a = &ta, .b = &tb, .out = &tout, .accumulator = "f32"};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  return arguments;
}

static void test_product(void) {
  estoc_arguments* arguments = plain(out);
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  estoc_launch* launch = NULL;
  estoc_reason reason = ESTOC_REASON_OTHER;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_supports(kernel, arguments, NULL, &reason));
  EXPECT(reason == ESTOC_REASON_NONE);
  poison();
  EXPECT_OK(estoc_kernel_run(kernel, arguments, NULL));
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
  EXPECT_OK(estoc_kernel_compile(kernel, "cpu", NULL, &artifact));
  EXPECT(strcmp(estoc_artifact_target(artifact), "cpu") == 0);
  poison();
  EXPECT_OK(estoc_artifact_run(artifact, arguments, NULL));
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
  poison();
  EXPECT_OK(estoc_artifact_bind(artifact, arguments, NULL, &launch));
  EXPECT_OK(estoc_launch_start(launch, NULL));
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
  float elsewhere[M * N];
  poison();
  EXPECT_OK(estoc_launch_move(launch, a, b, elsewhere));
  EXPECT_OK(estoc_launch_start(launch, NULL));
  EXPECT(memcmp(elsewhere, product, sizeof(out)) == 0);
  EXPECT(memcmp(out, product, sizeof(out)) != 0);
  REFUSED(estoc_launch_move(launch, NULL, b, out), ESTOC_ERROR_VALUE, "A");
  estoc_launch_destroy(launch);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

/* The kernel to use, once. */
static void run(const estoc_arguments* arguments, const estoc_run_options* options) {
  estoc_kernel* kernel = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_run(kernel, arguments, options));
  estoc_kernel_destroy(kernel);
}

/* What a file holds runs without a search or a compiler. */
static void test_file(const char* path) {
  estoc_arguments* arguments = plain(out);
  estoc_kernel* kernel = NULL;
  estoc_artifact *artifact = NULL, *opened = NULL;
  estoc_bundle* bundle = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_compile(kernel, "cpu", NULL, &artifact));
  const estoc_artifact* const saved[] = {artifact};
  EXPECT_OK(estoc_bundle_save(path, saved, 1, NULL, 0));
  EXPECT_OK(estoc_bundle_open(path, &bundle));
  EXPECT_OK(estoc_bundle_find(bundle, arguments, NULL, &opened));
  estoc_bundle_destroy(bundle);
  poison();
  EXPECT_OK(estoc_artifact_run(opened, arguments, NULL));
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
  estoc_artifact_destroy(opened);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
  remove(path);
}

static void test_moved(void) {
  estoc_arguments* arguments = plain(out);
  estoc_arguments* moved = NULL;
  float elsewhere[M * N];
  EXPECT_OK(estoc_arguments_move(arguments, a, b, elsewhere, &moved));
  estoc_arguments_destroy(arguments);
  run(moved, NULL);
  EXPECT(memcmp(elsewhere, product, sizeof(out)) == 0);
  estoc_arguments_destroy(moved);
  arguments = problem("elementwise op=relu shape=4 a=f32");
  moved = NULL;
  REFUSED(estoc_arguments_move(arguments, a, NULL, out, &moved), ESTOC_ERROR_TYPE, "elementwise");
  EXPECT(moved == NULL);
  estoc_arguments_destroy(arguments);
}

/* D = relu(alpha * accum + bias) with its largest magnitude and a copy of the accumulator. */
static void test_epilogue(void) {
  static const char text[] =
      "aux = accum; D = relu(alpha * accum + shift + bias); amax = absmax(D)";
  const int64_t row[] = {N};
  float bias[N], amax = -1, aux[M * N], largest = 0;
  for (int j = 0; j < N; ++j)
    bias[j] = (float)(j - 2);
  const estoc_tensor ta = matrix(a, kA), tb = matrix(b, kB), tout = matrix(out, kOut);
  const estoc_tensor taux = matrix(aux, kOut);
  estoc_tensor tbias = matrix(bias, row), tamax = matrix(&amax, NULL);
  tbias.rank = 1;
  tamax.rank = 0;
  const size_t size = sizeof(estoc_operand);
  const estoc_operand operands[] = {
      {.struct_size = size, .name = "bias", .tensor = &tbias},
      {.struct_size = size, .name = "alpha", .number = 0.5},
      {.struct_size = size, .name = "shift", .is_integer = 1, .integer = 3},
      {.struct_size = size, .name = "aux", .tensor = &taux},
      {.struct_size = size, .name = "amax", .tensor = &tamax}};
  const estoc_controls controls = {.struct_size = sizeof(controls),
                                   .deterministic = 1,
                                   .limit_workspace = 1,
                                   .workspace_limit = 1 << 20};
  const estoc_gemm gemm = {.struct_size = sizeof(gemm),
                           .a = &ta,
                           .b = &tb,
                           .out = &tout,
                           .epilogue = text,
                           .operands = operands,
                           .operand_count = 5,
                           .controls = &controls};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  const estoc_run_options options = {
      .struct_size = sizeof(options), .threads = 1, .assume_supported = 1, .programmatic = 1};
  poison();
  run(arguments, &options);
  for (int i = 0; i < M * N; ++i) {
    const float value = product[i] / 2 + 3 + bias[i % N], wanted = value > 0 ? value : 0;
    largest = wanted > largest ? wanted : largest;
    EXPECT(out[i] == wanted);
  }
  EXPECT(amax == largest);
  EXPECT(memcmp(aux, product, sizeof(aux)) == 0);
  estoc_arguments_destroy(arguments);
}

static void test_epilogue_names(void) {
  estoc_strings *inputs = NULL, *outputs = NULL;
  EXPECT_OK(estoc_epilogue_names("t = alpha * accum; D = t + bias", &inputs, &outputs));
  EXPECT(estoc_strings_count(inputs) == 2 && strcmp(estoc_strings_get(inputs, 0), "alpha") == 0 &&
         strcmp(estoc_strings_get(inputs, 1), "bias") == 0);
  EXPECT(estoc_strings_count(outputs) == 2 && strcmp(estoc_strings_get(outputs, 1), "D") == 0);
  EXPECT(estoc_strings_get(inputs, 2) == NULL);
  estoc_strings_destroy(inputs);
  estoc_strings_destroy(outputs);
  REFUSED(estoc_epilogue_names("D = ", NULL, NULL), ESTOC_ERROR_VALUE, "column");
}

static void test_elementwise(void) {
  const int64_t shape[] = {2, 2}, row[] = {2};
  float x[] = {-1, 2, -3, 4}, y[] = {10, 20}, z[4];
  const float sum[] = {9, 22, 7, 24}, relu[] = {0, 2, 0, 4};
  const estoc_tensor tx = matrix(x, shape), tz = matrix(z, shape);
  estoc_tensor ty = matrix(y, row);
  ty.rank = 1;
  estoc_elementwise op = {.struct_size = sizeof(op), .op = "add", .a = &tx, .b = &ty, .out = &tz};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_elementwise(&op, &arguments));
  run(arguments, NULL);
  EXPECT(memcmp(z, sum, sizeof(z)) == 0);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  op.op = "relu";
  REFUSED(estoc_arguments_elementwise(&op, &arguments), ESTOC_ERROR_VALUE, "B");
  op.b = NULL;
  EXPECT_OK(estoc_arguments_elementwise(&op, &arguments));
  run(arguments, NULL);
  EXPECT(memcmp(z, relu, sizeof(z)) == 0);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  op.op = "add";
  REFUSED(estoc_arguments_elementwise(&op, &arguments), ESTOC_ERROR_VALUE, "B");
  op.op = "plus";
  REFUSED(estoc_arguments_elementwise(&op, &arguments), ESTOC_ERROR_VALUE, "plus");
  EXPECT(arguments == NULL);
}

/* A chain of elementwise operations. */
static void test_elementwise_program(void) {
  const int64_t shape[] = {2, 2}, row[] = {2};
  float x[] = {-1, 2, -3, 4}, y[] = {10, 20}, z[4];
  const float expected[] = {4.5F, 11, 3.5F, 12};
  const estoc_tensor tx = matrix(x, shape), tz = matrix(z, shape);
  estoc_tensor ty = matrix(y, row);
  ty.rank = 1;
  const estoc_operand operands[] = {
      {.struct_size = sizeof(estoc_operand), .name = "bias", .tensor = &ty},
      {.struct_size = sizeof(estoc_operand), .name = "s", .number = 0.5},
  };
  estoc_elementwise program = {.struct_size = sizeof(program),
                               .a = &tx,
                               .out = &tz,
                               .epilogue = "D = relu(accum + bias) * s",
                               .operands = operands,
                               .operand_count = 2};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_elementwise(&program, &arguments));
  run(arguments, NULL);
  EXPECT(memcmp(z, expected, sizeof(z)) == 0);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  program.op = "relu";
  REFUSED(estoc_arguments_elementwise(&program, &arguments), ESTOC_ERROR_VALUE,
          "beside an epilogue");
  EXPECT(arguments == NULL);
}

/* Two groups of their own memory; K of the second is cut off at the largest. */
static void test_pointers(void) {
  float x[] = {1, 2, 3, 4}, y[] = {1, 10, 100, 1000}, first[] = {-1, -1, -1}, second[] = {-1, -1};
  const estoc_group_entry entries[] = {
      {(uintptr_t)x, (uintptr_t)y, (uintptr_t)first, 2, 1, 2, 2, 1, 2},
      {(uintptr_t)x, (uintptr_t)y, (uintptr_t)second, 1, 2, 9, 4, 2, 2}};
  const int64_t shape[] = {2, 2, 2}, table[] = {2, 12};
  estoc_tensor like = matrix(NULL, shape);
  like.rank = 3;
  like.alignment = 4;
  estoc_tensor toffsets = matrix((float*)entries, table);
  toffsets.dtype = "i32";
  estoc_grouped_gemm grouped = {.struct_size = sizeof(grouped),
                                .a = &like,
                                .b = &like,
                                .out = &like,
                                .offsets = &toffsets,
                                .layout = "pointers"};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  run(arguments, NULL);
  EXPECT(first[0] == 21 && first[1] == -1 && first[2] == 43);
  EXPECT(second[0] == 201 && second[1] == 2010);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  grouped.epilogue = "D = -accum";
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "epilogue: expected none with groups by pointers, got one");
  grouped.epilogue = NULL;
  grouped.layout = "pointer";
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "expected ends, prefix, masked, ranges or pointers, got 'pointer'");
}

/* Rows of A that an index chooses, the last of which A does not have. */
static void test_rows(void) {
  float x[] = {1, 2, 3, 4}, y[] = {1, 0, 0, 1, 10, 0, 0, 10}, z[6];
  const float expected[] = {3, 4, 10, 20, 0, 0};
  int32_t ends[] = {1, 3}, index[] = {1, 0, 2};
  const int64_t tokens[] = {2, 2}, rows[] = {3, 2}, groups[] = {2}, weights[] = {2, 2, 2};
  const estoc_tensor tx = matrix(x, tokens), tz = matrix(z, rows);
  estoc_tensor ty = matrix(y, rows);
  ty.rank = 3;
  ty.shape = weights;
  estoc_tensor toffsets = matrix((float*)ends, groups);
  toffsets.rank = 1;
  toffsets.dtype = "i32";
  estoc_tensor tindex = matrix((float*)index, rows);
  tindex.rank = 1;
  tindex.dtype = "i32";
  estoc_grouped_gemm grouped = {.struct_size = sizeof(grouped),
                                .a = &tx,
                                .b = &ty,
                                .out = &tz,
                                .offsets = &toffsets,
                                .rows = &tindex};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  run(arguments, NULL);
  EXPECT(memcmp(z, expected, sizeof(z)) == 0);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  /* Of a program that knows no index. */
  grouped.struct_size = offsetof(estoc_grouped_gemm, rows);
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "out.shape: expected M = 2, got 3");
}

/* Groups of rows: the second is empty, the last row is in none. */
static void test_grouped(void) {
  float x[] = {1, 0, 0, 1, 1, 1, 5, 5}, y[] = {1, 2, 3, 4, 0, 0, 0, 0, 10, 20, 30, 40}, z[8];
  const float expected[] = {1, 2, 30, 40, 40, 60, -1, -1};
  int32_t ends[] = {1, 1, 3};
  const int64_t rows[] = {4, 2}, groups[] = {3};
  const estoc_tensor tx = matrix(x, rows), tz = matrix(z, rows);
  estoc_tensor ty = matrix(y, rows);
  const int64_t weights[] = {3, 2, 2};
  ty.rank = 3;
  ty.shape = weights;
  estoc_tensor toffsets = matrix(ends, groups);
  toffsets.rank = 1;
  toffsets.dtype = "i32";
  estoc_grouped_gemm grouped = {
      .struct_size = sizeof(grouped), .a = &tx, .b = &ty, .out = &tz, .offsets = &toffsets};
  estoc_arguments* arguments = NULL;
  for (int i = 0; i < 8; ++i)
    z[i] = -1;
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  run(arguments, NULL);
  EXPECT(memcmp(z, expected, sizeof(z)) == 0);
  char* text = NULL;
  EXPECT_OK(estoc_arguments_text(arguments, &text));
  EXPECT(strcmp(text, "grouped_gemm m=4 n=2 k=2 g=3 along=m a=f32:t b=f32:t out=f32:t acc=f32") ==
         0);
  estoc_string_destroy(text);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  grouped.zero_rest = 1;
  grouped.epilogue = "D = -accum";
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  run(arguments, NULL);
  EXPECT(z[0] == -1 && z[5] == -60 && z[6] == 0 && z[7] == 0);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  int32_t begins[] = {1, 2, 2, 4};
  const int64_t boundaries[] = {4};
  toffsets.data = begins;
  toffsets.shape = boundaries;
  grouped.layout = "prefix";
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  run(arguments, NULL);
  EXPECT(z[0] == 0 && z[1] == 0 && z[2] == -3 && z[3] == -4 && z[6] == -200 && z[7] == -300);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  int32_t wrong = 0;
  const int64_t one[] = {1};
  estoc_tensor status = matrix(&wrong, one);
  status.rank = 1;
  status.dtype = "i32";
  EXPECT_OK(estoc_arguments_grouped_gemm(&grouped, &arguments));
  EXPECT_OK(estoc_check_groups(arguments, &status, NULL));
  begins[2] = 7;
  REFUSED(estoc_check_groups(arguments, &status, NULL), ESTOC_ERROR_VALUE,
          "offsets[2]: expected at least 2 and at most 4, got 7");
  EXPECT(wrong == 2);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  int32_t rows_of[] = {1, 1, -1, 2}, found[6];
  const int64_t pairs[] = {3, 2};
  toffsets.data = rows_of;
  estoc_tensor tranges = matrix(found, pairs);
  tranges.dtype = "i32";
  EXPECT_OK(estoc_ranges_of_index(&toffsets, &tranges, NULL));
  EXPECT(found[0] == 0 && found[1] == 0 && found[2] == 0 && found[3] == 2 && found[4] == 3 &&
         found[5] == 4);
  EXPECT_OK(estoc_check_group_index(&toffsets, 3, NULL, NULL));
  REFUSED(estoc_check_group_index(&toffsets, 2, NULL, NULL), ESTOC_ERROR_VALUE, "index[3]");
  toffsets.data = ends;
  grouped.layout = "starts";
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "grouped_gemm.layout: expected ends, prefix, masked, ranges or pointers, got 'starts'");
  grouped.layout = NULL;
  toffsets.shape = groups;
  toffsets.dtype = "f32";
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_TYPE, "offsets.dtype");
  grouped.offsets = NULL;
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "offsets: expected the ends of the groups");
  grouped.epilogue = NULL;
  grouped.operand_count = 1;
  REFUSED(estoc_arguments_grouped_gemm(&grouped, &arguments), ESTOC_ERROR_VALUE,
          "grouped_gemm.epilogue");
  EXPECT(arguments == NULL);
}

/* Scaled operands are described; what is wrong with their scale factors is named. */
static void test_scaled(void) {
  const int64_t shape[] = {128, 256}, blocks[] = {128, 8};
  const estoc_tensor tout = described("f32", (const int64_t[]){128, 128});
  const estoc_tensor factors = described("e8m0", blocks);
  const estoc_tensor tb = described("e4m3", (const int64_t[]){256, 128});
  estoc_scale scale = {.struct_size = sizeof(scale), .tensor = &factors, .mode = "blockwise_1x32"};
  estoc_tensor ta = described("e4m3", shape);
  ta.scale = &scale;
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &ta, .b = &tb, .out = &tout};
  estoc_arguments* arguments = NULL;
  char* text = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  EXPECT_OK(estoc_arguments_text(arguments, &text));
  EXPECT(strcmp(text, "gemm m=128 n=128 k=256 l=1 a=e4m3:t*1x32:t b=e4m3:t out=f32:t acc=f32") ==
         0);
  estoc_string_destroy(text);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  scale.swizzle = "swizzle_32x4x4";
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  scale.swizzle = "zigzag";
  REFUSED(estoc_arguments_gemm(&gemm, &arguments), ESTOC_ERROR_VALUE, "A.scale.swizzle");
  scale.swizzle = NULL;
  scale.mode = "rowwise";
  REFUSED(estoc_arguments_gemm(&gemm, &arguments), ESTOC_ERROR_VALUE, "A");
  scale.mode = NULL;
  REFUSED(estoc_arguments_gemm(&gemm, &arguments), ESTOC_ERROR_VALUE, "A.scale.mode");
  scale.tensor = NULL;
  REFUSED(estoc_arguments_gemm(&gemm, &arguments), ESTOC_ERROR_VALUE, "A.scale.tensor");
  EXPECT(arguments == NULL);
}

static estoc_tensor placed(const char* dtype, void* data, const int64_t* shape) {
  return (estoc_tensor){.struct_size = sizeof(estoc_tensor),
                        .data = data,
                        .dtype = dtype,
                        .shape = shape,
                        .rank = shape == NULL ? 0 : 2,
                        .device = -1};
}

/* 256 ones of e4m3 times 256 ones: two blocks of A, one scale of B, and a second level. */
static void test_scaled_product(void) {
  unsigned char ones[256];
  float blocks[] = {2, 3}, column[] = {10}, half = 0.5F, result = 0;
  memset(ones, 0x38, sizeof(ones));
  const estoc_tensor a_factors = placed("f32", blocks, (const int64_t[]){1, 2});
  const estoc_tensor b_factors = placed("f32", column, (const int64_t[]){1, 1});
  const estoc_tensor second = placed("f32", &half, NULL);
  const estoc_scale a_scale = {.struct_size = sizeof(a_scale),
                               .tensor = &a_factors,
                               .mode = "blockwise_1x128",
                               .tensor_scale = &second};
  const estoc_scale b_scale = {
      .struct_size = sizeof(b_scale), .tensor = &b_factors, .mode = "rowwise"};
  estoc_tensor a = placed("e4m3", ones, (const int64_t[]){1, 256});
  estoc_tensor b = placed("e4m3", ones, (const int64_t[]){256, 1});
  const estoc_tensor out = placed("f32", &result, (const int64_t[]){1, 1});
  a.scale = &a_scale;
  b.scale = &b_scale;
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &a, .b = &b, .out = &out};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  estoc_plan* plan = NULL;
  EXPECT_OK(estoc_plan_create(arguments, NULL, &plan));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(result == 128 * (2 + 3) * 0.5F * 10);
  for (int round = 1; round < 4; ++round) {
    half = (float)round;
    result = 0;
    EXPECT_OK(estoc_matmul(&gemm, NULL));
    EXPECT(result == 128 * (2 + 3) * half * 10);
  }
  estoc_plan_destroy(plan);
  estoc_arguments_destroy(arguments);
}

/* A row of 900 and 2 as e4m3: the scale is 900 / 448, rounded up to a power of two. */
static void test_quantised_output(void) {
  float one = 1, row[] = {900, 2}, found = 0;
  unsigned char codes[2] = {0, 0};
  const estoc_tensor factors = placed("f32", &found, (const int64_t[]){1, 1});
  const estoc_scale scale = {.struct_size = sizeof(scale),
                             .tensor = &factors,
                             .mode = "blockwise_1x128",
                             .powers_of_two = 1};
  const estoc_tensor a = placed("f32", &one, (const int64_t[]){1, 1});
  const estoc_tensor b = placed("f32", row, (const int64_t[]){1, 2});
  estoc_tensor out = placed("e4m3", codes, (const int64_t[]){1, 2});
  out.scale = &scale;
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &a, .b = &b, .out = &out};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  estoc_plan* plan = NULL;
  EXPECT_OK(estoc_plan_create(arguments, NULL, &plan));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(found == 4 && codes[0] == 0x76 && codes[1] == 0x30);
  estoc_plan_destroy(plan);
  estoc_arguments_destroy(arguments);
}

static void test_text(void) {
  static const char text[] =
      "gemm m=64 n=32 k=16 l=1 a=bf16:t b=bf16:n out=f32:t acc=f32 "
      "deterministic=1";
  estoc_arguments* arguments = problem(text);
  char* again = NULL;
  EXPECT_OK(estoc_arguments_text(arguments, &again));
  EXPECT(strcmp(again, text) == 0);
  estoc_string_destroy(again);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  REFUSED(estoc_arguments_parse("gemm m=", -1, &arguments), ESTOC_ERROR_VALUE, "column");
}

/* What a caller tells of a problem's speed by, and how it gives a kernel the problem's epilogue. */
static void test_work_and_epilogue(void) {
  estoc_arguments* product =
      problem("gemm m=64 n=32 k=16 a=bf16 out=f32 bias=f32:row epi=\"D = relu(accum + bias)\"");
  estoc_arguments* sum = problem("elementwise op=add shape=10x10 a=f32");
  estoc_arguments* plain = problem("gemm m=64 n=32 k=16 a=bf16");
  estoc_work work = {.struct_size = sizeof(work)};
  estoc_kernel *found = NULL, *named = NULL, *fused = NULL;
  char* epilogue = NULL;
  EXPECT_OK(estoc_arguments_work(product, &work));
  EXPECT(work.flops == 2.0 * 64 * 32 * 16 && work.bytes == 2 * (64 + 32) * 16 + 4 * 64 * 32);
  EXPECT_OK(estoc_arguments_work(sum, &work));
  EXPECT(work.flops == 0 && work.bytes == 3 * 4 * 100);
  EXPECT_OK(estoc_arguments_epilogue(plain, &epilogue));
  EXPECT(strcmp(epilogue, "") == 0);
  estoc_string_destroy(epilogue);
  EXPECT_OK(estoc_arguments_epilogue(product, &epilogue));
  EXPECT_OK(estoc_kernel_find(product, NULL, &found));
  EXPECT_OK(estoc_kernel_by_name(estoc_kernel_name(found), &named));
  EXPECT_OK(estoc_kernel_with_epilogue(named, epilogue, &fused));
  EXPECT(estoc_kernel_equal(found, fused) && !estoc_kernel_equal(found, named));
  estoc_string_destroy(epilogue);
  estoc_kernel_destroy(fused);
  estoc_kernel_destroy(named);
  estoc_kernel_destroy(found);
  estoc_arguments_destroy(plain);
  estoc_arguments_destroy(sum);
  estoc_arguments_destroy(product);
}

/* A described tensor says how it would be aligned. */
static void test_alignment(void) {
  estoc_tensor t = described("bf16", (const int64_t[]){64, 64});
  const estoc_tensor tout = described("f32", (const int64_t[]){64, 64});
  const estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &t, .b = &t, .out = &tout};
  estoc_arguments* arguments = NULL;
  char* text = NULL;
  t.alignment = 2;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  EXPECT_OK(estoc_arguments_text(arguments, &text));
  EXPECT(strstr(text, "a=bf16:t@2") != NULL);
  estoc_string_destroy(text);
  estoc_arguments_destroy(arguments);
  arguments = NULL;
  t.alignment = 3;
  REFUSED(estoc_arguments_gemm(&gemm, &arguments), ESTOC_ERROR_VALUE, "A");
}

/* A program that was compiled when structs were smaller goes on to work. */
static void test_older_program(void) {
  unsigned char bytes[3][sizeof(estoc_tensor)];
  const estoc_tensor full[] = {matrix(a, kA), matrix(b, kB), matrix(out, kOut)};
  memset(bytes, 0xff, sizeof(bytes)); /* what lies behind an older struct is not the library's */
  for (int i = 0; i < 3; ++i) {
    const size_t size = offsetof(estoc_tensor, alignment);
    memcpy(bytes[i], &full[i], size);
    memcpy(bytes[i], &size, sizeof(size));
  }
  estoc_gemm gemm = {.struct_size = offsetof(estoc_gemm, accumulator),
                     .accumulator = "nonsense",
                     .epilogue = "nonsense"};
  memcpy(&gemm.a, &(const void*){bytes[0]}, sizeof(gemm.a));
  memcpy(&gemm.b, &(const void*){bytes[1]}, sizeof(gemm.b));
  memcpy(&gemm.out, &(const void*){bytes[2]}, sizeof(gemm.out));
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  const estoc_run_options options = {
      .struct_size = offsetof(estoc_run_options, threads), .threads = -1, .reserved = 1};
  poison();
  run(arguments, &options);
  EXPECT(memcmp(out, product, sizeof(out)) == 0);
  estoc_arguments_destroy(arguments);
}

int main(int argc, char** argv) {
  fill();
  test_product();
  test_file(argc > 1 ? argv[1] : "c_api_run.estoc");
  test_moved();
  test_epilogue();
  test_epilogue_names();
  test_elementwise();
  test_elementwise_program();
  test_grouped();
  test_rows();
  test_pointers();
  test_scaled();
  test_scaled_product();
  test_quantised_output();
  test_text();
  test_work_and_epilogue();
  test_alignment();
  test_older_program();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
