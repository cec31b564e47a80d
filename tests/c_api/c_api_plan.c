/* The C interface to plans and matmul, used from C. */
#include "c_api_support.h"

enum { M = 3, N = 5, K = 4 };

static const int64_t kA[] = {M, K}, kB[] = {K, N}, kOut[] = {M, N}, kBias[] = {N};

/* Operands of out = alpha * A @ B + bias. */
typedef struct {
  float a[M * K], b[K * N], bias[N], out[M * N];
} operands;

static operands make(int seed) {
  operands made;
  for (int i = 0; i < M * K; ++i)
    made.a[i] = (float)((i + seed) % 7 - 3);
  for (int i = 0; i < K * N; ++i)
    made.b[i] = (float)((i * seed) % 5 - 2);
  for (int i = 0; i < N; ++i)
    made.bias[i] = (float)(i + seed);
  memset(made.out, 0xff, sizeof(made.out));
  return made;
}

/* Whether out is what it should be; poisons it. */
static int is_product(operands* o, float alpha, const float* bias) {
  int same = 1;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += o->a[i * K + k] * o->b[k * N + j];
      same &= o->out[i * N + j] == alpha * sum + (bias != NULL ? bias[j] : 0);
    }
  }
  memset(o->out, 0xff, sizeof(o->out));
  return same;
}

static estoc_operand number(const char* name, double value) {
  const estoc_operand operand = {.struct_size = sizeof(operand), .name = name, .number = value};
  return operand;
}

static estoc_operand vector(const char* name, const estoc_tensor* tensor) {
  const estoc_operand operand = {.struct_size = sizeof(operand), .name = name, .tensor = tensor};
  return operand;
}

static estoc_tensor bias_of(operands* o) {
  estoc_tensor tensor = matrix(o->bias, kBias);
  tensor.rank = 1;
  return tensor;
}

static estoc_arguments* fused(operands* o) {
  const estoc_tensor a = matrix(o->a, kA), b = matrix(o->b, kB), out = matrix(o->out, kOut);
  const estoc_tensor bias = bias_of(o);
  const estoc_operand names[] = {number("alpha", 1), vector("bias", &bias)};
  const estoc_gemm gemm = {.struct_size = sizeof(gemm),
                           .a = &a,
                           .b = &b,
                           .out = &out,
                           .epilogue = "D = alpha * accum + bias",
                           .operands = names,
                           .operand_count = 2};
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_gemm(&gemm, &arguments));
  return arguments;
}

static void test_plan(void) {
  operands first = make(1), second = make(2);
  estoc_arguments* arguments = fused(&first);
  const estoc_plan_options options = {.struct_size = sizeof(options), .threads = 1};
  estoc_plan* plan = NULL;
  size_t bytes = 1;
  EXPECT_OK(estoc_plan_create(arguments, &options, &plan));
  estoc_arguments_destroy(arguments);
  EXPECT(strstr(estoc_plan_kernel_name(plan), "cpu_gemm") != NULL);
  EXPECT_OK(estoc_plan_workspace_size(plan, &bytes));
  EXPECT(bytes == 0);
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(is_product(&first, 1, first.bias));

  const estoc_tensor bias = bias_of(&second);
  const estoc_operand others[] = {vector("bias", &bias), number("alpha", 2)};
  EXPECT_OK(estoc_plan_rebind(plan, second.a, second.b, second.out, others, 2));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(is_product(&second, 2, second.bias));
  const estoc_operand beta = number("beta", 2);
  REFUSED(estoc_plan_rebind(plan, first.a, first.b, first.out, &beta, 1), ESTOC_ERROR_VALUE,
          "beta: expected an operand of the epilogue");
  REFUSED(estoc_plan_rebind(plan, NULL, first.b, first.out, NULL, 0), ESTOC_ERROR_VALUE, "A");
  REFUSED(estoc_plan_rebind(plan, first.a, first.b, first.out, NULL, 1), ESTOC_ERROR_VALUE,
          "operands");
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(is_product(&second, 2, second.bias));

  estoc_arguments* again = fused(&first);
  EXPECT_OK(estoc_plan_rebind_arguments(plan, again));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(is_product(&first, 1, first.bias));
  estoc_arguments_destroy(again);
  estoc_plan_destroy(plan);
  estoc_plan_destroy(NULL);
}

static void test_plan_of_an_artifact(void) {
  operands o = make(3);
  estoc_arguments* arguments = fused(&o);
  estoc_kernel* kernel = NULL;
  estoc_artifact* artifact = NULL;
  estoc_plan* plan = NULL;
  EXPECT_OK(estoc_kernel_find(arguments, NULL, &kernel));
  EXPECT_OK(estoc_kernel_compile(kernel, "cpu", NULL, &artifact));
  EXPECT_OK(estoc_plan_of_artifact(artifact, arguments, NULL, &plan));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(is_product(&o, 1, o.bias));
  estoc_arguments* other = problem("gemm m=3 n=5 k=4 a=f64 b=f64");
  REFUSED(estoc_plan_rebind_arguments(plan, other), ESTOC_ERROR_UNSUPPORTED, "A.dtype");
  estoc_arguments_destroy(other);
  estoc_plan_destroy(plan);
  estoc_artifact_destroy(artifact);
  estoc_kernel_destroy(kernel);
  estoc_arguments_destroy(arguments);
}

