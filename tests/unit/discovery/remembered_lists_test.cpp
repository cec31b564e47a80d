// Which lists get_kernels remembers, and that whatever a list depends on tells two apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "discovery/registry.h"
#include "fake_class.h"
#include "fake_devices.h"

namespace estoc::testing {
namespace {

using discovery::Origin;
using discovery::RankedListCache;
using discovery::Registry;
using ::testing::ElementsAre;
using ::testing::SizeIs;

using Modes = std::vector<std::int64_t>;

/// A class as one of the library's own, which counts how often it is asked, for a scope.
class BuiltIn {
 public:
  explicit BuiltIn(std::shared_ptr<FakeClass> fake = make_class("own", open_space(),
                                                                {Target::cpu(), kHopper}),
                   std::string_view provider = "own_provider")
      : fake_(std::move(fake)) {
    fake_->on_supports = [this](const DesignPoint&, const RuntimeArguments&) {
      ++asked_;
      return Status::success();
    };
    Registry::instance().add(provider, fake_, Origin::library);
  }
  ~BuiltIn() { unregister_kernel_class(fake_->label); }
  BuiltIn(const BuiltIn&) = delete;
  BuiltIn& operator=(const BuiltIn&) = delete;

  FakeClass& fake() { return *fake_; }
  /// How many kernels are asked in `work`.
  template <typename Work>
  int asked_in(const Work& work) {
    const int before = asked_;
    work();
    return asked_ - before;
  }

  /// One kernel for every dtype and layout.
  static Space open_space() {
    DesignSpace::Builder builder;
    builder.dtypes(Role::a_dtype, all_dtypes())
        .dtypes(Role::b_dtype, all_dtypes())
        .dtypes(Role::accumulator_type, all_dtypes())
        .dtypes(Role::out_dtype, all_dtypes());
    return builder.build();
  }

 private:
  std::shared_ptr<FakeClass> fake_;
  std::atomic<int> asked_ = 0;
};

/// Everything that a product can differ in.
struct Product {
  Dtype a_dtype = Dtype::f32, b_dtype = Dtype::f32, out_dtype = Dtype::f32;
  Dtype accumulator_type = Dtype::f32;
  Modes a_shape{2, 8, 16}, b_shape{2, 16, 32}, out_shape{2, 8, 32};
  Modes a_strides{1024, 64, 1}, b_strides{4096, 64, 1}, out_strides{4096, 64, 1};
  int a_alignment = 256, b_alignment = 256, out_alignment = 256;
  PerformanceControls controls{};
  EpilogueArguments epilogue{};
  Device device = Device::cpu();
  KernelQuery query{};

