// Tests of writing tensors: contents whatever the strides, and nothing left behind on failure.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "estoc/numeric.hpp"
#include "estoc/tensor_file.hpp"
#include "files.h"
#include "tmpfs.h"

namespace estoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Memory and a view of it with the given strides; every element holds its row-major number,
/// what is between the elements 99.
struct Strided {
  Strided(Dtype dtype, const std::vector<std::int64_t>& shape,
          const std::vector<std::int64_t>& strides) {
    std::int64_t span = 1;
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      span += std::max<std::int64_t>(0, shape[i] - 1) * strides[i];
      elements *= shape[i];
    }
    memory.resize(static_cast<std::size_t>(span * storage_bytes(dtype, 1)));
    for (std::int64_t i = 0; i < span; ++i)
      store_element(dtype, memory.data(), i, 99);
    for (std::int64_t i = 0; i < elements; ++i) {
      std::int64_t rest = i;
      std::int64_t offset = 0;
      for (std::size_t mode = shape.size(); mode-- > 0;) {
        offset += rest % shape[mode] * strides[mode];
        rest /= shape[mode];
      }
      store_element(dtype, memory.data(), offset, static_cast<double>(i % 7));
    }
    view = TensorView(memory.data(), dtype, shape, strides);
  }

  std::vector<std::byte> memory;
  TensorView view;
};

/// Checks that the tensor at `path` is row-major and holds the numbers that Strided wrote.
void expect_numbered(const std::string& path, Dtype dtype, const std::vector<std::int64_t>& shape) {
  const FileTensor tensor = FileTensor::open(path);
  EXPECT_EQ(tensor.view().dtype(), dtype);
  EXPECT_EQ(std::vector(tensor.view().shape().begin(), tensor.view().shape().end()), shape);
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i)
    ASSERT_EQ(load_element(dtype, tensor.view().data(), i), static_cast<double>(i % 7)) << i;
}

class Save : public FileTest {
 protected:
  void expect_failure(const std::string& destination, const TensorView& tensor, ErrorKind kind,
                      std::string_view message) const {
    for (const bool only_check : {true, false}) {
      const auto error = error_of([&] {
        if (only_check) return check_save(destination, tensor.dtype());
        save_tensor(destination, tensor);
      });
      ASSERT_TRUE(error) << destination << (only_check ? " (check)" : "");
      EXPECT_EQ(error->kind(), kind) << error->what();
      EXPECT_THAT(error->what(), HasSubstr(std::string(message)));
    }
  }
};

TEST_F(Save, every_dtype_of_each_format_comes_back) {
  for (const Dtype dtype : all_dtypes()) {
    if (is_packed(dtype)) continue;
    const Strided source(dtype, {3, 5}, {5, 1});
    const Dtype stored = dtype == Dtype::tf32 ? Dtype::f32 : dtype;
    save_tensor(path("x.safetensors"), source.view);
    const FileTensor read = FileTensor::open(path("x.safetensors:out"));
    EXPECT_EQ(read.view().dtype(), stored);
    EXPECT_EQ(std::memcmp(read.view().data(), source.memory.data(), source.memory.size()), 0)
        << dtype_name(dtype);
    if (const auto refused = error_of([&] { check_save(path("x.npy"), dtype); })) {
      EXPECT_EQ(refused->kind(), ErrorKind::type);
      continue;
    }
    save_tensor(path("x.npy"), source.view);
    const FileTensor npy = FileTensor::open(path("x.npy"));
    EXPECT_EQ(npy.view().dtype(), stored);
    EXPECT_EQ(std::memcmp(npy.view().data(), source.memory.data(), source.memory.size()), 0);
  }
}

TEST_F(Save, writes_exactly_the_bytes_of_the_format) {
  const std::array<std::int8_t, 3> data{1, 2, -1};
  const auto view = TensorView::row_major(const_cast<std::int8_t*>(data.data()), Dtype::i8, {3});
  save_tensor(path("x.npy"), view);
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }";
  header.append(128 - 10 - header.size() - 1, ' ');
  EXPECT_EQ(read("x.npy"), npy_bytes(header + "\n", "\x01\x02\xFF"));

  save_tensor(path("x.safetensors:w"), view);
  EXPECT_EQ(read("x.safetensors"),
            safetensors_bytes(R"({"w":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}   )",
                              "\x01\x02\xFF"));
}

