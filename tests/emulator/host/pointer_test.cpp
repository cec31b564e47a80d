// Kernels of groups by pointers under the emulator: against the cpu provider's byte for byte, and
// with tables that say other than the text.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulated.h"
#include "estoc/numeric.hpp"

namespace estoc::pointer_test {
namespace {

using Entries = std::vector<GroupEntry>;

/// The operands of a text, of small whole numbers, with bytes of 0xa5 where nothing is written.
class Pointed {
 public:
  Pointed(const Problem& problem, const std::function<void(Entries&)>& change) {
    const auto described = problem.arguments();
    std::vector<Operand> operands;
    for (const NamedOperand& operand : described->operands()) {
      const TensorView& like = *operand.tensor;
      auto& memory =
          memory_.emplace_back(static_cast<std::size_t>(like.span_bytes()) + 512, std::byte{0xa5});
      const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
      const TensorView view(memory.data() + (256 - address % 256) % 256, like.dtype(), like.shape(),
                            like.strides());
      operands.emplace_back(view);
      if (operand.role == OperandRole::index) {
        problem.fill_index(view);
        Entries entries(static_cast<std::size_t>(view.shape(0)));
        std::memcpy(static_cast<void*>(entries.data()), view.data(), 48 * entries.size());
        change(entries);
        std::memcpy(view.data(), entries.data(), 48 * entries.size());
      }
      if (operand.role != OperandRole::input) continue;
      const std::int64_t elements = view.span_bytes() * 8 / dtype_bits(view.dtype());
      for (std::int64_t i = 0; i < elements; ++i) {
        const auto factor = static_cast<std::int64_t>(3 + 4 * memory_.size());
        store_element(view.dtype(), view.data(), i, static_cast<double>(i * factor % 5));
      }
    }
    arguments_ = described->with_operands(operands);
  }

