// Tests of reading .npy files: what is accepted, and every way a header can lie.
#include <gmock/gmock.h>

#include <cstring>

#include "estoc/numeric.hpp"
#include "estoc/tensor_file.hpp"
#include "files.h"
#include "io/npy.h"

namespace estoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

std::string floats(int count) {
  std::string bytes(static_cast<std::size_t>(count) * 4, '\0');
  for (int i = 0; i < count; ++i)
    store_element(Dtype::f32, bytes.data(), i, i);
  return bytes;
}

class Npy : public FileTest {
 protected:
  FileTensor open(std::string_view header, std::string_view data, char major = 1) const {
    return FileTensor::open(write("x.npy", npy_bytes(header, data, major)));
  }

  /// The message with which a file of these bytes is refused, after checks that it names the file.
  std::string refusal(std::string_view bytes) const {
    const std::string file = write("x.npy", bytes);
    const auto error = error_of([&] { FileTensor::open(file); });
    if (!error) return "accepted";
    EXPECT_EQ(error->kind(), ErrorKind::value);
    EXPECT_THAT(error->what(), HasSubstr(file));
    return error->what();
  }
  std::string header_refusal(std::string_view header) const {
    return refusal(npy_bytes(header, floats(6)));
  }
};

TEST_F(Npy, reads_row_major_data_in_place) {
  const FileTensor tensor = open(kHeader, floats(6));
  EXPECT_EQ(tensor.view().dtype(), Dtype::f32);
  EXPECT_THAT(tensor.view().shape(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.view().strides(), ElementsAre(3, 1));
  EXPECT_EQ(load_element(Dtype::f32, tensor.view().data(), 5), 5);
}

TEST_F(Npy, reads_fortran_order_as_strides) {
  const auto view = open("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", floats(6));
  EXPECT_THAT(view.view().strides(), ElementsAre(1, 2));
  const auto cube =
      open("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 4)}", std::string(24, '\1'));
  EXPECT_THAT(cube.view().strides(), ElementsAre(1, 2, 6));
}

TEST_F(Npy, reads_every_version) {
  for (const char version : {char{1}, char{2}, char{3}})
    EXPECT_EQ(open(kHeader, floats(6), version).view().elements(), 6);
}

TEST_F(Npy, reads_every_dtype_of_the_format_that_estoc_has) {
  const std::vector<std::pair<std::string, Dtype>> dtypes{
      {"<f8", Dtype::f64}, {"<f4", Dtype::f32},    {"<f2", Dtype::f16},     {"<i4", Dtype::i32},
      {"|i1", Dtype::i8},  {"|u1", Dtype::u8},     {"|b1", Dtype::boolean}, {"<i1", Dtype::i8},
      {">u1", Dtype::u8},  {"=b1", Dtype::boolean}};
  for (const auto& [descr, dtype] : dtypes) {
    const auto tensor = open("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3,)}",
                             std::string(static_cast<std::size_t>(storage_bytes(dtype, 3)), '\0'));
    EXPECT_EQ(tensor.view().dtype(), dtype) << descr;
  }
}

TEST_F(Npy, reads_scalars_and_empty_tensors) {
  const auto scalar = open("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", floats(1));
  EXPECT_EQ(scalar.view().rank(), 0);
  EXPECT_EQ(scalar.view().elements(), 1);
  const auto empty = open("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7)}", "");
  EXPECT_EQ(empty.view().elements(), 0);
  EXPECT_THAT(empty.view().shape(), ElementsAre(0, 7));
  EXPECT_FALSE(empty.view().described());
}

TEST_F(Npy, accepts_any_order_of_keys_and_any_spacing) {
  const auto tensor =
      open(" {\"shape\" :( 2 ,3 ,) , \n'fortran_order':False,'descr' : \"<f4\"}  \n", floats(6));
  EXPECT_THAT(tensor.view().shape(), ElementsAre(2, 3));
}

TEST_F(Npy, copies_data_that_the_header_misaligns) {
  // 10 bytes before the header and one space too few put the floats at an odd offset.
  std::string header(kHeader);
  while ((10 + header.size()) % 4 != 1)
    header += ' ';
  const FileTensor tensor = open(header, floats(6));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().data()) % 4, 0U);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(load_element(Dtype::f32, tensor.view().data(), i), i);
}

TEST_F(Npy, view_outlives_the_file_and_its_name) {
  const FileTensor tensor = open(kHeader, floats(6));
  const FileTensor copy = tensor;
  std::filesystem::remove(path("x.npy"));
  EXPECT_EQ(load_element(Dtype::f32, copy.view().data(), 4), 4);
}

TEST_F(Npy, every_truncation_is_refused) {
  const std::string whole = npy_bytes(kHeader, floats(6));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
}

TEST_F(Npy, data_must_have_the_length_the_header_says) {
  EXPECT_THAT(refusal(npy_bytes(kHeader, floats(5))),
              HasSubstr("describes 24 bytes of data, the file has 20"));
  EXPECT_THAT(refusal(npy_bytes(kHeader, floats(6) + "x")),
              HasSubstr("describes 24 bytes of data, the file has 25"));
}