static void test_elementwise(void) {
  float a[] = {1, -2, 3, -4, 5, -6}, b[] = {10, 20, 30, 40, 50, 60}, out[6] = {0}, other[6] = {0};
  const int64_t shape[] = {2, 3};
  const estoc_tensor ta = matrix(a, shape), tb = matrix(b, shape), tout = matrix(out, shape);
  estoc_elementwise add = {
      .struct_size = sizeof(add), .op = "add", .a = &ta, .b = &tb, .out = &tout};
  estoc_arguments* arguments = NULL;
  estoc_plan* plan = NULL;
  EXPECT_OK(estoc_arguments_elementwise(&add, &arguments));
  EXPECT_OK(estoc_plan_create(arguments, NULL, &plan));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(out[1] == 18 && out[5] == 54);
  EXPECT_OK(estoc_plan_rebind(plan, b, b, other, NULL, 0));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(other[0] == 20 && other[5] == 120 && out[0] == 11);
  estoc_plan_destroy(plan);
  estoc_arguments_destroy(arguments);

  estoc_elementwise relu = {.struct_size = sizeof(relu), .op = "relu", .a = &ta, .out = &tout};
  EXPECT_OK(estoc_arguments_elementwise(&relu, &arguments));
  EXPECT_OK(estoc_plan_create(arguments, NULL, &plan));
  REFUSED(estoc_plan_rebind(plan, a, b, other, NULL, 0), ESTOC_ERROR_VALUE, "b: expected NULL");
  EXPECT_OK(estoc_plan_rebind(plan, a, NULL, other, NULL, 0));
  EXPECT_OK(estoc_plan_run(plan, NULL, NULL, 0));
  EXPECT(other[0] == 1 && other[1] == 0 && other[4] == 5);
  estoc_plan_destroy(plan);
  estoc_arguments_destroy(arguments);
}

static void test_matmul(void) {
  const char* dtype = NULL;
  for (int seed = 0; seed < 6; ++seed) {
    operands o = make(seed);
    const estoc_tensor a = matrix(o.a, kA), b = matrix(o.b, kB), out = matrix(o.out, kOut);
    const estoc_tensor bias = bias_of(&o);
    const estoc_operand operand = vector("bias", &bias);
    estoc_gemm gemm = {.struct_size = sizeof(gemm), .a = &a, .b = &b, .out = &out};
    const estoc_run_options options = {.struct_size = sizeof(options), .threads = 1};
    EXPECT_OK(estoc_matmul(&gemm, NULL));
    EXPECT(is_product(&o, 1, NULL));
    gemm.epilogue = "D = accum + bias";
    REFUSED(estoc_matmul(&gemm, &options), ESTOC_ERROR_VALUE, "bias: expected");
    gemm.operands = &operand;
    gemm.operand_count = 1;
    EXPECT_OK(estoc_matmul(&gemm, &options));
    EXPECT(is_product(&o, 1, o.bias));
    gemm.out = &a;
    REFUSED(estoc_matmul(&gemm, NULL), ESTOC_ERROR_VALUE, "out");
  }
  REFUSED(estoc_matmul(NULL, NULL), ESTOC_ERROR_VALUE, "gemm");
  EXPECT_OK(estoc_result_dtype("e4m3", "e5m2", &dtype));
  EXPECT(strcmp(dtype, "bf16") == 0);
  REFUSED(estoc_result_dtype("bool", "f32", &dtype), ESTOC_ERROR_TYPE, "product of bool and f32");
}

static void test_result_shape(void) {
  const int64_t batch[] = {5, 3, 4}, matrix[] = {4, 7}, vector[] = {4};
  estoc_tensor a = described("f32", matrix), b = described("f32", matrix);
  int64_t shape[3] = {9, 9, 9};
  int rank = 9;
  a.shape = batch;
  a.rank = 3;
  EXPECT_OK(estoc_result_shape(&a, &b, shape, &rank));
  EXPECT(rank == 3 && shape[0] == 5 && shape[1] == 3 && shape[2] == 7);
  a = described("f32", batch + 1);
  EXPECT_OK(estoc_result_shape(&a, &b, shape, &rank));
  EXPECT(rank == 2 && shape[0] == 3 && shape[1] == 7 && shape[2] == 0);
  b.shape = vector;
  b.rank = 1;
  REFUSED(estoc_result_shape(&a, &b, shape, &rank), ESTOC_ERROR_VALUE, "got 2 and 1");
  REFUSED(estoc_result_shape(&a, &b, NULL, &rank), ESTOC_ERROR_VALUE, "shape");
  REFUSED(estoc_result_shape(&a, &b, shape, NULL), ESTOC_ERROR_VALUE, "rank");
  EXPECT(rank == 2);
}