TEST_F(Save, dtypes_without_a_place_in_the_format_are_refused) {
  const Strided bf16(Dtype::bf16, {2}, {1});
  expect_failure(path("x.npy"), bf16.view, ErrorKind::type,
                 ".npy does not know that dtype, .safetensors does");
  std::array<std::byte, 2> nibbles{};
  for (const Dtype dtype : {Dtype::e2m1, Dtype::i4, Dtype::u4}) {
    const auto view = TensorView::row_major(nibbles.data(), dtype, {4});
    expect_failure(path("x.npy"), view, ErrorKind::type, "packed");
    expect_failure(path("x.safetensors"), view, ErrorKind::type, "packed");
  }
  EXPECT_THAT(listing(), IsEmpty());
}

TEST_F(Save, strided_tensors_are_written_row_major) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> cases{
      {{}, {}},
      {{5}, {1}},
      {{5}, {3}},
      {{4, 6}, {1, 4}},
      {{4, 6}, {10, 1}},
      {{4, 6}, {20, 3}},
      {{2, 3, 4}, {12, 1, 3}},
      {{2, 3, 4}, {1, 2, 6}},
      {{2, 3, 4}, {100, 20, 2}},
      {{2, 1, 3, 2, 2}, {13, 999, 4, 2, 1}},
      {{2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32}},
      {{0, 4}, {4, 1}},
      {{3, 0, 4}, {4, 4, 1}},
  };
  for (const auto& [shape, strides] : cases) {
    for (const Dtype dtype : {Dtype::i8, Dtype::f16, Dtype::f32, Dtype::f64}) {
      const Strided source(dtype, shape, strides);
      save_tensor(path("x.npy"), source.view);
      expect_numbered(path("x.npy"), dtype, shape);
    }
  }
}

TEST_F(Save, matrices_larger_than_the_buffer_are_written_row_major) {
  const std::vector<std::vector<std::int64_t>> shapes{{700, 1000}, {3, 1'500'000}, {1'500'000, 3}};
  for (const auto& shape : shapes) {
    const Strided columns(Dtype::f16, shape, {1, shape[0]});
    save_tensor(path("x.npy"), columns.view);
    expect_numbered(path("x.npy"), Dtype::f16, shape);
    const Strided gapped(Dtype::f16, shape, {shape[1] * 2, 2});
    save_tensor(path("x.npy"), gapped.view);
    expect_numbered(path("x.npy"), Dtype::f16, shape);
  }
}

TEST_F(Save, repeated_elements_are_written_out) {
  const std::array<float, 3> row{0, 1, 2};
  save_tensor(path("x.npy"),
              TensorView(const_cast<float*>(row.data()), Dtype::f32, {2, 3}, {0, 1}));
  const FileTensor tensor = FileTensor::open(path("x.npy"));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(load_element(Dtype::f32, tensor.view().data(), i), i % 3);
}

RC_GTEST_FIXTURE_PROP(Save, any_strides_come_back_row_major, ()) {
  const auto rank = *rc::gen::inRange<std::size_t>(0, kMaxRank + 1);
  std::vector<std::int64_t> shape(rank);
  for (std::int64_t& extent : shape)
    extent = *rc::gen::inRange<std::int64_t>(0, 5);
  // Modes take their places in memory in any order, with gaps after some.
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = rank; i > 1; --i)
    std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  std::vector<std::int64_t> strides(rank);
  std::int64_t next = 1;
  for (const std::size_t mode : order) {
    strides[mode] = next + *rc::gen::inRange<std::int64_t>(0, 2);
    next = strides[mode] * std::max<std::int64_t>(1, shape[mode]);
  }
  const Strided source(Dtype::f16, shape, strides);
  save_tensor(path("x.safetensors"), source.view);
  expect_numbered(path("x.safetensors"), Dtype::f16, shape);
}

TEST_F(Save, replaces_a_file_whole_and_leaves_nothing_else) {
  write("x.npy", "old");
  const Strided source(Dtype::f32, {2}, {1});
  save_tensor(path("x.npy"), source.view);
  EXPECT_THAT(listing(), ElementsAre("x.npy"));
  expect_numbered(path("x.npy"), Dtype::f32, {2});
}

TEST_F(Save, a_mapped_input_may_be_replaced_by_the_output) {
  const Strided source(Dtype::f32, {2, 3}, {3, 1});
  save_tensor(path("x.npy"), source.view);
  const FileTensor input = FileTensor::open(path("x.npy"));
  save_tensor(path("x.npy"), input.view().transposed());
  EXPECT_EQ(load_element(Dtype::f32, input.view().data(), 1), 1);
  const FileTensor output = FileTensor::open(path("x.npy"));
  EXPECT_THAT(output.view().shape(), ElementsAre(3, 2));
  EXPECT_EQ(load_element(Dtype::f32, output.view().data(), 1), 3);
}

