/* The C interface used from C: elements, random data, tensors in files, texts. */
#include <unistd.h>

#include "c_api_support.h"

static void test_elements(void) {
  unsigned char packed[2] = {0, 0};
  double value = 0;
  EXPECT_OK(estoc_store_element("e2m1", packed, 1, 1.4));
  EXPECT(packed[0] == 0x30 && packed[1] == 0);
  EXPECT_OK(estoc_load_element("e2m1", packed, 1, &value));
  EXPECT(value == 1.5);
}

static void test_random(void) {
  const int64_t shape[] = {4, 4};
  float one[16], other[16];
  const estoc_tensor t = matrix(one, shape), u = matrix(other, shape);
  EXPECT_OK(estoc_fill_random(&t, 7));
  EXPECT_OK(estoc_fill_random(&u, 7));
  EXPECT(memcmp(one, other, sizeof(one)) == 0);
  EXPECT_OK(estoc_fill_random(&u, 8));
  EXPECT(memcmp(one, other, sizeof(one)) != 0);
}

static void test_tensors(const char* stem) {
  char path[4096], named[4200];
  const int64_t shape[] = {2, 3}, turned[] = {1, 2};
  float data[] = {1, 4, 2, 5, 3, 6};
  estoc_tensor t = matrix(data, shape), read = {.struct_size = sizeof(read)};
  estoc_tensor_file* file = NULL;
  estoc_strings* names = NULL;
  t.strides = turned; /* column-major */
  snprintf(path, sizeof(path), "%s.safetensors", stem);
  snprintf(named, sizeof(named), "%s:weights", path);
  EXPECT_OK(estoc_tensor_check_save(named, "f32"));
  EXPECT_OK(estoc_tensor_save(named, &t));
  EXPECT_OK(estoc_tensor_file_names(path, &names));
  EXPECT(estoc_strings_count(names) == 1 && strcmp(estoc_strings_get(names, 0), "weights") == 0);
  estoc_strings_destroy(names);
  EXPECT_OK(estoc_tensor_file_open(path, &file));
  EXPECT_OK(estoc_tensor_file_get(file, &read));
  EXPECT(strcmp(read.dtype, "f32") == 0 && read.rank == 2 && read.device == -1);
  EXPECT(read.shape[0] == 2 && read.shape[1] == 3 && read.strides[0] == 3 && !read.scale);
  for (int i = 0; i < 6; ++i)
    EXPECT(((const float*)read.data)[i] == (float)(i + 1));
  estoc_tensor_file_destroy(file);
  remove(path);
  file = NULL;
  REFUSED(estoc_tensor_file_open(path, &file), ESTOC_ERROR_NOT_FOUND, path);
  REFUSED(estoc_tensor_check_save("x.npy", "bf16"), ESTOC_ERROR_TYPE, "bf16");
  EXPECT(file == NULL);
  t.data = NULL;
  EXPECT(estoc_tensor_save(named, &t) != ESTOC_OK && access(path, F_OK) != 0);
}

static void test_text(const char* path) {
  char line[16] = "";
  EXPECT_OK(estoc_save_text(path, "one line\n"));
  FILE* file = fopen(path, "r");
  EXPECT(file != NULL && fgets(line, sizeof(line), file) != NULL);
  EXPECT(strcmp(line, "one line\n") == 0);
  if (file != NULL) fclose(file);
  remove(path);
  EXPECT(estoc_save_text("/nonexistent/x", "text") != ESTOC_OK);
  REFUSED(estoc_save_text(NULL, "text"), ESTOC_ERROR_VALUE, "path");
  REFUSED(estoc_save_text(path, NULL), ESTOC_ERROR_VALUE, "text");
  estoc_discard_partial_files();
}

int main(int argc, char** argv) {
  const char* stem = argc > 1 ? argv[1] : "c_api_files";
  test_elements();
  test_random();
  test_tensors(stem);
  test_text(stem);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