/* Two tokens of one feature and two experts, which give 1 and 10 times relu(x). */
typedef struct {
  float x[2], weights[4], gate_up[2], down[2], out[2];
  int32_t ids[4];
  estoc_tensor tensors[6];
  estoc_moe moe;
} layer;

static void make_layer(layer* l) {
  static const int64_t rows[] = {2, 1}, slots[] = {2, 2}, experts[] = {2, 1, 1};
  const layer made = {.x = {3, 5},
                      .weights = {1, 1, 0.5F, 7},
                      .gate_up = {1, 1},
                      .down = {1, 10},
                      .ids = {0, 1, 1, -1}};
  *l = made;
  void* const data[] = {l->x, l->ids, l->weights, l->gate_up, l->down, l->out};
  const int64_t* const shapes[] = {rows, slots, slots, experts, experts, rows};
  for (int i = 0; i < 6; ++i)
    l->tensors[i] = matrix(data[i], shapes[i]);
  l->tensors[1].dtype = "i32";
  l->tensors[3].rank = l->tensors[4].rank = 3;
  const estoc_moe moe = {.struct_size = sizeof(moe),
                         .x = &l->tensors[0],
                         .expert_ids = &l->tensors[1],
                         .weights = &l->tensors[2],
                         .w_gate_up = &l->tensors[3],
                         .w_down = &l->tensors[4],
                         .out = &l->tensors[5],
                         .activation = "relu"};
  l->moe = moe;
}

static void test_moe(void) {
  layer l, other;
  make_layer(&l);
  make_layer(&other);
  estoc_run_options options = {.struct_size = sizeof(options), .threads = 1};
  EXPECT_OK(estoc_moe_run(&l.moe, &options));
  EXPECT(l.out[0] == 33 && l.out[1] == 25);
  EXPECT_OK(estoc_moe_run(&l.moe, NULL));

  estoc_moe_plan* plan = NULL;
  size_t bytes = 0;
  EXPECT_OK(estoc_moe_plan_create(&l.moe, 1, &plan));
  EXPECT_OK(estoc_moe_plan_workspace_size(plan, &bytes));
  EXPECT(bytes > 0);
  other.ids[0] = 1;
  EXPECT_OK(estoc_moe_plan_run(plan, &other.moe, NULL, NULL, 0));
  EXPECT(other.out[0] == 60 && other.out[1] == 25);
  static _Alignas(256) unsigned char workspace[1 << 14];
  other.ids[0] = 0;
  EXPECT_OK(estoc_moe_plan_run(plan, &other.moe, NULL, workspace, sizeof(workspace)));
  EXPECT(other.out[0] == 33);
  REFUSED(estoc_moe_plan_run(plan, &other.moe, NULL, workspace, bytes - 1), ESTOC_ERROR_VALUE,
          "workspace");
  REFUSED(estoc_moe_plan_workspace_size(plan, NULL), ESTOC_ERROR_VALUE, "bytes");
  REFUSED(estoc_moe_plan_run(plan, NULL, NULL, NULL, 0), ESTOC_ERROR_VALUE, "layer");
  estoc_moe_plan_destroy(plan);
  estoc_moe_plan_destroy(NULL);

  REFUSED(estoc_moe_run(NULL, NULL), ESTOC_ERROR_VALUE, "layer");
  REFUSED(estoc_moe_plan_create(&l.moe, -1, &plan), ESTOC_ERROR_VALUE, "threads");
  REFUSED(estoc_moe_plan_create(&l.moe, 0, NULL), ESTOC_ERROR_VALUE, "plan");
  REFUSED(estoc_moe_plan_workspace_size(NULL, &bytes), ESTOC_ERROR_VALUE, "plan");
  l.moe.activation = "swish";
  REFUSED(estoc_moe_run(&l.moe, NULL), ESTOC_ERROR_VALUE, "activation");
  l.moe.activation = NULL;
  REFUSED(estoc_moe_run(&l.moe, NULL), ESTOC_ERROR_VALUE, "w_gate_up.shape");
  l.moe.reserved = 1;
  REFUSED(estoc_moe_run(&l.moe, NULL), ESTOC_ERROR_VALUE, "reserved");
  make_layer(&l);
  l.moe.out = NULL;
  REFUSED(estoc_moe_run(&l.moe, NULL), ESTOC_ERROR_VALUE, "out");
  make_layer(&l);
  l.tensors[1].dtype = "f32";
  REFUSED(estoc_moe_run(&l.moe, NULL), ESTOC_ERROR_TYPE, "expert_ids.dtype");
}

int main(void) {
  test_plan();
  test_plan_of_an_artifact();
  test_elementwise();
  test_matmul();
  test_result_shape();
  test_moe();
  return failures != 0;
}
