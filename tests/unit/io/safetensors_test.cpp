// Tests of reading .safetensors files: what is accepted, and every way a header can lie.
#include <gmock/gmock.h>

#include <cstring>

#include "estoc/numeric.hpp"
#include "estoc/tensor_file.hpp"
#include "files.h"
#include "io/safetensors.h"

namespace estoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTwo = R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                  R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";

class Safetensors : public FileTest {
 protected:
  std::string file(std::string_view header, std::size_t data_size) const {
    return write("m.safetensors", safetensors_bytes(header, std::string(data_size, '\0')));
  }

  /// The message with which a file of these bytes is refused.
  std::string refusal_of(std::string_view bytes) const {
    const std::string name = write("m.safetensors", bytes);
    const auto error = error_of([&] { safetensors_names(name); });
    if (!error) return "accepted";
    EXPECT_EQ(error->kind(), ErrorKind::value);
    EXPECT_THAT(error->what(), HasSubstr(name));
    return error->what();
  }
  std::string refusal(std::string_view header, std::size_t data_size) const {
    return refusal_of(safetensors_bytes(header, std::string(data_size, '\0')));
  }

  /// The refusal of a file with one tensor `w` of that description and 16 bytes of data.
  std::string tensor_refusal(std::string_view description) const {
    return refusal("{\"w\":{" + std::string(description) + "}}", 16);
  }
};

TEST_F(Safetensors, opens_tensors_by_name) {
  std::string data(22, '\0');
  store_element(Dtype::f32, data.data(), 3, 2.5);
  store_element(Dtype::bf16, data.data(), 10, -1);
  const std::string name = write("m.safetensors", safetensors_bytes(kTwo, data));

  const FileTensor w = FileTensor::open(name + ":w");
  EXPECT_EQ(w.view().dtype(), Dtype::f32);
  EXPECT_THAT(w.view().shape(), ElementsAre(2, 2));
  EXPECT_THAT(w.view().strides(), ElementsAre(2, 1));
  EXPECT_EQ(load_element(Dtype::f32, w.view().data(), 3), 2.5);
  const FileTensor b = FileTensor::open(name + ":b");
  EXPECT_EQ(b.view().dtype(), Dtype::bf16);
  EXPECT_EQ(load_element(Dtype::bf16, b.view().data(), 2), -1);
}

TEST_F(Safetensors, names_come_in_the_order_of_the_file) {
  EXPECT_THAT(safetensors_names(file(kTwo, 22)), ElementsAre("w", "b"));
  EXPECT_THAT(safetensors_names(file("{}", 0)), ElementsAre());
}

TEST_F(Safetensors, the_name_may_be_left_out_of_a_file_with_one_tensor) {
  const std::string one = file(
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4);
  EXPECT_EQ(FileTensor::open(one).view().dtype(), Dtype::i8);

  const std::string two = file(kTwo, 22);
  const auto error = error_of([&] { FileTensor::open(two); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::value);
  EXPECT_THAT(error->what(), HasSubstr("holds 2 tensors"));
  EXPECT_THAT(error->what(), HasSubstr("'w', 'b'"));
}

TEST_F(Safetensors, a_missing_tensor_is_not_found_and_the_nearest_is_named) {
  const std::string name =
      file(R"({"fc1.weight":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4);
  const auto near = error_of([&] { FileTensor::open(name + ":fc1.wieght"); });
  ASSERT_TRUE(near);
  EXPECT_EQ(near->kind(), ErrorKind::not_found);
  EXPECT_THAT(near->what(), HasSubstr("did you mean 'fc1.weight'?"));
  const auto far = error_of([&] { FileTensor::open(name + ":zzz"); });
  ASSERT_TRUE(far);
  EXPECT_THAT(far->what(), HasSubstr("it has 'fc1.weight'"));
}

TEST_F(Safetensors, a_list_of_many_names_is_cut) {
  std::string header = "{";
  for (int i = 0; i < 100; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
              R"(":{"dtype":"I8","shape":[0],"data_offsets":[0,0]})";
  }
  const auto error = error_of([&] { FileTensor::open(file(header + "}", 0)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("'t7' and 92 more"));
}

TEST_F(Safetensors, reads_every_dtype_of_the_format_that_estoc_has) {
  const std::vector<std::pair<std::string, Dtype>> dtypes{
      {"F64", Dtype::f64},      {"F32", Dtype::f32},      {"F16", Dtype::f16},
      {"BF16", Dtype::bf16},    {"F8_E4M3", Dtype::e4m3}, {"F8_E5M2", Dtype::e5m2},
      {"F8_E8M0", Dtype::e8m0}, {"I32", Dtype::i32},      {"I8", Dtype::i8},
      {"U8", Dtype::u8},        {"BOOL", Dtype::boolean}};
  for (const auto& [name, dtype] : dtypes) {
    const auto size = static_cast<std::size_t>(storage_bytes(dtype, 6));
    const std::string header = "{\"x\":{\"dtype\":\"" + name +
                               "\",\"shape\":[2,3],\"data_offsets\":[0," + std::to_string(size) +
                               "]}}";
    EXPECT_EQ(FileTensor::open(file(header, size)).view().dtype(), dtype) << name;
  }
}

TEST_F(Safetensors, a_dtype_estoc_lacks_spoils_only_its_own_tensor) {
  const std::string name = file(R"({"i":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                                R"("n":{"dtype":"F7_NEW","shape":[5],"data_offsets":[16,19]},)"
                                R"("x":{"dtype":"U8","shape":[1],"data_offsets":[19,20]}})",
                                20);
  EXPECT_EQ(FileTensor::open(name + ":x").view().dtype(), Dtype::u8);
  for (const std::string_view tensor : {":i", ":n"}) {
    const auto error = error_of([&] { FileTensor::open(name + std::string(tensor)); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr("for which Estoc has no dtype"));
  }
}

TEST_F(Safetensors, copies_data_that_the_file_misaligns) {
  std::string data(9, '\0');
  const float value = 1.5F;
  std::memcpy(&data[1], &value, sizeof value);
  const std::string name = write(
      "m.safetensors", safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                         R"("x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                         data));
  const FileTensor tensor = FileTensor::open(name + ":x");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().data()) % 4, 0U);
  EXPECT_EQ(load_element(Dtype::f32, tensor.view().data(), 0), 1.5);
}

TEST_F(Safetensors, padding_after_the_header_is_accepted) {
  EXPECT_THAT(safetensors_names(file(std::string(kTwo) + "     ", 22)), ElementsAre("w", "b"));
}

TEST_F(Safetensors, names_may_hold_any_text) {
  const std::string name =
      file(R"({"a:b \"\u00e9\".npy":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1);
  EXPECT_EQ(FileTensor::open(name + ":a:b \"\xC3\xA9\".npy").view().rank(), 0);
}

TEST_F(Safetensors, every_truncation_is_refused) {
  const std::string whole = safetensors_bytes(kTwo, std::string(22, '\0'));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal_of(whole.substr(0, size)), "accepted") << size;
}