TEST_F(Save, a_check_leaves_nothing) {
  check_save(path("x.npy"), Dtype::f32);
  EXPECT_THAT(listing(), IsEmpty());
  write("x.npy", "old");
  check_save(path("x.npy"), Dtype::f32);
  EXPECT_EQ(read("x.npy"), "old");
}

TEST_F(Save, bad_destinations_are_refused_by_check_and_save) {
  const Strided source(Dtype::f32, {2}, {1});
  expect_failure(path("x.bin"), source.view, ErrorKind::value, "expected FILE.npy");
  expect_failure(path("no/x.npy"), source.view, ErrorKind::not_found, "no/x.npy");
  expect_failure(path("x.safetensors:"), source.view, ErrorKind::value, "name after ':'");
  expect_failure(path("x.safetensors:__metadata__"), source.view, ErrorKind::value, "__metadata__");
  expect_failure(path("x.safetensors:\xFF"), source.view, ErrorKind::value, "not UTF-8");
  std::filesystem::create_directory(path("d.npy"));
  expect_failure(path("d.npy"), source.view, ErrorKind::io, "it is a folder");
  std::filesystem::create_symlink("/dev/full", path("full.npy"));
  expect_failure(path("full.npy"), source.view, ErrorKind::io, "not a regular file");
  write("file", "");
  expect_failure(path("file/x.npy"), source.view, ErrorKind::not_found, "file/x.npy");
  EXPECT_THAT(listing(), ::testing::UnorderedElementsAre("d.npy", "full.npy", "file"));
}

TEST_F(Save, a_folder_that_cannot_be_written_is_refused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  const Strided source(Dtype::f32, {2}, {1});
  {
    const Unprivileged nobody;
    expect_failure(path("x.npy"), source.view, ErrorKind::io, "x.npy");
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_THAT(listing(), IsEmpty());
}

TEST_F(Save, a_tensor_elsewhere_or_without_data_is_refused) {
  const std::array<std::int64_t, 1> shape{4};
  const std::array<std::int64_t, 1> strides{1};
  const auto error = error_of(
      [&] { save_tensor(path("x.npy"), TensorView::describe(Dtype::f32, shape, strides)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("without data"));
  const auto on_device = error_of([&] {
    save_tensor(path("x.npy"), TensorView::describe(Dtype::f32, shape, strides, Device::cuda(1)));
  });
  ASSERT_TRUE(on_device);
  EXPECT_THAT(on_device->what(), HasSubstr("cuda:1"));
  EXPECT_THAT(listing(), IsEmpty());
}

/// What remains of the rules when the disk is full: an io error, the old file, nothing else.
void save_to_full_disk(const std::string& folder, std::string& wrong) {
  std::ofstream(folder + "/x.npy") << "old";
  const Strided source(Dtype::f64, {1000, 100}, {1, 1000});
  for (const std::string name : {"/x.npy", "/y.safetensors"}) {
    const auto error = error_of([&] { save_tensor(folder + name, source.view); });
    if (!error || error->kind() != ErrorKind::io) wrong += "no io error for " + name + "\n";
    if (error && std::string(error->what()).find(name) == std::string::npos)
      wrong += std::string("unnamed file in: ") + error->what() + "\n";
  }
  std::string old;
  std::ifstream(folder + "/x.npy") >> old;
  if (old != "old") wrong += "the old file is gone\n";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != "x.npy") wrong += entry.path().string() + " was left\n";
  }
}

TEST_F(Save, a_full_disk_leaves_the_old_file_and_nothing_else_if_a_tmpfs_can_be_mounted) {
  const std::string folder = folder_;
  const auto outcome = run_on_tmpfs(folder, 64, false,
                                    [&](std::string& wrong) { save_to_full_disk(folder, wrong); });
  if (outcome == TmpfsOutcome::cannot_mount) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  EXPECT_EQ(outcome, TmpfsOutcome::passed);
}

TEST_F(Save, a_read_only_disk_is_refused_by_check_and_save_if_a_tmpfs_can_be_mounted) {
  const std::string folder = folder_;
  const Strided source(Dtype::f32, {2}, {1});
  const auto outcome = run_on_tmpfs(folder, 64, true, [&](std::string& wrong) {
    const auto saved = error_of([&] { save_tensor(folder + "/x.npy", source.view); });
    const auto checked = error_of([&] { check_save(folder + "/x.npy", Dtype::f32); });
    if (!saved || saved->kind() != ErrorKind::io) wrong += "save_tensor accepted it\n";
    if (!checked || checked->kind() != ErrorKind::io) wrong += "check_save accepted it\n";
  });
  if (outcome == TmpfsOutcome::cannot_mount) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  EXPECT_EQ(outcome, TmpfsOutcome::passed);
}

}  // namespace
}  // namespace estoc::test
