/* What the tests of the C interface share: expectations, and tensors of f32 on the host. */
#ifndef ESTOC_TESTS_C_API_SUPPORT_H
#define ESTOC_TESTS_C_API_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estoc/estoc.h"

static int failures = 0;

static inline void expect_at(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "line %d: expected: %s (last error: %s)\n", line, what, estoc_last_error());
}

/* The call must fail with the status, in words that hold `word`. */
static inline void refused_at(estoc_status status, estoc_status wanted, const char* word,
                              const char* call, int line) {
  if (status == wanted && strstr(estoc_last_error(), word) != NULL) return;
  ++failures;
  fprintf(stderr, "line %d: expected: status %d about '%s' from %s, got status %d (%s)\n", line,
          (int)wanted, word, call, (int)status, status == ESTOC_OK ? "" : estoc_last_error());
}

#define EXPECT(holds) expect_at((holds) != 0, #holds, __LINE__)
#define EXPECT_OK(call) expect_at((call) == ESTOC_OK, #call, __LINE__)
#define REFUSED(call, status, word) refused_at(call, status, word, #call, __LINE__)

static inline estoc_tensor matrix(void* data, const int64_t* shape) {
  const estoc_tensor tensor = {.struct_size = sizeof(tensor),
                               .data = data,
                               .dtype = "f32",
                               .shape = shape,
                               .rank = 2,
                               .device = -1};
  return tensor;
}

static inline estoc_tensor described(const char* dtype, const int64_t* shape) {
  estoc_tensor tensor = matrix(NULL, shape);
  tensor.dtype = dtype;
  return tensor;
}

static inline estoc_arguments* problem(const char* text) {
  estoc_arguments* arguments = NULL;
  EXPECT_OK(estoc_arguments_parse(text, -1, &arguments));
  return arguments;
}

#endif /* ESTOC_TESTS_C_API_SUPPORT_H */