TEST_F(Npy, header_length_past_the_file_is_refused) {
  std::string file = npy_bytes(kHeader, floats(6), 2);
  file.replace(8, 4, little_endian(60'000, 4));
  EXPECT_THAT(refusal(file), HasSubstr("truncated within its header"));
  file.replace(8, 4, little_endian(0xFFFF'FFFF, 4));
  EXPECT_THAT(refusal(file), HasSubstr("claims 4294967295 bytes"));
}

TEST_F(Npy, unknown_magic_and_version_are_refused) {
  std::string file = npy_bytes(kHeader, floats(6));
  EXPECT_THAT(refusal("PK" + file.substr(2)), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal(""), HasSubstr("not a .npy file"));
  for (const auto& [major, minor] : {std::pair{0, 0}, {4, 0}, {1, 1}, {255, 255}}) {
    file[6] = static_cast<char>(major);
    file[7] = static_cast<char>(minor);
    EXPECT_THAT(refusal(file), HasSubstr("is unknown, expected 1.0 to 3.0"));
  }
}

TEST_F(Npy, dtypes_that_are_not_there_are_refused) {
  const auto with_descr = [&](std::string_view descr) {
    return header_refusal("{'descr': " + std::string(descr) +
                          ", 'fortran_order': False, 'shape': (2, 3)}");
  };
  EXPECT_THAT(with_descr("'>f4'"), HasSubstr("'>f4' is big-endian, expected little-endian"));
  for (const std::string_view descr : {"'<i8'", "'<c8'", "'|V2'", "'<U4'", "'|O'", "'<M8[ns]'",
                                       "'f4'", "''", "'<f3'", "'|f4'", "'<f4 '"}) {
    EXPECT_THAT(with_descr(descr), HasSubstr("Estoc has no dtype")) << descr;
  }
  EXPECT_THAT(with_descr("[('x', '<f4'), ('y', '<f4')]"), HasSubstr("structured"));
  EXPECT_THAT(with_descr("('<f4', (2,))"), HasSubstr("structured"));
}

TEST_F(Npy, shapes_that_lie_are_refused) {
  const auto with_shape = [&](std::string_view shape) {
    return header_refusal(
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + "}");
  };
  EXPECT_THAT(with_shape("(4294967296, 4294967296)"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("(2305843009213693952,)"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("(0, 4611686018427387904, 4)"), HasSubstr("overflows"));
  EXPECT_THAT(with_shape("(9223372036854775808,)"), HasSubstr("below 2^63"));
  EXPECT_THAT(with_shape("(1, 1, 1, 1, 1, 2, 3)"), HasSubstr("more than 6 modes"));
  for (const std::string_view shape :
       {"(-2, 3)", "(2.0, 3)", "(2, 3", "2, 3)", "[2, 3]", "(6)", "6", "(2,,3)", "(,)", "(2 3)",
        "(2e0, 3)", "(0x2, 3)", "(None, 3)", "('2', 3)", "((2, 3))", "(+2, 3)"}) {
    EXPECT_THAT(with_shape(shape), HasSubstr("malformed")) << shape;
  }
}

TEST_F(Npy, malformed_headers_are_refused) {
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x"),
              HasSubstr("expected the end"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("lacks"));
  EXPECT_THAT(header_refusal("{}"), HasSubstr("lacks"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False}"),
              HasSubstr("'descr' twice"));
  EXPECT_THAT(header_refusal("{'fortran_order': False, 'fortran_order': True}"),
              HasSubstr("'fortran_order' twice"));
  EXPECT_THAT(header_refusal("{'shape': (2, 3), 'shape': (2, 3)}"), HasSubstr("'shape' twice"));
  EXPECT_THAT(header_refusal("{'colour': 'blue'}"), HasSubstr("unknown key 'colour'"));
  for (const std::string_view header :
       {"", "(", "{", "{'descr'", "{'descr':", "{'descr': '<f4", "{'descr': '<f4',", "{descr: 1}",
        "{'descr': '\\x3cf4'}", "{'fortran_order': 0}", "{'fortran_order': true}", "{,}",
        "{'descr': '<f4' 'fortran_order': False}"}) {
    EXPECT_THAT(header_refusal(header), HasSubstr("malformed at character")) << header;
  }
}

TEST_F(Npy, messages_hold_no_control_characters_and_no_endless_quotes) {
  const std::string key = "\x1b[31m" + std::string(500, 'k');
  const std::string message = header_refusal("{'" + key + "': 1}");
  EXPECT_EQ(message.find('\x1b'), message.npos);
  EXPECT_LT(message.size(), path("x.npy").size() + 200);
}

TEST(NpyHeader, is_padded_and_reads_back) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{}, {5}, {2, 3}, {1, 2, 3, 4, 5, 6}}) {
    const std::string header = io::npy_header(Dtype::f16, shape);
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.back(), '\n');
    std::size_t elements = 1;
    for (const std::int64_t extent : shape)
      elements *= static_cast<std::size_t>(extent);
    const std::string file = header + std::string(elements * 2, '\0');
    const io::NpyHeader read = io::parse_npy(std::as_bytes(std::span(file)), "x");
    EXPECT_EQ(read.shape, shape);
    EXPECT_EQ(read.dtype, Dtype::f16);
    EXPECT_FALSE(read.fortran_order);
    EXPECT_EQ(read.data_offset, header.size());
  }
}

}  // namespace
}  // namespace estoc::test