  GemmArguments arguments() const {
    return {TensorView::describe(a_dtype, a_shape, a_strides, device, a_alignment),
            TensorView::describe(b_dtype, b_shape, b_strides, device, b_alignment),
            TensorView::describe(out_dtype, out_shape, out_strides, device, out_alignment),
            accumulator_type,
            controls,
            epilogue};
  }
  KernelList find() const { return get_kernels(arguments(), query); }
};

using Change = std::function<void(Product&)>;

/// Each of the changes makes a problem that is asked about although all others are remembered, and
/// is remembered itself.
void expect_told_apart(BuiltIn& own, const Product& base, const std::vector<Change>& changes) {
  EXPECT_EQ(own.asked_in([&] { (void)base.find(); }), 1);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Product other = base;
    changes[i](other);
    EXPECT_EQ(own.asked_in([&] { (void)other.find(); }), 1) << "change " << i;
    EXPECT_EQ(own.asked_in([&] { (void)other.find(); }), 0) << "change " << i << " again";
    EXPECT_EQ(own.asked_in([&] { (void)base.find(); }), 0) << "after change " << i;
  }
}

TEST(RememberedLists, AProblemIsAskedAboutOnce) {
  BuiltIn own;
  const Product product;
  const KernelList first = product.find();
  EXPECT_THAT(first, SizeIs(1));
  const KernelList again = product.find();
  EXPECT_EQ(&first.front(), &again.front()) << "the same list";
}

TEST(RememberedLists, ExtentsTellApart) {
  BuiltIn own;
  expect_told_apart(own, {},
                    {[](Product& p) { p.a_shape[1] = p.out_shape[1] = 9; },
                     [](Product& p) { p.b_shape[2] = p.out_shape[2] = 31; },
                     [](Product& p) { p.a_shape[2] = p.b_shape[1] = 17; },
                     [](Product& p) { p.a_shape[0] = p.b_shape[0] = p.out_shape[0] = 3; },
                     [](Product& p) {
                       p.a_shape[0] = 1;
                       p.a_strides[0] = 0;
                     },
                     [](Product& p) {
                       p.b_shape = {16, 32};
                       p.b_strides = {64, 1};
                     }});
}

TEST(RememberedLists, StridesTellApart) {
  BuiltIn own;
  std::vector<Change> changes;
  for (Modes Product::*strides :
       {&Product::a_strides, &Product::b_strides, &Product::out_strides}) {
    changes.emplace_back([=](Product& p) { (p.*strides)[0] *= 2; });
    changes.emplace_back([=](Product& p) { (p.*strides)[1] = 128; });
    changes.emplace_back([=](Product& p) { p.*strides = {65536, 1, 512}; });
  }
  changes.emplace_back([](Product& p) { p.a_strides[0] = 0; });
  expect_told_apart(own, {}, changes);
}

TEST(RememberedLists, TypesTellApart) {
  BuiltIn own;
  expect_told_apart(
      own, {},
      {[](Product& p) { p.a_dtype = Dtype::tf32; }, [](Product& p) { p.b_dtype = Dtype::tf32; },
       [](Product& p) { p.out_dtype = Dtype::f64; },
       [](Product& p) { p.accumulator_type = Dtype::f64; }});
}

TEST(RememberedLists, AlignmentsTellApart) {
  BuiltIn own;
  expect_told_apart(
      own, {},
      {[](Product& p) { p.a_alignment = 16; }, [](Product& p) { p.b_alignment = 16; },
       [](Product& p) { p.out_alignment = 16; }, [](Product& p) { p.out_alignment = 8; }});
}

TEST(RememberedLists, ControlsTellApart) {
  BuiltIn own;
  // Of kernels for f32 and tf32 the latter are asked too where they are allowed.
  Product product;
  product.a_dtype = product.b_dtype = product.out_dtype = Dtype::f64;
  product.accumulator_type = Dtype::f64;
  expect_told_apart(own, product,
                    {[](Product& p) { p.controls.allow_tf32 = true; },
                     [](Product& p) { p.controls.fast_accumulation = true; },
                     [](Product& p) { p.controls.deterministic = true; },
                     [](Product& p) { p.controls.allow_bf16x6 = true; },
                     [](Product& p) { p.controls.workspace_limit = 0; },
                     [](Product& p) { p.controls.workspace_limit = 1; }});
}

TEST(RememberedLists, AWorkspaceLimitDecidesEachTime) {
  BuiltIn own;
  own.fake().workspace_bytes = 100;
  const auto found = [](std::int64_t limit) {
    Product product;
    product.controls.workspace_limit = limit;
    return product.find().size();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(found(100), 1U);
    EXPECT_EQ(found(99), 0U) << "nothing is an answer too";
  }
}

TEST(RememberedLists, TargetsAndDevicesTellApart) {
  const OneDevice first(kHopper);
  fake_devices().push_back(fake_devices().front());
  BuiltIn own;
  expect_told_apart(
      own, {},
      {[](Product& p) { p.query.target = kHopper; }, [](Product& p) { p.device = Device::cuda(0); },
       [](Product& p) { p.device = Device::cuda(1); },
       [](Product& p) {
         p.device = Device::cuda(1);
         p.query.target = Target::cpu();
       }});
}

TEST(RememberedLists, TheClassesAskedTellApart) {
  BuiltIn own;
  const BuiltIn other(make_class("other", BuiltIn::open_space(), {kHopper}), "other_provider");
  Product product;
  product.query.target = kHopper;
  EXPECT_THAT(product.find(), SizeIs(2));
  product.query.providers = {"own_provider"};
  EXPECT_THAT(product.find(), SizeIs(1));
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 0);
  product.query.providers = {"other_provider"};
  EXPECT_THAT(names_of(product.find()), ElementsAre("other-f32-f32-f32-f32"));
  product.query.providers = {"own_provider", "other_provider"};
  EXPECT_EQ(own.asked_in([&] { EXPECT_THAT(product.find(), SizeIs(2)); }), 0) << "that is all";
}

