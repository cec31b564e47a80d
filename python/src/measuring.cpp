// The work of estoc.measure: timing kernels against each other on a GPU.
#include "arguments.h"
#include "errors.h"
#include "estoc/measure.hpp"
#include "kernels.h"
#include "numbers.h"

namespace estoc::python {
namespace {

std::vector<Kernel> kernels_in(nb::handle kernels) {
  std::vector<Kernel> found;
  for (const nb::object& each : items_of(kernels, "kernels")) {
    const PyKernel& behind = kernel_behind(each);
    if (!behind.native) {
      throw Error(ErrorKind::unsupported,
                  "kernels: expected kernels of the library and its classes, got " +
                      shown_repr(each) + " of Python");
    }
    found.push_back(*behind.native);
  }
  return found;
}

bool go_on(nb::handle progress, double part) {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return progress.is_none() || !progress(part).is(Py_False);
}

/// Timings as (kernel, provider, median, low, high, slices, problem), then noise, MHz and watts.
nb::tuple measured(nb::handle args, nb::handle kernels, nb::handle rounds, nb::handle seed,
                   bool is_sustained, bool noise, nb::handle progress) {
  const RuntimeArguments& arguments = to_arguments(args).require_native();
  MeasureOptions options = is_sustained ? MeasureOptions::sustained() : MeasureOptions::burst();
  options.device = arguments.device();
  options.rounds = whole_int(rounds, "rounds");
  options.seed = static_cast<std::uint64_t>(whole_number(seed, "seed"));
  options.noise_floor = noise;
  if (options.rounds < 1) {
    fail_value("rounds: expected 1 or more, got " + std::to_string(options.rounds));
  }
  options.progress = [progress](double part) { return go_on(progress, part); };
  const std::vector<Kernel> chosen = kernels_in(kernels);
  Measurement result;
  {
    const nb::gil_scoped_release unlocked;
    result = measure(Problem::of(arguments), chosen, options);
  }
  nb::list timings;
  for (const KernelTiming& each : result.timings) {
    timings.append(nb::make_tuple(each.kernel, each.provider, each.median, each.low, each.high,
                                  each.slices, each.problem));
  }
  return nb::make_tuple(timings, result.noise, result.gpu.sm_clock_mhz, result.gpu.watts);
}

}  // namespace

void bind_measuring(nb::module_& module) {
  module.def("_measure", &measured, nb::arg("args"), nb::arg("kernels"), nb::arg("rounds"),
             nb::arg("seed"), nb::arg("sustained"), nb::arg("noise"), nb::arg("progress").none());
}

}  // namespace estoc::python