  const RuntimeArguments& arguments() const { return *arguments_; }
  const std::vector<std::byte>& out() const { return memory_[2]; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

class Pointers : public EmulatedKernels {
 protected:
  static void expect(
      const std::string& kernel_class, const std::string& text, const std::string& filter,
      const std::function<void(Entries&)>& change = [](Entries&) {}) {
    SCOPED_TRACE(kernel_class + " " + filter + " " + text);
    const Problem problem = Problem::parse("grouped_gemm layout=pointers " + text);
    const Pointed emulated(problem, change);
    const Pointed computed(problem, change);
    const Target target = kernel_class.starts_with("sm90") ? Target::sm(90, true) : Target::sm(80);
    KernelQuery query;
    query.target = target;
    query.filter = MetadataFilter::parse("class=" + kernel_class + " " + filter);
    const KernelList found = get_kernels(emulated.arguments(), query);
    ASSERT_FALSE(found.empty()) << found.why_empty();
    if (!is_due(found.front(), target)) return;
    const emulator::Report report = emulator::run(found.front(), target, emulated.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(emulated.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    get_kernels(computed.arguments()).front().run(computed.arguments());
    const auto at = [](const Pointed& pointed) {
      return pointed.arguments().operands()[2].tensor->data();
    };
    const auto bytes =
        static_cast<std::size_t>(emulated.arguments().operands()[2].tensor->span_bytes());
    EXPECT_EQ(std::memcmp(at(emulated), at(computed), bytes), 0);
  }
};

const std::string kSizes = "sizes=90x40x24,0x8x8,33x0x8,1x1x1,64x33x0,5x40x21 ";
constexpr const char* kPointerLayouts[] = {"ttt", "tnt", "ntt", "nnt", "ttn", "tnn", "ntn", "nnn"};

std::string layouts_text(const char* letters, const std::string& dtype, const std::string& out) {
  return "a=" + dtype + ":" + letters[0] + " b=" + dtype + ":" + letters[1] + " out=" + out + ":" +
         letters[2];
}

TEST_F(Pointers, SimtEveryLayout) {
  for (const char* letters : kPointerLayouts) {
    expect("simt_pointer_gemm", "m=96 n=40 k=24 " + kSizes + layouts_text(letters, "f32", "f32"),
           std::string("tile=32x32x16 layouts=") + letters);
    expect("simt_pointer_gemm", "m=91 n=41 k=25 " + kSizes + layouts_text(letters, "bf16", "f32"),
           "tile=64x64x16 layouts=xxx");
  }
}

TEST_F(Pointers, SimtDtypes) {
  for (const char* types : {"a=f64", "a=i8 b=u8", "a=f16 b=bf16 out=e4m3", "a=e4m3 b=e5m2 out=f16"})
    expect("simt_pointer_gemm", kSizes + types, "tile=64x64x16 layouts=xxx");
}

TEST_F(Pointers, MmaEveryLayout) {
  for (const char* letters : kPointerLayouts) {
    expect("sm80_pointer_gemm", "m=96 n=40 k=24 " + kSizes + layouts_text(letters, "bf16", "f32"),
           std::string("tile=64x64x32 layouts=") + letters);
  }
  expect("sm80_pointer_gemm", "m=160 n=144 k=80 g=2 a=e4m3 b=e4m3:n out=bf16", "stages=4");
  expect("sm80_pointer_gemm", "m=64 n=64 k=64 sizes=64x64x64,3x5x33 a=i8 b=u8:n", "");
  expect("sm80_pointer_gemm", "m=64 n=35 k=64 sizes=64x35x64,3x5x33 a=tf32 b=tf32:n", "");
}

TEST_F(Pointers, WgmmaEveryLayout) {
  for (const char* letters : kPointerLayouts) {
    const std::string text =
        "m=200 n=136 k=144 sizes=90x40x24,0x8x8,33x0x8,1x1x1,64x33x0,200x136x144 ";
    expect("sm90_pointer_gemm", text + layouts_text(letters, "bf16", "f32"),
           std::string("tile=64x64x64 layouts=") + letters);
    expect("sm90_pointer_gemm", text + layouts_text(letters, "f16", "bf16"),
           std::string("tile=128x128x64 align_out=1 layouts=") + letters);
  }
}

TEST_F(Pointers, WgmmaSchedulesAndDtypes) {
  const std::string text = "m=264 n=200 k=208 sizes=264x200x208,130x9x65,1x200x1 ";
  for (const char* schedule : {"cooperative", "pingpong", "single"}) {
    const std::string filter = std::string("schedule=") + schedule;
    expect("sm90_pointer_gemm", text + "a=f16 b=f16:n out=f16", filter);
    expect("sm90_pointer_gemm", text + "a=e4m3 b=e5m2:n out=bf16", filter);
  }
  expect("sm90_pointer_gemm", text + "a=i8 b=u8:n", "");
  expect("sm90_pointer_gemm", text + "a=tf32 b=tf32:n", "");
}

TEST_F(Pointers, TablesOfAnyValues) {
  struct Wild {
    std::uint64_t element_bytes;
    bool rows;

    void operator()(Entries& entries) const {
      entries[0].m = 1 << 30;
      entries[0].k = 2147483647;
      entries[1].n = -1;
      entries[2].m = -2147483647 - 1;
      // Group 3 takes what group 0 has, and leaves gaps.
      entries[3].a = entries[0].a;
      entries[3].b = entries[4].b;
      entries[3].k = -5;
      entries[3].m = 7;
      entries[3].n = 30;
      entries[3].out_stride = 80;
      // The last row and column of group 4 end with the memory of A.
      entries[4].m = 8;
      entries[4].a_stride = 32;
      const std::uint64_t last = rows ? 7 * 32 + 32 : 31 * 32 + 8;
      entries[4].a = (std::uint64_t{5} * 48 * 32 - last) * element_bytes;
    }
  };
  const std::string text = "g=5 m=48 n=64 k=32 ";
  for (const char* letters : {"ttt", "nnn"}) {
    expect("simt_pointer_gemm", text + layouts_text(letters, "f32", "f32"), "tile=32x32x16",
           Wild{4, letters[0] == 't'});
    expect("sm80_pointer_gemm", text + layouts_text(letters, "bf16", "f32"), "tile=64x64x32",
           Wild{2, letters[0] == 't'});
    for (const char* alignment : {"1", "16"}) {
      expect("sm90_pointer_gemm", text + layouts_text(letters, "bf16", "f32"),
             std::string("tile=64x64x64 align_out=") + alignment, Wild{2, letters[0] == 't'});
    }
  }
}

TEST_F(Pointers, ManyGroupsAndNone) {
  for (const char* kernel_class : {"simt_pointer_gemm", "sm80_pointer_gemm", "sm90_pointer_gemm"}) {
    expect(kernel_class, "g=40 m=9 n=8 k=16 a=bf16 b=bf16:n", "");
    expect(kernel_class, "g=300 m=9 n=8 k=8 a=bf16 b=bf16:n", "");
    expect(kernel_class, "g=0 m=9 n=8 k=16 a=bf16 b=bf16:n", "");
    expect(kernel_class, "g=2 m=0 n=8 k=8 a=bf16 b=bf16:n", "");
  }
  expect("simt_pointer_gemm", "g=2 m=9 n=8 k=0 a=bf16 b=bf16:n", "");
}

TEST_F(Pointers, KernelsThatDoNotFitSayWhy) {
  const auto why = [](const std::string& text, const std::string& kernel) {
    const Target target = kernel.starts_with("sm90") ? Target::sm(90, true) : Target::sm(80);
    return kernel_by_name(kernel)
        .supports(*Problem::parse("grouped_gemm " + text).arguments(Device::cuda()), target)
        .error();
  };
  const std::string simt =
      "simt_pointer_gemm-f32-f32-f32-f32-tnt-alignA16-alignB16-alignOut16-tile32x32x16";
  const std::string turned =
      "simt_pointer_gemm-f32-f32-f32-f32-tnn-alignA16-alignB16-alignOut1-tile32x32x16";
  const std::string mma =
      "sm80_grouped_gemm-bf16-bf16-f32-f32-tnt-alignA16-alignB16-alignOut16-tile64x64x32-stages3";
  EXPECT_EQ(why("g=2 m=8 n=8 k=8 a=f32 b=f32:n", simt),
            "offsets.layout: expected pointers, got others");
  EXPECT_EQ(why("layout=pointers g=2 m=8 n=8 k=8 a=bf16 b=bf16:n", mma),
            "offsets.layout: expected any but pointers, got pointers");
  const std::string wgmma =
      "sm90_pointer_gemm-bf16-bf16-f32-bf16-tnt-alignA16-alignB16-alignOut16-pingpong-tile64x64x64-"
      "cluster1x1-stages8";
  EXPECT_EQ(why("layout=pointers g=2 m=8 n=8 k=12 a=bf16 b=bf16:n out=bf16", wgmma),
            "A.alignment: expected a multiple of 16 bytes, got 8");
  EXPECT_EQ(why("layout=pointers g=65537 m=8 n=8 k=8 a=bf16 b=bf16:n out=bf16", wgmma),
            "offsets.shape: expected at most 65536 groups, got 65537");
  // A single column fits both letters, but where the next row would be the table says.
  EXPECT_EQ(why("layout=pointers g=2 m=8 n=1 k=8 a=f32 b=f32:t", turned),
            "B.layout: expected n in all groups, got t");
}

TEST_F(Pointers, WgmmaComesFirstOnHopper) {
  for (const char* sizes : {"g=8 m=2048 n=4096 k=4096", "g=64 m=64 n=512 k=512"}) {
    const Problem problem = Problem::parse(std::string("grouped_gemm layout=pointers ") + sizes +
                                           " a=bf16 b=bf16:n out=bf16");
    KernelQuery query;
    query.target = Target::sm(90, true);
    const auto arguments = problem.arguments(Device::cuda());
    const KernelList found = get_kernels(*arguments, query);
    ASSERT_FALSE(found.empty()) << found.why_empty();
    EXPECT_EQ(found.front().metadata().kernel_class, "sm90_pointer_gemm") << sizes;
  }
}

TEST_F(Pointers, AddressesAreNotFollowed) {
  const Problem problem = Problem::parse("grouped_gemm layout=pointers g=2 m=8 n=8 k=8 a=f32");
  const auto described = problem.arguments();
  std::vector<Operand> operands;
  for (const NamedOperand& operand : described->operands())
    operands.emplace_back(*operand.tensor);
  Entries entries(2);
  operands[3] = TensorView::row_major(entries.data(), Dtype::i32, {2, kGroupEntryWords});
  const auto arguments = described->with_operands(operands);
  const Kernel kernel = kernel_by_name(
      "simt_pointer_gemm-f32-f32-f32-f32-xxx-alignA1-alignB1-alignOut1-tile32x32x16");
  try {
    emulator::run(kernel, Target::sm(80), *arguments);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "A: expected data that matrices of groups lie in, got a description");
  }
}

}  // namespace
}  // namespace estoc::pointer_test
