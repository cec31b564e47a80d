// estoc.tune and the records of tuning.
#include "estoc/background_tuner.hpp"
#include "estoc/tune.hpp"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "numbers.h"
#include "paths.h"
#include "tuning.h"

namespace estoc::python {
namespace {

nb::dict knobs_of(const TunedKernel& record) {
  const nb::object loads = nb::module_::import_("json").attr("loads");
  return nb::cast<nb::dict>(loads(knobs_text(record.knobs)));
}

/// All but the knobs.
auto fields_of(auto& record) {
  return std::tie(record.device, record.cc, record.driver, record.library, record.signature,
                  record.problem, record.kernel, record.seconds, record.predicted_seconds,
                  record.runner_up, record.runner_up_seconds, record.noise, record.candidates,
                  record.rounds, record.time);
}
using Fields =
    std::tuple<std::string, int, std::string, std::string, std::string, std::string, std::string,
               double, std::optional<double>, std::string, double, double, int, int, std::int64_t>;

std::string describe_record(const TunedKernel& record) {
  return "TunedKernel(kernel='" + record.kernel +
         "', seconds=" + nb::cast<std::string>(nb::repr(nb::float_(record.seconds))) +
         ", problem='" + record.problem + "')";
}

/// Tells `progress`, unless it is None; Ctrl-C and what it raises are passed on.
bool tell(nb::handle progress, TuneStage stage, double fraction) {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return progress.is_none() || !progress(tune_stage_name(stage), fraction).is(Py_False);
}

TunedKernel search(nb::handle args, double budget, nb::handle top, nb::handle rounds,
                   nb::handle threads, nb::handle seed, bool force, bool store,
                   nb::handle providers, nb::handle progress) {
  TuneOptions options;
  const std::int64_t kernels = whole_number(top, "top");
  options.budget_seconds = budget;
  options.rounds = whole_int(rounds, "rounds");
  options.threads = whole_int(threads, "threads");
  if (!(budget > 0) || kernels < 1 || options.rounds < 1 || options.threads < 0) {
    throw Error(ErrorKind::value,
                "budget, top, rounds: expected more than 0, and threads of 0 or more");
  }
  options.top = static_cast<std::size_t>(kernels);
  options.seed = static_cast<std::uint64_t>(whole_number(seed, "seed"));
  options.force = force;
  options.store = store;
  if (!providers.is_none()) {
    for (const nb::object& name : items_of(providers, "providers"))
      options.query.providers.push_back(text(name, "providers"));
  }
  options.progress = [progress](TuneStage stage, double fraction) {
    return tell(progress, stage, fraction);
  };
  const RuntimeArguments& arguments = to_arguments(args).require_native();
  const nb::gil_scoped_release unlocked;
  return tune(arguments, options).record;
}

std::vector<TunedKernel> records_of(nb::handle args) {
  if (args.is_none()) return tuned_kernels();
  std::vector<TunedKernel> records;
  if (auto found = find_tuned(to_arguments(args).require_native())) {
    records.push_back(std::move(*found));
  }
  return records;
}

nb::list tuned(nb::handle args) {
  nb::list records;
  for (TunedKernel& record : records_of(args))
    records.append(nb::cast(new TunedKernel(std::move(record)), nb::rv_policy::take_ownership));
  return records;
}

std::size_t forget(nb::handle args) {
  return args.is_none() ? forget_all_tuned() : forget_tuned(to_arguments(args).require_native());
}

nb::object import_records(nb::handle path) {
  const TunedMerge merge = import_tuned(path_text(path));
  return nb::make_tuple(merge.added, merge.replaced, merge.kept);
}

void bind_record(nb::module_& module) {
  nb::class_<TunedKernel>(module, "TunedKernel",
                          "The kernel that was measured to be the fastest for a problem.")
      .def_ro("problem", &TunedKernel::problem, "The problem's text.")
      .def_ro("kernel", &TunedKernel::kernel, "The kernel's name.")
      .def_prop_ro("knobs", &knobs_of,
                   "Its run-time parameters: raster, swizzle, split, "
                   "split_tiles, zigzag.")
      .def_ro("seconds", &TunedKernel::seconds, "Measured, of one launch.")
      .def_ro("predicted_seconds", &TunedKernel::predicted_seconds,
              "What the ranking expected, or None.")
      .def_ro("runner_up", &TunedKernel::runner_up,
              "Name of the fastest other kernel; \"\" where there was none.")
      .def_ro("runner_up_seconds", &TunedKernel::runner_up_seconds, "Its time.")
      .def_ro("noise", &TunedKernel::noise,
              "What two timings of one kernel differed by, as a part of the first.")
      .def_ro("candidates", &TunedKernel::candidates, "How many were timed.")
      .def_ro("rounds", &TunedKernel::rounds, "Time slices that `seconds` is the median of.")
      .def_ro("time", &TunedKernel::time, "When it was measured, in seconds since 1970.")
      .def_ro("device", &TunedKernel::device, "Model of the device.")
      .def_ro("cc", &TunedKernel::cc, "Ten times its compute capability; 0 for a CPU.")
      .def_ro("driver", &TunedKernel::driver, "CUDA version of the driver; \"\" for a CPU.")
      .def_ro("library", &TunedKernel::library, "Version of Estoc.")
      .def("__getstate__",
           [](const TunedKernel& self) {
             return std::pair(knobs_text(self.knobs), Fields(fields_of(self)));
           })
      .def("__setstate__",
           [](TunedKernel& self, const std::pair<std::string, Fields>& state) {
             new (&self) TunedKernel();
             self.knobs = parse_knobs(state.first);
             fields_of(self) = state.second;
           })
      .def(
          "__eq__",
          [](const TunedKernel& self, nb::handle other) {
            TunedKernel* given = nullptr;
            return nb::try_cast(other, given, false) && given != nullptr && self == *given;
          },
          nb::arg("other").none())
      .def("__repr__", &describe_record);
}

PyTuner* start(double budget, nb::handle top, nb::handle threads, nb::handle limit) {
  const std::int64_t kernels = whole_number(top, "top");
  const std::int64_t problems = whole_number(limit, "limit");
  if (kernels < 0 || problems < 0) {
    throw Error(ErrorKind::value, "top, limit: expected whole numbers of 0 or more");
  }
  return new PyTuner{std::make_unique<BackgroundTuner>(
      BackgroundTuning{.budget_seconds = budget,
                       .top = static_cast<std::size_t>(kernels),
                       .threads = whole_int(threads, "threads"),
                       .limit = static_cast<std::size_t>(problems)})};
}

void bind_tuner(nb::module_& module) {
  nb::class_<PyTuner>(
      module, "BackgroundTuner",
      "Tunes problem after problem on a thread of its own, of the lowest priority on the host:\n"
      "those of matmul(..., tuner=), and those of add(). get_kernels, plan and matmul go by what "
      "it\n"
      "finds at the next call. A context, at whose end the search at hand is given up.\n\n"
      "Parameters\n----------\nbudget : float\n    Seconds for one problem.\n"
      "top : int\n    Kernels that are compiled for it.\nthreads : int\n    That compile.\n"
      "limit : int\n    Problems that are taken; what is met after so many is left alone.\n\n"
      "Raises\n------\nOSError\n    Where records cannot be stored.")
      .def(nb::new_(&start), nb::arg("budget") = 10.0, nb::arg("top") = 16, nb::arg("threads") = 1,
           nb::arg("limit") = 1024)
      .def(
          "add",
          [](PyTuner& self, nb::handle args) {
            self.get().add(to_arguments(args).require_native());
          },
          nb::arg("args"), "Has the problem tuned that `args` are an instance of, once.")
      .def(
          "wait",
          [](PyTuner& self) {
            const BackgroundTuner& tuner = self.get();
            const nb::gil_scoped_release unlocked;
            tuner.wait();
          },
          "Waits until no problem waits.")
      .def("close", &PyTuner::close, "Gives up the search at hand, and waits until it has ended.")
      .def(
          "__enter__", [](PyTuner& self) -> PyTuner& { return self; }, nb::rv_policy::reference)
      .def(
          "__exit__", [](PyTuner& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("traceback").none())
      .def_prop_ro(
          "waiting", [](PyTuner& self) { return self.get().progress().waiting; },
          "Problems that wait, the one at hand included.")
      .def_prop_ro(
          "tuned", [](PyTuner& self) { return self.get().progress().tuned; },
          "Problems that have a record now.")
      .def_prop_ro(
          "failed", [](PyTuner& self) { return self.get().progress().failed; },
          "Problems that could not be tuned.")
      .def_prop_ro(
          "last_failure", [](PyTuner& self) { return self.get().progress().last_failure; },
          "The last of these, and why; \"\" where there is none.");
}

}  // namespace

PyTuner::~PyTuner() {
  close();
}

BackgroundTuner& PyTuner::get() const {
  if (native) return *native;
  throw Error(ErrorKind::value, "tuner: expected one that is open, got one that was closed");
}

// Its thread may be waiting for the GIL, to call a kernel class of Python's.
void PyTuner::close() {
  const nb::gil_scoped_release unlocked;
  native.reset();
}

void bind_tuning(nb::module_& module) {
  bind_record(module);
  bind_tuner(module);
  module.def("_tune", &search, nb::arg("args").none(), nb::arg("budget"), nb::arg("top").none(),
             nb::arg("rounds").none(), nb::arg("threads").none(), nb::arg("seed").none(),
             nb::arg("force"), nb::arg("store"), nb::arg("providers").none(),
             nb::arg("progress").none());
  module.def("tuned", &tuned, nb::arg("args").none() = nb::none(),
             "The records of tuning: of the problem that `args` describe on their device, the one\n"
             "that get_kernels goes by, if there is one; without arguments all there are.\n\n"
             "Raises OSError for a file that is damaged or locked; docs/tuning.md says where it\n"
             "is.");
  module.def("forget_tuned", &forget, nb::arg("args").none() = nb::none(),
             "Removes the records of the problem that `args` describe on their device; without\n"
             "arguments all. Returns how many.");
  module.def("tuned_path", &tuned_path, "The file of the records; \"\" where there is none.");
  module.def(
      "export_tuned", [](nb::handle path) { export_tuned(path_text(path)); }, nb::arg("path"),
      "Writes every record to a JSON file.");
  module.def(
      "import_tuned", &import_records, nb::arg("path"),
      "Takes over the records of such a file. Of two for one problem the one of more rounds\n"
      "stays, of equal ones the newer. Returns how many were added, replaced, and kept as\n"
      "they were.");
}

}  // namespace estoc::python
