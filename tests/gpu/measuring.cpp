// What measuring promises: problem after problem in one session, whatever single kernels do.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/discovery.hpp"
#include "estoc/measure.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

std::vector<Kernel> kernels_for(const Problem& problem, const std::string& filter) {
  const auto described = problem.arguments(Device::cuda(0));
  KernelQuery query;
  query.filter = MetadataFilter::parse(filter);
  const KernelList found = get_kernels(*described, query);
  return {found.begin(), found.end()};
}

void require_timed(const Measurement& measured, std::size_t kernels, std::size_t slices) {
  require(measured.timings.size() == kernels, "a timing for each kernel");
  for (const KernelTiming& timing : measured.timings) {
    require(timing.problem.empty(), timing.kernel + ": " + timing.problem);
    require(timing.slices.size() == slices && timing.median > 0,
            fmt::format("{}: {} slices, expected {}", timing.kernel, timing.slices.size(), slices));
  }
}

// Small, then larger, then another dtype and the small one again: memory is kept and grows.
void sessions_measure_many_problems(Device device) {
  MeasureSession session(device);
  MeasureOptions options = MeasureOptions::survey();
  options.patience_seconds = 0;
  for (const char* const text : {"gemm m=8 n=16 k=16 a=f32", "gemm m=70 n=40 k=33 a=f32",
                                 "gemm m=24 n=8 k=16 a=f64", "gemm m=8 n=16 k=16 a=f32"}) {
    const Problem problem = Problem::parse(text);
    const auto kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
    require(!kernels.empty(), std::string(text) + ": no kernels");
    require_timed(session.measure(problem, kernels, options), kernels.size(), 3);
  }
}

void survey_is_short(Device /*device*/) {
  const MeasureOptions survey = MeasureOptions::survey();
  require(survey.rounds == 3 && survey.least_launches == 1 && survey.warm_seconds == 0 &&
              survey.pause_seconds == 0 && !survey.noise_floor,
          "three rounds without a rest");
  require(survey.patience_seconds > 10 * survey.slice_seconds, "patience is more than a slice");
}

void impatience_takes_one_launch(Device device) {
  const Problem problem = Problem::parse("gemm m=40 n=40 k=40 a=f32");
  const auto kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
  MeasureOptions options = MeasureOptions::survey();
  options.patience_seconds = 1e-9;
  MeasureSession session(device);
  require_timed(session.measure(problem, kernels, options), kernels.size(), 1);
  options.patience_seconds = 60;
  require_timed(session.measure(problem, kernels, options), kernels.size(), 3);
}

// The kernel that cannot be bound is of another problem.
void kernels_that_cannot_be_bound_are_reported(Device device) {
  const Problem problem = Problem::parse("gemm m=40 n=40 k=40 a=f32");
  std::vector<Kernel> kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
  const Problem other = Problem::parse("gemm m=40 n=40 k=40 a=f64");
  const auto wrong = kernels_for(other, "class=simt_gemm tile=32x32x16");
  require(!kernels.empty() && !wrong.empty(), "no kernels");
  kernels.insert(kernels.begin(), wrong.front());
  MeasureSession session(device);
  const Measurement measured = session.measure(problem, kernels, MeasureOptions::survey());
  require(measured.timings.size() == kernels.size(), "a timing for each kernel");
  require(!measured.timings[0].problem.empty() && measured.timings[0].slices.empty() &&
              measured.timings[0].median == 0,
          "the kernel that cannot be bound has a reason and no time");
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    require(measured.timings[i].problem.empty() && measured.timings[i].median > 0,
            measured.timings[i].kernel + ": " + measured.timings[i].problem);
  }
}

// Reductions add up parts in workspace; kernels share one, as large as the neediest takes.
void kernels_share_workspace(Device device) {
  MeasureSession session(device);
  for (const char* const text : {"gemm m=40 n=40 k=16 a=f32",
                                 "gemm m=100 n=70 k=16 a=f32 top=f32:column "
                                 "epi=\"D = relu(accum); top = absmax(D)\""}) {
    const Problem problem = Problem::parse(text);
    const auto kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
    require(!kernels.empty(), std::string(text) + ": no kernels");
    const auto described = problem.arguments(device);
    if (!problem.epilogue.empty())
      require(kernels.front().workspace_size(*described) > 0, "a reduction takes workspace");
    MeasureOptions options = MeasureOptions::survey();
    options.patience_seconds = 0;
    require_timed(session.measure(problem, kernels, options), kernels.size(), 3);
  }
}

void measuring_can_be_cancelled(Device device) {
  const Problem problem = Problem::parse("gemm m=8 n=16 k=16 a=f32");
  const auto kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
  MeasureOptions options = MeasureOptions::survey();
  options.progress = [](double) { return false; };
  MeasureSession session(device);
  try {
    session.measure(problem, kernels, options);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::cancelled, error.what());
    options.progress = nullptr;
    require(session.measure(problem, kernels, options).timings[0].median > 0, "it can go on");
    return;
  }
  require(false, "a progress of false ends the measurement");
}

