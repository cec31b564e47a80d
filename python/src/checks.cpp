// Judging outputs against float64, and filling operands with random data.
#include "estoc/check.hpp"

#include <string>

#include "arguments.h"
#include "errors.h"
#include "estoc/device_check.hpp"
#include "numbers.h"

namespace estoc::python {
namespace {

/// True until Ctrl-C is pressed; then with its exception set.
bool goes_on() {
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0;
}

CheckResult judge(const RuntimeArguments& arguments, const CheckOptions& options) {
  if (arguments.device().is_cpu()) return check_output(arguments, options);
  DeviceCheckOptions on_device;
  on_device.host = options;
  return DeviceCheck(arguments, on_device).check();
}

CheckResult check(nb::handle args, nb::handle seed, nb::handle threads) {
  CheckOptions options;
  options.seed = static_cast<std::uint64_t>(whole_number(seed, "seed"));
  options.threads = whole_int(threads, "threads");
  options.progress = [](double) { return goes_on(); };
  const RuntimeArguments& arguments = to_arguments(args).require_native();
  try {
    const nb::gil_scoped_release unlocked;
    return judge(arguments, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled && PyErr_Occurred() != nullptr)
      throw nb::python_error();
    throw;
  }
}

std::string describe(const CheckResult& result) {
  std::string text = std::string("CheckResult(passed=") + (result.passed ? "True" : "False");
  text += ", error=" + nb::cast<std::string>(nb::repr(nb::float_(result.error)));
  text += ", bound=" + nb::cast<std::string>(nb::repr(nb::float_(result.bound)));
  text += ", rows_checked=" + std::to_string(result.rows_checked);
  text += ", rows_total=" + std::to_string(result.rows_total);
  return text + ", worst='" + result.worst + "')";
}

void fill(nb::handle object, nb::handle seed) {
  const Tensor tensor = import_tensor(object, "tensor");
  if (tensor.read_only) fail_value("tensor: expected one that can be written, got a read-only one");
  fill_random(tensor.view, static_cast<std::uint64_t>(whole_number(seed, "seed")));
}

}  // namespace

void bind_checks(nb::module_& module) {
  nb::class_<CheckResult>(module, "CheckResult",
                          "The verdict of check_output; true where the output passed.")
      .def_ro("passed", &CheckResult::passed,
              "Whether rounding explains every element that was checked.")
      .def_ro("error", &CheckResult::error,
              "||out - reference|| / ||reference|| over the checked rows; for an exact integer\n"
              "result the number of elements that differ.")
      .def_ro("bound", &CheckResult::bound, "The largest error that rounding explains.")
      .def_ro("rows_checked", &CheckResult::rows_checked, "Number of rows that were checked.")
      .def_ro("rows_total", &CheckResult::rows_total, "Number of rows of the output.")
      .def_ro(
          "worst", &CheckResult::worst,
          "The element that differs most: \"out[0, 3, 17]: expected 1.25, got 1.5\"; \"\" where\n"
          "the output passed.")
      .def("__bool__", [](const CheckResult& self) { return self.passed; })
      .def("__getstate__",
           [](const CheckResult& self) {
             return std::tuple(self.passed, self.error, self.bound, self.rows_checked,
                               self.rows_total, self.worst);
           })
      .def("__setstate__",
           [](CheckResult& self,
              const std::tuple<bool, double, double, std::int64_t, std::int64_t, std::string>&
                  state) { new (&self) CheckResult(std::make_from_tuple<CheckResult>(state)); })
      .def("__repr__", &describe);
  module.def(
      "check_output", &check, nb::arg("args"), nb::kw_only(), nb::arg("seed").none() = 0,
      nb::arg("threads").none() = 0,
      "Compares the output of `args`, as it is in memory, with a float64 evaluation.\n\n"
      "Waits for no stream: synchronize first. A product on a GPU is judged there. Above 2^30\n"
      "products (on a GPU 2^36), random rows are checked.\n\n"
      "Parameters\n----------\n"
      "args : RuntimeArguments\n    The operation, its inputs and its output.\n"
      "seed : int\n    Of the choice of rows.\n"
      "threads : int\n    Host threads; 0 for one on each core.\n\n"
      "Returns\n-------\nCheckResult\n\n"
      "Raises\n------\n"
      "ValueError\n    Operands without data; an operation in place.\n"
      "RuntimeError\n    Operands for which there is no reference, such as scaled ones.");
  module.def(
      "fill_random", &fill, nb::arg("tensor").none(), nb::arg("seed").none() = 0,
      "Fills a tensor in host memory with reproducible random data that suits its dtype:\n"
      "floats in [-1, 1), integers within +-127. An element depends on the seed and its\n"
      "row-major number alone. Raises ValueError for a tensor on a GPU, read-only or without\n"
      "data.");
}

}  // namespace estoc::python