TEST_F(Safetensors, a_header_length_that_lies_is_refused) {
  std::string bytes = safetensors_bytes(kTwo, std::string(22, '\0'));
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1'000}, std::uint64_t{100'000'001},
        std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    bytes.replace(0, 8, little_endian(length, 8));
    EXPECT_NE(refusal_of(bytes), "accepted") << length;
  }
  EXPECT_THAT(refusal_of(little_endian(100'000'001, 8)), HasSubstr("expected at most 100000000"));
}

TEST_F(Safetensors, offsets_that_lie_are_refused) {
  const auto with_offsets = [&](std::string_view offsets) {
    return tensor_refusal(R"("dtype":"F32","shape":[4],"data_offsets":)" + std::string(offsets));
  };
  EXPECT_EQ(with_offsets("[0,16]"), "accepted");
  EXPECT_THAT(with_offsets("[0,17]"), HasSubstr("the file has 16 bytes of data"));
  EXPECT_THAT(with_offsets("[16,0]"), HasSubstr("data_offsets [16, 0]"));
  EXPECT_THAT(with_offsets("[18446744073709551600,16]"), HasSubstr("18446744073709551600"));
  EXPECT_THAT(with_offsets("[0,12]"), HasSubstr("4 bytes at its end belong to no tensor"));
  EXPECT_THAT(with_offsets("[4,16]"), HasSubstr("gap before tensor 'w'"));
  EXPECT_THAT(with_offsets("[-1,16]"), HasSubstr("a negative number"));
  EXPECT_THAT(with_offsets("[0,16.0]"), HasSubstr("no integer"));
  EXPECT_THAT(with_offsets("[0,99999999999999999999]"), HasSubstr("no integer"));
  EXPECT_THAT(with_offsets("[0,16,16]"), HasSubstr("more than two"));
  EXPECT_THAT(with_offsets("[0]"), HasSubstr("two data_offsets"));
  EXPECT_THAT(with_offsets("[]"), HasSubstr("two data_offsets"));
  EXPECT_THAT(with_offsets("16"), HasSubstr("has a number"));
  EXPECT_THAT(with_offsets("[[0,16]]"), HasSubstr("has an array"));
  EXPECT_THAT(with_offsets("{}"), HasSubstr("has an object"));
  EXPECT_THAT(with_offsets("[\"0\",\"16\"]"), HasSubstr("has a string"));
  EXPECT_THAT(with_offsets("[null,16]"), HasSubstr("has null"));
}