TEST(RememberedLists, PortableTellsApart) {
  auto library = make_class("library", BuiltIn::open_space(), {kHopper});
  library->only_with_device = true;
  const BuiltIn own(library);
  Product product;
  product.query.target = kHopper;
  EXPECT_THAT(product.find(), SizeIs(0)) << "there is no device";
  const OneDevice machine(kHopper);
  EXPECT_THAT(product.find(), SizeIs(1));
  product.query.portable = true;
  EXPECT_THAT(product.find(), SizeIs(0));
  product.query.portable = false;
  EXPECT_THAT(product.find(), SizeIs(1));
}

/// Memory to be pointed to, aligned to 256 bytes.
struct Memory {
  alignas(256) std::array<float, 1024> a{};
  alignas(256) std::array<float, 1024> b{};
  alignas(256) std::array<float, 1024> out{};
};

TEST(RememberedLists, AlignmentOfAddressesTellsApart) {
  constexpr std::array kOps{ElementwiseOp::add, ElementwiseOp::mul};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).ops(kOps);
  auto fake = make_class("pointwise", builder.build());
  fake->kind = Operation::elementwise;
  BuiltIn own(fake);
  Memory memory;
  // Rows of 12 bytes: the view is aligned to 4 wherever it begins.
  const auto view = [](float* data) { return TensorView::row_major(data, Dtype::f32, {2, 3}); };
  const auto asked = [&](ElementwiseOp op, float* a, float* b, float* out) {
    const ElementwiseArguments arguments(op, view(a), view(b), view(out));
    return own.asked_in([&] { EXPECT_THAT(get_kernels(arguments), SizeIs(1)); });
  };
  float* const a = memory.a.data();
  float* const b = memory.b.data();
  float* const out = memory.out.data();
  ASSERT_EQ(view(a).alignment(), view(a + 1).alignment());
  EXPECT_EQ(asked(ElementwiseOp::add, a, b, out), 1);
  EXPECT_EQ(asked(ElementwiseOp::mul, a, b, out), 1);
  EXPECT_EQ(asked(ElementwiseOp::add, a + 1, b, out), 1);
  EXPECT_EQ(asked(ElementwiseOp::add, a, b + 2, out), 1);
  EXPECT_EQ(asked(ElementwiseOp::add, a, b, out + 4), 1);
  EXPECT_EQ(asked(ElementwiseOp::add, a, b, out), 0);
  EXPECT_EQ(asked(ElementwiseOp::add, a + 3, b + 2, out), 1);
  EXPECT_EQ(asked(ElementwiseOp::add, a + 5, b + 2, out), 0) << "as well aligned as a + 3";
}

TEST(RememberedLists, OperandsWithDataAndWithoutTellApart) {
  BuiltIn own;
  Memory memory;
  const auto matrix = [](float* data, bool described) {
    const std::array<std::int64_t, 2> shape{8, 8};
    const std::array<std::int64_t, 2> strides{8, 1};
    return described ? TensorView::describe(Dtype::f32, shape, strides, Device::cpu(), 32)
                     : TensorView(data, Dtype::f32, shape, strides);
  };
  const auto asked = [&](bool described) {
    const GemmArguments arguments(matrix(memory.a.data(), described),
                                  matrix(memory.b.data(), described),
                                  matrix(memory.out.data(), described), Dtype::f32);
    return own.asked_in([&] { (void)get_kernels(arguments); });
  };
  EXPECT_EQ(asked(true), 1);
  EXPECT_EQ(asked(false), 1);
  EXPECT_EQ(asked(true) + asked(false), 0);
}

