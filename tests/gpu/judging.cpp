// What the check on a device promises: the verdicts of the check on the host, whatever is wrong.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/device_check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"
#include "estoc/text_file.hpp"
#include "features.h"
#include "gemm.h"
#include "jit/nvrtc.h"
#include "support/views.h"

namespace estoc::jit {
std::span<const HeaderText> embedded_device_sources();
}

namespace estoc::gpu_test {
namespace {

/// A tensor on the host and on a device.
struct Placed {
  Placed(const TensorView& described, std::uint64_t seed, Device device)
      : storage(static_cast<std::size_t>(described.span_bytes()) / 8 + 1),
        view(storage.data(), described.dtype(), described.shape(), described.strides()) {
    fill_random(view, seed);
    copy = DeviceTensor::copy_of(view, device);
  }

  std::vector<std::uint64_t> storage;
  TensorView view;
  DeviceTensor copy;
};

/// A problem on the host and on a device, with the right output in both.
class Judged {
 public:
  enum class Output { right, random };

  Judged(const std::string& text, Device device, Output output = Output::right) : text_(text) {
    Problem problem = Problem::parse(text);
    problem.complete();
    const auto described = problem.arguments();
    const testing_support::OperandViews shapes = testing_support::views_of(*described);
    a_ = std::make_unique<Placed>(shapes.a, 1, device);
    b_ = std::make_unique<Placed>(shapes.b, 2, device);
    out_ = std::make_unique<Placed>(shapes.out, 3, device);
    std::vector<EpilogueOperand> host, there;
    for (const EpilogueOperand& operand : shapes.epilogue) {
      if (operand.tensor() == nullptr) {
        host.push_back(operand);
        there.push_back(operand);
        continue;
      }
      Placed& placed = *epilogue_.emplace_back(
          std::make_unique<Placed>(*operand.tensor(), 4 + epilogue_.size(), device));
      host.emplace_back(operand.name, placed.view);
      there.emplace_back(operand.name, placed.copy.view());
    }
    on_host_ = testing_support::with_views(*described, {a_->view, b_->view, out_->view, host});
    on_device_ = testing_support::with_views(
        *described, {a_->copy.view(), b_->copy.view(), out_->copy.view(), there});
    if (output == Output::right) compute();
  }

  const RuntimeArguments& on_host() const { return *on_host_; }
  const RuntimeArguments& on_device() const { return *on_device_; }
  const TensorView& out() const { return out_->view; }
  Placed& operand(std::size_t i) { return *epilogue_[i]; }
  Placed& a() { return *a_; }
  Placed& b() { return *b_; }
  const std::string& text() const { return text_; }

  /// A right output on the host and the device.
  void compute() {
    KernelQuery query;
    query.target = Target::cpu();
    const KernelList kernels = get_kernels(*on_host_, query);
    require(!kernels.empty(), text_ + ": no kernel of the CPU's");
    kernels.front().run(*on_host_);
    upload();
  }

  void upload() {
    for (Placed* placed : {a_.get(), b_.get(), out_.get()})
      placed->copy.copy_from(placed->view);
    for (const auto& placed : epilogue_)
      placed->copy.copy_from(placed->view);
  }

  std::int64_t place(std::int64_t row, std::int64_t column) const {
    const MatrixView& out = gemm().out_matrix();
    const std::int64_t m = gemm().extents().m;
    return row / m * out.batch_stride + row % m * out.row_stride + column * out.column_stride;
  }
  double get(std::int64_t row, std::int64_t column) const {
    return load_element(out().dtype(), out().data(), place(row, column));
  }
  void set(std::int64_t row, std::int64_t column, double value) const {
    store_element(out().dtype(), out().data(), place(row, column), value);
  }
  const GemmArguments& gemm() const { return static_cast<const GemmArguments&>(*on_host_); }
  std::int64_t rows() const { return gemm().extents().m * gemm().extents().l; }
  std::int64_t columns() const { return gemm().extents().n; }