TEST_F(Safetensors, shapes_that_lie_are_refused) {
  const auto with_shape = [&](std::string_view shape) {
    return tensor_refusal(R"("dtype":"F32","data_offsets":[0,16],"shape":)" + std::string(shape));
  };
  EXPECT_EQ(with_shape("[2,2]"), "accepted");
  EXPECT_THAT(with_shape("[2,3]"), HasSubstr("has 16 bytes of data, expected 24 for F32 (2, 3)"));
  EXPECT_THAT(with_shape("[4294967296,4294967296]"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("[4611686018427387905,4]"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("[0,4611686018427387905,4]"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("[9223372036854775808]"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("[-2,-2]"), HasSubstr("a negative number"));
  EXPECT_THAT(with_shape("[2.5]"), HasSubstr("no integer"));
  EXPECT_THAT(with_shape("[true]"), HasSubstr("a boolean"));
  EXPECT_THAT(with_shape("4"), HasSubstr("has a number"));
  std::string many = "[4";
  for (int i = 0; i < 64; ++i)
    many += ",1";
  EXPECT_THAT(with_shape(many + "]"), HasSubstr("over 64 modes"));
}

TEST_F(Safetensors, sizes_of_dtypes_estoc_lacks_are_checked_too) {
  const auto with_f4 = [&](std::string_view shape) {
    return refusal(
        R"({"x":{"dtype":"F4","data_offsets":[0,2],"shape":)" + std::string(shape) + "}}", 2);
  };
  EXPECT_EQ(with_f4("[2,2]"), "accepted");
  EXPECT_THAT(with_f4("[5]"), HasSubstr("has 2 bytes of data, expected 3 for F4 (5)"));
  EXPECT_THAT(with_f4("[3]"), HasSubstr("expected 2 for F4 (3)"));
}

TEST_F(Safetensors, a_rank_beyond_a_view_spoils_only_its_own_tensor) {
  const std::string name =
      file(R"({"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(safetensors_names(name), ElementsAre("x"));
  const auto error = error_of([&] { FileTensor::open(name); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("has 7 modes, expected at most 6"));
}

TEST_F(Safetensors, overlap_is_refused) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                      R"("b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                      12),
              HasSubstr("overlap tensor 'b'"));
}

TEST_F(Safetensors, duplicate_names_and_keys_are_refused) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("\u0061":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                      8),
              HasSubstr("tensor 'a' is there twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0), HasSubstr("twice"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16])"),
              HasSubstr("the key 'dtype' twice"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F32","shape":[4],"data_offsets":[0,16],"shape":[4])"),
              HasSubstr("the key 'shape' twice"));
}

TEST_F(Safetensors, incomplete_and_unknown_descriptions_are_refused) {
  EXPECT_THAT(tensor_refusal(""), HasSubstr("lacks"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F32","shape":[4])"), HasSubstr("lacks"));
  EXPECT_THAT(tensor_refusal(R"("shape":[4],"data_offsets":[0,16])"), HasSubstr("lacks"));
  EXPECT_THAT(tensor_refusal(R"("order":"F")"), HasSubstr("unknown key 'order'"));
  EXPECT_THAT(tensor_refusal(R"("dtype":7)"), HasSubstr("has a number"));
  EXPECT_THAT(refusal(R"({"w":[]})", 0), HasSubstr("has an array"));
  EXPECT_THAT(refusal(R"({"w":"F32"})", 0), HasSubstr("has a string"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":{}}})", 0), HasSubstr("has an object"));
  EXPECT_THAT(refusal(R"({"__metadata__":7})", 0), HasSubstr("has a number"));
}

TEST_F(Safetensors, malformed_json_is_refused) {
  for (const std::string_view header :
       {"{", "{\"w\"", "{\"w\":}", "{}}", "{} x", "{'w':{}}", "{\"w\":{},}", "{\"\xFF\":{}}",
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[1,],\"data_offsets\":[0,4]}}"}) {
    EXPECT_THAT(refusal(header, 0), HasSubstr("cannot read")) << header;
  }
  EXPECT_THAT(refusal("[]", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(refusal(" {}", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(refusal("", 0), HasSubstr("does not begin with '{'"));
}

TEST_F(Safetensors, deep_nesting_is_refused_at_once) {
  std::string header = "{\"w\":";
  header += std::string(1'000'000, '[');
  EXPECT_THAT(refusal(header, 0), HasSubstr("has an array"));
}

TEST(SafetensorsHeader, is_padded_and_reads_back) {
  for (const std::string_view name : {"out", "", "a\"b\\c\n", "\xC3\xA9"}) {
    const std::vector<std::int64_t> shape{2, 3};
    std::string bytes = io::safetensors_header(name, Dtype::e4m3, shape);
    EXPECT_EQ(bytes.size() % 8, 0U);
    const std::size_t data = bytes.size();
    bytes += std::string(6, '\0');
    const auto entries = io::parse_safetensors(std::as_bytes(std::span(bytes)), "x");
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].name, name);
    EXPECT_EQ(entries[0].dtype, "F8_E4M3");
    EXPECT_EQ(entries[0].shape, shape);
    EXPECT_EQ(entries[0].begin, data);
    EXPECT_EQ(entries[0].end, data + 6);
  }
}

}  // namespace
}  // namespace estoc::test