/// A class that takes every epilogue.
class Fusing final : public KernelClass {
 public:
  std::string_view name() const override { return "fusing"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return targets_; }
  Status supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                  Target /*target*/) const override {
    ++asked;
    return Status::success();
  }
  Status supports_epilogue(const DesignPoint& /*point*/, const EpilogueGraph& /*epilogue*/,
                           Target /*target*/) const override {
    return Status::success();
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }

  mutable std::atomic<int> asked = 0;

 private:
  std::shared_ptr<const DesignSpace> space_ = plain_space();
  std::vector<Target> targets_{Target::cpu()};
};

/// Registers Fusing as one of the library's own, and asks it.
class FusedProblems : public ::testing::Test {
 protected:
  FusedProblems() { Registry::instance().add("own", fusing_, Origin::library); }
  ~FusedProblems() override { unregister_provider("own"); }

  /// Kernels asked about D = `text` with a matrix C of these strides and alignment.
  int asked(const char* text, Modes strides = {64, 1}, int alignment = 256) {
    const auto c = TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{128, 64}, strides,
                                        Device::cpu(), alignment);
    return asked_of({text, {{"C", c}}});
  }
  int asked_of(const EpilogueArguments& epilogue) {
    const int before = fusing_->asked;
    EXPECT_THAT(
        get_kernels(gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, {}, epilogue)),
        SizeIs(1));
    return fusing_->asked - before;
  }

  std::shared_ptr<Fusing> fusing_ = std::make_shared<Fusing>();
};

TEST_F(FusedProblems, GraphsAndTheirOperandsTellApart) {
  EXPECT_EQ(asked("D = accum + C"), 1);
  EXPECT_EQ(asked("D = accum - C"), 1);
  EXPECT_EQ(asked("D = accum + C", {1, 128}), 1);
  EXPECT_EQ(asked("D = accum + C", {128, 1}), 1);
  EXPECT_EQ(asked("D = accum + C", {64, 1}, 16), 1);
  EXPECT_EQ(asked("D = accum + C"), 0);
  EXPECT_EQ(asked("D = accum - C"), 0);
  EXPECT_EQ(asked_of({}), 1) << "no epilogue at all";
}

TEST_F(FusedProblems, ThoseWithScalarsByValueAreNotRemembered) {
  const EpilogueArguments doubled("D = accum * s", {{"s", 2.0}});
  EXPECT_EQ(asked_of(doubled), 1);
  EXPECT_EQ(asked_of(doubled), 1);
}

TEST(RememberedLists, AFilterIsAskedEachTime) {
  BuiltIn own;
  Product product;
  (void)product.find();
  bool accepted = true;
  product.query.filter = MetadataFilter([&](const KernelMetadata&) { return accepted; });
  EXPECT_THAT(product.find(), SizeIs(1));
  accepted = false;
  EXPECT_THAT(product.find(), SizeIs(0));
}

TEST(RememberedLists, ClassesFromOutsideAreAskedEachTime) {
  BuiltIn own;
  Product product;
  (void)product.find();
  auto outside = make_class("outside", BuiltIn::open_space());
  bool able = true;
  outside->on_supports = [&](const DesignPoint&, const RuntimeArguments&) {
    return able ? Status::success() : Status::fail("not today");
  };
  const Registered there(outside);
  EXPECT_THAT(product.find(), SizeIs(2));
  able = false;
  EXPECT_THAT(product.find(), SizeIs(1));
  product.query.providers = {"own_provider"};
  (void)product.find();
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 0) << "where it is not asked";
  product.query = {.target = kHopper};
  (void)product.find();
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 0) << "which it is not compiled for";
}