 private:
  std::string text_;
  std::unique_ptr<Placed> a_, b_, out_;
  std::vector<std::unique_ptr<Placed>> epilogue_;
  std::unique_ptr<RuntimeArguments> on_host_, on_device_;
};

std::string words(const CheckResult& result) {
  return fmt::format("{}, error {:.17g}, bound {:.17g}, {} of {} rows, {}",
                     result.passed ? "passed" : "failed", result.error, result.bound,
                     result.rows_checked, result.rows_total, result.worst);
}

bool near(double x, double y) {
  return x == y || std::abs(x - y) <= 1e-12 * std::abs(y);
}

/// Errors relative to two references, whose own sums a GPU rounds once where the host rounds twice.
bool near_errors(double x, double y) {
  constexpr double kReferences = 0x1p-50;
  return near(x, y) || std::abs(x - y) <= kReferences;
}

/// Words that are equal, but for numbers, which are near: of products of f64 the sums differ.
bool near_words(const std::string& x, const std::string& y) {
  std::istringstream ours(x);
  std::istringstream theirs(y);
  std::string a;
  std::string b;
  while (ours >> a) {
    if (!(theirs >> b)) return false;
    if (a == b) continue;
    char* end_of_a = nullptr;
    char* end_of_b = nullptr;
    const double number_a = std::strtod(a.c_str(), &end_of_a);
    const double number_b = std::strtod(b.c_str(), &end_of_b);
    const bool are_numbers = end_of_a != a.c_str() && end_of_b != b.c_str();
    if (!are_numbers || std::string(end_of_a) != end_of_b || !near(number_a, number_b))
      return false;
  }
  return !(theirs >> b);
}

/// The verdict, which must be that of the host's check of the same output.
CheckResult same_verdict(Judged& problem, DeviceCheck& check, const std::string& what) {
  problem.upload();
  CheckResult ours = check.check();
  const CheckResult theirs = check_output(problem.on_host());
  require(
      ours.passed == theirs.passed && near_errors(ours.error, theirs.error) &&
          near(ours.bound, theirs.bound) && ours.rows_checked == theirs.rows_checked &&
          ours.rows_total == theirs.rows_total && near_words(ours.worst, theirs.worst),
      fmt::format("{}, {}: expected {}, got {}", problem.text(), what, words(theirs), words(ours)));
  return ours;
}

void expect_failure(Judged& problem, DeviceCheck& check, const std::string& what,
                    const std::string& worst) {
  const CheckResult result = same_verdict(problem, check, what);
  require(!result.passed && result.worst.starts_with(worst),
          fmt::format("{}, {}: expected a failure at {}, got {}", problem.text(), what, worst,
                      words(result)));
}

/// "out[3, 4]" or "out[1, 3, 4]" of the row counted over batches.
std::string name_of(const Judged& problem, std::int64_t row, std::int64_t column) {
  const std::int64_t m = problem.gemm().extents().m;
  if (problem.out().rank() == 2) return fmt::format("out[{}, {}]", row, column);
  return fmt::format("out[{}, {}, {}]", row / m, row % m, column);
}

/// One element at a time is what it should not be.
void plant_faults(Judged& problem, DeviceCheck& check) {
  const bool has_nan = is_float(problem.out().dtype());
  const std::int64_t last_row = problem.rows() - 1;
  const std::int64_t last_column = problem.columns() - 1;
  const auto plant = [&](const char* what, std::int64_t row, std::int64_t column, double wrong) {
    const double right = problem.get(row, column);
    problem.set(row, column, wrong);
    expect_failure(problem, check, what, name_of(problem, row, column));
    problem.set(row, column, right);
  };
  const double middle = problem.get(last_row / 2, last_column / 2);
  plant("a wrong element", last_row / 2, last_column / 2, middle > 1 ? middle / 2 - 1 : middle + 8);
  plant("the last element", last_row, last_column, problem.get(last_row, last_column) > 1 ? 0 : 60);
  plant("an element that was not written", last_row, 0,
        has_nan ? std::numeric_limits<double>::quiet_NaN() : 77);
  plant("a wrong first element", 0, 0, problem.get(0, 0) > 1 ? 0 : 60);
}

const std::vector<const char*> kProblems{
    "gemm m=70 n=67 k=33 a=f64:t b=f64:n out=f64:t acc=f64",
    "gemm m=65 n=64 k=100 a=f32:n b=f32:t out=f32:n",
    "gemm m=5 n=130 k=64 l=3 a=tf32:t b=tf32:t out=f32:t",
    "gemm m=33 n=31 k=257 a=f16:t b=f16:n out=f16:t",
    "gemm m=64 n=64 k=40 l=2 a=bf16:n b=bf16:n out=bf16:n",
    "gemm m=20 n=66 k=70 a=e4m3:t b=e5m2:n out=bf16:t",
    "gemm m=20 n=30 k=50 a=e5m2:t b=e5m2:n out=e5m2:t",
    "gemm m=31 n=40 k=90 a=e4m3:t b=e4m3:n out=e4m3:t",
    "gemm m=66 n=20 k=35 a=i8:t b=u8:n out=i32:t acc=i32",
    "gemm m=9 n=17 k=300 l=2 a=u8:n b=u8:t out=u8:t acc=i32",
    "gemm m=9 n=17 k=30 a=bf16:t b=f16:n out=f32:t acc=f32",
};

void verdicts_are_those_of_the_host(Device device) {
  for (const char* text : kProblems) {
    Judged problem(text, device);
    DeviceCheck check(problem.on_device());
    require(check.host_reason().empty(), fmt::format("{}: {}", text, check.host_reason()));
    const CheckResult right = same_verdict(problem, check, "right");
    require(right.passed, fmt::format("{}: {}", text, words(right)));
    plant_faults(problem, check);
    require(same_verdict(problem, check, "right again").passed, text);
  }
}

/// The largest value of `dtype` below `value` in magnitude: what truncation stores.
double truncated(Dtype dtype, double value) {
  const double rounded = round_to(dtype, value);
  if (std::abs(rounded) <= std::abs(value)) return rounded;
  return round_to(dtype, rounded - std::copysign(epsilon(dtype) * std::abs(rounded) / 2, rounded));
}

void small_mistakes_are_found(Device device) {
  Judged problem("gemm m=40 n=70 k=65 a=bf16:t b=bf16:n out=bf16:t", device);
  const GemmArguments& gemm = problem.gemm();
  const auto product = [&](std::int64_t row, std::int64_t column, std::int64_t last) {
    const MatrixView& a = gemm.a_matrix();
    const MatrixView& b = gemm.b_matrix();
    double sum = 0;
    for (std::int64_t k = 0; k < last; ++k) {
      sum += load_element(a.dtype, a.data, row * a.row_stride + k * a.column_stride) *
             load_element(b.dtype, b.data, k * b.row_stride + column * b.column_stride);
    }
    return sum;
  };
  DeviceCheck check(problem.on_device());
  int planted = 0;
  for (std::int64_t column = 0; column < 70 && planted < 3; ++column) {
    const double right = problem.get(17, column);
    const double wrong = truncated(Dtype::bf16, product(17, column, 65));
    if (wrong == right) continue;
    problem.set(17, column, wrong);
    expect_failure(problem, check, "truncation", name_of(problem, 17, column));
    problem.set(17, column, right);
    ++planted;
  }
  require(planted == 3, "no element that truncation changes");
  const double right = problem.get(39, 69);
  problem.set(39, 69, product(39, 69, 64));
  require(problem.get(39, 69) != right, "the last product changes nothing");
  expect_failure(problem, check, "a product left out", "out[39, 69]");
}

void nan_and_infinity_have_their_places(Device device) {
  Judged problem("gemm m=20 n=30 k=20 a=f32:t b=f32:n out=f16:t", device);
  const TensorView& a = problem.a().view;
  store_element(Dtype::f32, a.data(), 3 * 20 + 4, std::numeric_limits<double>::quiet_NaN());
  store_element(Dtype::f32, a.data(), 5 * 20 + 6, std::numeric_limits<double>::infinity());
  store_element(Dtype::f32, a.data(), 7 * 20 + 8, 1e6);
  problem.compute();
  DeviceCheck check(problem.on_device());
  require(same_verdict(problem, check, "NaN, infinity, overflow").passed, "they should pass");
  problem.set(3, 9, 1);
  expect_failure(problem, check, "a number for NaN", "out[3, 9]");
  problem.set(3, 9, std::numeric_limits<double>::quiet_NaN());
  problem.set(2, 9, std::numeric_limits<double>::infinity());
  expect_failure(problem, check, "infinity for a number", "out[2, 9]");
}

/// The sum may round to the largest number or to infinity, and either passes.
void numbers_may_round_to_infinity(Device device) {
  constexpr std::int64_t kTerms = 20;
  Judged problem("gemm m=20 n=30 k=20 a=f32:t b=f32:n out=f16:t", device);
  for (std::int64_t k = 0; k < kTerms; ++k) {
    store_element(Dtype::f32, problem.a().view.data(), 9 * kTerms + k, 3275.9971);
    store_element(Dtype::f32, problem.b().view.data(), 11 * kTerms + k, 1 + 0x1p-23);
  }
  problem.compute();
  DeviceCheck check(problem.on_device());
  for (const double either : {65504.0, std::numeric_limits<double>::infinity()}) {
    problem.set(9, 11, either);
    require(same_verdict(problem, check, "the edge of the range").passed, "it should pass");
  }
  problem.set(9, 11, 65472);
  expect_failure(problem, check, "below the edge of the range", "out[9, 11]");
}

/// Every code of an operand's type, times 1, is what the host reads there.
void every_code_is_read(Device device) {
  for (const Dtype dtype : all_dtypes()) {
    const int bits = dtype_bits(dtype);
    if (bits > 16) continue;
    const std::int64_t codes = std::int64_t{1} << std::min(bits, 12);
    const bool whole = is_integer(dtype) || dtype == Dtype::boolean;
    Judged problem(fmt::format("gemm m={} n=1 k=1 a={}:n b={} out={}", codes, dtype_name(dtype),
                               whole ? "i8" : "f32", whole ? "i32 acc=i32" : "f32"),
                   device, Judged::Output::random);
    auto* const bytes = static_cast<std::uint8_t*>(problem.a().view.data());
    for (std::int64_t i = 0; i < problem.a().view.span_bytes(); ++i) {
      // Of 16 bits, the low byte of every sixteenth code.
      const std::int64_t code =
          bits == 16 ? i / 2 * 16 + i / 2 % 16 : (bits == 4 ? 0x22 * i + 0x10 : i);
      bytes[i] = static_cast<std::uint8_t>(bits == 16 && i % 2 != 0 ? code >> 8 : code);
    }
    store_element(whole ? Dtype::i8 : Dtype::f32, problem.b().view.data(), 0, 1);
    for (std::int64_t i = 0; i < codes; ++i)
      problem.set(i, 0, load_element(dtype, bytes, i));
    problem.upload();
    DeviceCheck check(problem.on_device());
    require(check.host_reason().empty(), check.host_reason());
    require(same_verdict(problem, check, "every code").passed, problem.text());
  }
}

void other_products_are_judged(Device device) {
  for (const char* text : {"gemm m=20 n=30 k=40 a=i4:t b=u4:n out=i32 acc=i32",
                           "gemm m=20 n=30 k=40 a=bool:n b=i32:t out=i32 acc=i32",
                           "gemm m=20 n=30 k=40 a=e2m1:t b=e8m0:n out=bf16",
                           "gemm m=20 n=30 k=40 a=i8:t b=bf16:n out=i8",
                           "gemm m=20 n=30 k=40 a=f16:t b=f16:n out=f16 acc=f16",
                           "gemm m=20 n=30 k=40 a=f32:t b=f64:n out=bool acc=f64"}) {
    Judged problem(text, device, Judged::Output::random);
    DeviceCheck check(problem.on_device());
    require(check.host_reason().empty(), check.host_reason());
    require(!same_verdict(problem, check, "random numbers").passed, problem.text());
  }
}

void operands_are_rounded_to_tf32(Device device) {
  Judged problem("gemm m=20 n=30 k=20 a=tf32:t b=tf32:n out=f32:t", device);
  for (std::int64_t i = 0; i < 20 * 20; ++i) {
    const double value = 1 + 1e-3 * std::sin(static_cast<double>(i));
    store_element(Dtype::f32, problem.a().view.data(), i, value);
  }
  problem.compute();
  DeviceCheck check(problem.on_device());
  require(same_verdict(problem, check, "right").passed, "it should pass");
}

void samples_have_the_edges(Device device) {
  Judged problem("gemm m=50 n=40 k=32 l=4 a=f16:t b=f16:n out=f32:t", device);
  DeviceCheckOptions options;
  options.max_products = 40 * 32 * 20;
  DeviceCheck check(problem.on_device(), options);
  CheckResult result = check.check();
  require(result.passed && result.rows_checked == 20 && result.rows_total == 200, words(result));
  for (const std::int64_t row : {0, 199}) {
    const double right = problem.get(row, 39);
    problem.set(row, 39, right + 1);
    problem.upload();
    result = check.check();
    require(!result.passed && result.worst.starts_with(name_of(problem, row, 39)), words(result));
    problem.set(row, 39, right);
  }
  options.max_products = std::int64_t{1} << 36;
  options.max_elements = 40 * 10;
  problem.upload();
  result = DeviceCheck(problem.on_device(), options).check();
  require(result.passed && result.rows_checked == 10, words(result));
}

void epilogues_are_judged(Device device) {
  Judged problem(
      "gemm m=34 n=40 k=48 a=bf16:t b=bf16:n out=bf16:t bias=f32:row kept=f32:t high=f32:column "
      "total=f32:row epi=\"kept = accum + bias; D = relu(kept); high = max(kept); "
      "total = sum(kept)\"",
      device);
  DeviceCheck check(problem.on_device());
  require(check.host_reason().empty(), check.host_reason());
  require(same_verdict(problem, check, "right").passed, "an epilogue should pass");
  problem.set(33, 39, 100);
  expect_failure(problem, check, "a wrong element of D", "out[33, 39]");
  problem.compute();
  for (std::size_t i = 1; i < 4; ++i) {
    const TensorView& output = problem.operand(i).view;
    const double right = load_element(Dtype::f32, output.data(), 5);
    store_element(Dtype::f32, output.data(), 5, right + 1);
    const CheckResult result = same_verdict(problem, check, "a wrong output of the epilogue");
    require(!result.passed, fmt::format("output {} is not judged", i));
    store_element(Dtype::f32, output.data(), 5, right);
  }
  require(same_verdict(problem, check, "right again").passed, "an epilogue should pass again");
}

void reductions_of_columns_have_all_rows(Device device) {
  Judged problem(
      "gemm m=30 n=20 k=40 a=bf16:t b=bf16:n total=f32:row epi=\"D = accum; "
      "total = sum(accum)\"",
      device);
  DeviceCheckOptions options;
  const auto rows_with = [&](std::int64_t elements, std::int64_t host_products) {
    options.max_elements = elements;
    options.host.max_products = host_products;
    DeviceCheck check(problem.on_device(), options);
    require(check.host_reason().empty() == (elements >= 600 || host_products < 24'000),
            fmt::format("{} elements: '{}'", elements, check.host_reason()));
    const CheckResult result = check.check();
    require(result.passed, words(result));
    return result.rows_checked;
  };
  require(rows_with(600, 24'000) == 30, "all rows fit");
  require(rows_with(599, 24'000) == 30, "all rows do not fit, but the host takes them");
  require(rows_with(599, 23'999) == 7, "a sample of a quarter");
}

void elementwise_operations_are_judged(Device device) {
  Judged problem("elementwise op=add shape=30x40 a=f16 b=f32 out=f32", device);
  DeviceCheck check(problem.on_device());
  require(!check.host_reason().empty(), "an elementwise operation has no reference product");
  require(same_verdict(problem, check, "right").passed, "it should pass");
  store_element(Dtype::f32, problem.out().data(), 41, 9);
  expect_failure(problem, check, "a wrong element", "out[1, 1]");
}

void empty_outputs_pass(Device device) {
  for (const char* text : {"gemm m=0 n=8 k=8 a=f32 b=f32", "gemm m=8 n=0 k=8 a=f32 b=f32",
                           "gemm m=8 n=8 k=0 a=f32 b=f32", "gemm m=8 n=8 k=8 l=0 a=f32 b=f32"}) {
    Judged problem(text, device);
    DeviceCheck check(problem.on_device());
    require(same_verdict(problem, check, "of nothing").passed, text);
  }
}

void the_host_judges_without_nvrtc(Device device) {
  const auto none = std::filesystem::temp_directory_path() / "estoc_judging_has_none";
  ::setenv("ESTOC_NVRTC", (none / "libnvrtc.so").c_str(), 1);
  ::setenv("ESTOC_CACHE_DIR", none.c_str(), 1);
  Judged problem("gemm m=20 n=30 k=20 a=f32:t b=f32:n out=f32:t", device);
  DeviceCheck check(problem.on_device());
  require(check.host_reason().find("NVRTC") != std::string::npos,
          "expected a reason that names NVRTC, got '" + check.host_reason() + "'");
  require(same_verdict(problem, check, "right").passed, "it should pass");
  problem.set(3, 4, 99);
  expect_failure(problem, check, "a wrong element", "out[3, 4]");
}

/// Compiles the check from a copy of its sources in which one line is wrong.
void wrong_references_are_reported(Device device) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / fmt::format("estoc_judging_{}", ::getpid());
  const std::string right = "value += a * b;\n    magnitude";
  for (const jit::HeaderText& header : jit::embedded_device_sources()) {
    std::string text(header.text);
    if (const std::size_t at = text.find(right); at != std::string::npos) {
      text.replace(at, right.size(), "value += a * b * (1 + 0x1p-30);\n    magnitude");
    }
    const fs::path file = root / header.name;
    fs::create_directories(file.parent_path());
    save_text(file.string(), text);
  }
  ::setenv("ESTOC_DEVICE_DIR", root.c_str(), 1);
  std::string said;
  try {
    const Judged problem("gemm m=70 n=70 k=40 a=f32 b=f32", device);
    const DeviceCheck check(problem.on_device());
  } catch (const Error& error) {
    said = error.what();
  }
  fs::remove_all(root);
  require(said.find("reference product is wrong at [0, ") != std::string::npos,
          said.empty() ? "a wrong reference product was not noticed" : said);
}

}  // namespace

std::vector<Feature> judging_features() {
  return {{"judging_agrees_with_the_host", verdicts_are_those_of_the_host},
          {"judging_finds_small_mistakes", small_mistakes_are_found},
          {"judging_knows_nan_and_infinity", nan_and_infinity_have_their_places},
          {"judging_lets_numbers_round_to_infinity", numbers_may_round_to_infinity},
          {"judging_reads_every_code", every_code_is_read},
          {"judging_takes_other_products", other_products_are_judged},
          {"judging_rounds_operands_to_tf32", operands_are_rounded_to_tf32},
          {"judging_samples_the_edges", samples_have_the_edges},
          {"judging_takes_epilogues", epilogues_are_judged},
          {"judging_gives_reductions_all_rows", reductions_of_columns_have_all_rows},
          {"judging_takes_elementwise_operations", elementwise_operations_are_judged},
          {"judging_passes_empty_outputs", empty_outputs_pass},
          {"judging_does_without_nvrtc", the_host_judges_without_nvrtc, true},
          {"judging_reports_a_wrong_reference", wrong_references_are_reported, true}};
}

}  // namespace estoc::gpu_test
