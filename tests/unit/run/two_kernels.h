// A kernel class with two kernels that differ in time alone, and a file of records of a test's own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "estoc/discovery.hpp"
#include "unit/core/temp_folder.h"

namespace estoc::run_test {

/// Products of contiguous f32 matrices, for a scope: "two_gemm-f32-v0", which the ranking puts
/// first, and "two_gemm-f32-v1".
class TwoKernels {
 public:
  TwoKernels() {
    ::setenv("ESTOC_TUNED", (folder_ / "tuned.db").c_str(), 1);
    register_kernel_class("two", class_);
  }
  ~TwoKernels() {
    unregister_kernel_class("two_gemm");
    ::setenv("ESTOC_TUNED", "off", 1);
    clear_discovery_cache();
  }
  TwoKernels(const TwoKernels&) = delete;
  TwoKernels& operator=(const TwoKernels&) = delete;

  static Kernel kernel(int variant) {
    return kernel_by_name("two_gemm-f32-v" + std::to_string(variant));
  }
  /// The one launched last; -1 for none.
  int launched() const { return class_->launched; }
  /// What v0 sleeps at each launch, and v1.
  void sleep(int first_us, int second_us) {
    class_->sleep_us[0] = first_us;
    class_->sleep_us[1] = second_us;
  }
  /// The knobs that the ranking chooses, and those with which a launch does not sleep; the further
  /// the split is from theirs, the longer it sleeps.
  void choose(const Knobs& ranked, const Knobs& fast) {
    class_->ranked = ranked;
    class_->fast = fast;
  }
  /// Has a variant give wrong results.
  void spoil(int variant) { class_->spoilt = variant; }
  std::filesystem::path file() const { return folder_ / "tuned.db"; }

 private:
  struct Class final : KernelClass {
    std::string_view name() const override { return "two_gemm"; }
    Operation operation() const override { return Operation::gemm; }
    std::shared_ptr<const DesignSpace> space() const override { return design; }
    std::span<const Target> targets() const override { return {&target, 1}; }
    std::optional<Prediction> predict(const DesignPoint& point,
                                      const RuntimeArguments& /*arguments*/,
                                      Target /*target*/) const override {
      return Prediction{.seconds = 1e-9 * (1 + variant_of(point)), .knobs = ranked};
    }
    std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                                 const RuntimeArguments& arguments,
                                 std::shared_ptr<const CompiledObject> /*object*/,
                                 const BindOptions& /*options*/) const override {
      const int variant = variant_of(point);
      const int way = fast ? std::abs(fast->split - knobs.split) : 1;
      const int sleep = fast == knobs ? 0 : sleep_us[variant] * std::max(way, 1);
      return std::make_unique<Product>(*this, variant, sleep,
                                       static_cast<const GemmArguments&>(arguments));
    }
    static int variant_of(const DesignPoint& point) { return point.value("v").text == "1" ? 1 : 0; }

    Target target = Target::cpu();
    std::shared_ptr<const DesignSpace> design = DesignSpace::Builder()
                                                    .dtypes(Role::a_dtype, {Dtype::f32})
                                                    .integers("v", std::vector<int>{0, 1})
                                                    .build();
    Knobs ranked;
    std::optional<Knobs> fast;
    mutable std::atomic<int> launched = -1;
    std::atomic<int> spoilt = -1;
    std::atomic<int> sleep_us[2] = {0, 0};  // NOLINT: two numbers
  };

  struct Product final : Launch {
    Product(const Class& class_of, int number, int microseconds, const GemmArguments& gemm)
        : kernel_class(class_of),
          variant(number),
          sleep(microseconds),
          a(gemm.a_matrix()),
          b(gemm.b_matrix()),
          out(gemm.out_matrix()) {}
    void launch(void* /*stream*/) override {
      kernel_class.launched = variant;
      std::this_thread::sleep_for(sleep);
      for (std::int64_t i = 0; i < out.rows; ++i)
        for (std::int64_t j = 0; j < out.columns; ++j)
          at(out, i, j) = dot(i, j) + (kernel_class.spoilt == variant ? 1.0F : 0.0F);
    }
    float dot(std::int64_t i, std::int64_t j) const {
      float sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k)
        sum += at(a, i, k) * at(b, k, j);
      return sum;
    }
    static float& at(const MatrixView& view, std::int64_t i, std::int64_t j) {
      return static_cast<float*>(view.data)[i * view.row_stride + j * view.column_stride];
    }

    const Class& kernel_class;
    int variant;
    std::chrono::microseconds sleep;
    MatrixView a, b, out;
  };

  test::TempFolder folder_;
  std::shared_ptr<Class> class_ = std::make_shared<Class>();
};

}  // namespace estoc::run_test