TEST(RememberedLists, ListsWithFailuresAreNotRemembered) {
  BuiltIn own;
  own.fake().on_predict = [](const DesignPoint&) -> std::optional<Prediction> {
    throw std::runtime_error("out of memory");
  };
  const Product product;
  EXPECT_THAT(product.find().failures(), SizeIs(1));
  own.fake().on_predict = nullptr;
  EXPECT_THAT(product.find(), SizeIs(1));
  EXPECT_TRUE(product.find().failures().empty());
}

TEST(RememberedLists, RegisteringForgets) {
  BuiltIn own;
  const Product product;
  const auto asked = [&] { return own.asked_in([&] { (void)product.find(); }); };
  EXPECT_EQ(asked(), 1);
  {
    const BuiltIn other(make_class("other", BuiltIn::open_space()), "other_provider");
    EXPECT_THAT(product.find(), SizeIs(2));
    EXPECT_EQ(asked(), 0);
  }
  EXPECT_THAT(product.find(), SizeIs(1));
  register_provider(std::make_shared<FakeProvider>(
      "whole", FakeProvider::Classes{make_class("part", BuiltIn::open_space())}));
  EXPECT_THAT(product.find(), SizeIs(2));
  unregister_provider("whole");
  EXPECT_THAT(product.find(), SizeIs(1));
}

TEST(RememberedLists, AClassIsNotKeptByThem) {
  auto fake = make_class("gone", BuiltIn::open_space());
  const std::weak_ptr<FakeClass> watch = fake;
  {
    BuiltIn own(fake);
    (void)Product().find();
    fake->on_supports = nullptr;
    fake.reset();
  }
  EXPECT_TRUE(watch.expired());
}

TEST(RememberedLists, ClearingForgets) {
  BuiltIn own;
  const Product product;
  (void)product.find();
  clear_discovery_cache();
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 1);
}

TEST(RememberedLists, WhatWasSoughtWhileTheyWereClearedIsNotRemembered) {
  BuiltIn own;
  own.fake().on_predict = [](const DesignPoint&) {
    clear_discovery_cache();
    return Prediction{1e-6, {}};
  };
  const Product product;
  (void)product.find();
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 1);
}

TEST(RememberedLists, AreBounded) {
  BuiltIn own;
  Product product;
  for (std::int64_t k = 1; k <= 2 * static_cast<std::int64_t>(RankedListCache::kMaxLists); ++k) {
    product.a_shape[2] = product.b_shape[1] = k;
    product.a_strides = {65536, 1024, 1};
    product.b_strides = {65536, 64, 1};
    EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 1);
  }
  product.a_shape[2] = product.b_shape[1] = 1;
  EXPECT_EQ(own.asked_in([&] { (void)product.find(); }), 1) << "forgotten";
}

TEST(RememberedLists, ListsOutliveThem) {
  KernelList list;
  {
    BuiltIn own(make_class("gone", BuiltIn::open_space()));
    own.fake().on_predict = [](const DesignPoint&) { return Prediction{1e-6, {}}; };
    list = Product().find();
  }
  const KernelList copy = list;
  EXPECT_THAT(names_of(copy), ElementsAre("gone-f32-f32-f32-f32"));
  EXPECT_EQ(copy.front().predicted_seconds(), 1e-6);
}

TEST(RememberedLists, ThreadsShareThem) {
  BuiltIn own(make_class("own", BuiltIn::open_space()));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&wrong, worker] {
      Product product;
      for (int round = 0; round < 300; ++round) {
        product.a_shape[1] = product.out_shape[1] = 1 + round % 7;
        if (product.find().size() != 1) ++wrong;
        if (worker == 0 && round % 10 == 0) clear_discovery_cache();
        if (worker != 1 || round % 20 != 0) continue;
        Registry::instance().add("brief", make_class("brief", plain_space(), {Target::sm(80)}),
                                 Origin::library);
        unregister_provider("brief");
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace estoc::testing