/// Launches nothing, and throws from the third launch on, which is captured.
class ThrowsInCapture final : public KernelClass {
 public:
  std::string_view name() const override { return "throws_in_capture"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return {&target_, 1}; }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    struct Throws final : Launch {
      void launch(void* /*stream*/) override {
        if (++launches > 2) throw Error(ErrorKind::value, "it throws in a capture");
      }
      int launches = 0;
    };
    return std::make_unique<Throws>();
  }

 private:
  Target target_ = cuda_devices()[0].target;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().dtypes(Role::a_dtype, {Dtype::f32}).build();
};

void a_throw_in_a_capture_spoils_no_other(Device device) {
  const Problem problem = Problem::parse("gemm m=8 n=16 k=16 a=f32");
  std::vector<Kernel> kernels = kernels_for(problem, "class=simt_gemm tile=32x32x16");
  const auto throws = std::make_shared<ThrowsInCapture>();
  kernels.insert(kernels.begin(), Kernel(throws, "gpu_test", throws->space()->at(0)));
  MeasureOptions options = MeasureOptions::survey();
  options.least_launches = 20;
  options.patience_seconds = 0;
  MeasureSession session(device);
  const Measurement measured = session.measure(problem, kernels, options);
  require(measured.timings[0].problem == "it throws in a capture", measured.timings[0].problem);
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    require(measured.timings[i].problem.empty() && measured.timings[i].median > 0,
            measured.timings[i].kernel + ": " + measured.timings[i].problem);
  }
}

/// Launches nothing, and keeps where the offsets of what it is bound to lie.
class KeepsOffsets final : public KernelClass {
 public:
  std::string_view name() const override { return "keeps_offsets"; }
  Operation operation() const override { return Operation::grouped_gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return {&target_, 1}; }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    struct Nothing final : Launch {
      void launch(void* /*stream*/) override {}
    };
    for (const NamedOperand& operand : arguments.operands())
      if (operand.role == OperandRole::index) offsets.insert(operand.tensor->data());
    return std::make_unique<Nothing>();
  }

  mutable std::set<const void*> offsets;

 private:
  Target target_ = cuda_devices()[0].target;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().dtypes(Role::a_dtype, {Dtype::f32}).build();
};

void problems_are_measured_together(Device device) {
  std::vector<ProblemKernels> problems;
  std::vector<std::shared_ptr<const KeepsOffsets>> classes;
  for (const char* const text :
       {"gemm m=8 n=16 k=16 a=f32", "grouped_gemm sizes=30,10 n=40 k=32 a=f32",
        "grouped_gemm sizes=1,2,3 n=16 k=16 a=f32", "gemm m=70 n=40 k=33 a=f32"}) {
    const Problem problem = Problem::parse(text);
    problems.push_back({problem, kernels_for(problem,
                                             "tile=32x32x16 class=simt_gemm,"
                                             "simt_grouped_gemm")});
    require(!problems.back().kernels.empty(), std::string(text) + ": no kernels");
    if (problem.operation != Operation::grouped_gemm) continue;
    classes.push_back(std::make_shared<KeepsOffsets>());
    problems.back().kernels.emplace_back(classes.back(), "gpu_test",
                                         classes.back()->space()->at(0));
  }
  MeasureOptions options = MeasureOptions::survey();
  options.patience_seconds = 0;
  options.noise_floor = true;
  MeasureSession session(device);
  const std::vector<Measurement> measured = session.measure(problems, options);
  require(measured.size() == problems.size(), "a measurement for each problem");
  for (std::size_t i = 0; i < problems.size(); ++i) {
    require_timed(measured[i], problems[i].kernels.size(), 3);
    require(measured[i].noise == measured[0].noise && measured[i].noise, "one noise for all");
  }
  for (const void* each : classes[0]->offsets)
    require(!classes[1]->offsets.contains(each), "problems have offsets of their own");
}

}  // namespace

std::vector<Feature> measuring_features() {
  return {{"sessions_measure_many_problems", sessions_measure_many_problems},
          {"problems_are_measured_together", problems_are_measured_together},
          {"survey_is_short", survey_is_short},
          {"impatience_takes_one_launch", impatience_takes_one_launch},
          {"kernels_that_cannot_be_bound_are_reported", kernels_that_cannot_be_bound_are_reported},
          {"kernels_share_workspace", kernels_share_workspace},
          {"a_throw_in_a_capture_spoils_no_other", a_throw_in_a_capture_spoils_no_other},
          {"measuring_can_be_cancelled", measuring_can_be_cancelled}};
}

}  // namespace estoc::gpu_test
