// get_kernels, kernel_by_name, explain, and the lists they give.
#include "estoc/discovery.hpp"

#include <algorithm>
#include <string>

#include "errors.h"
#include "kernels.h"
#include "numbers.h"

namespace estoc::python {
namespace {

double to_seconds(nb::handle prediction) {
  const double seconds = PyFloat_AsDouble(prediction.ptr());
  if (seconds == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    fail_type("predict: expected a number of seconds or None, got " + class_name(prediction));
  }
  return seconds;
}

/// What was found: a ranked list for arguments, or every kernel, made as it is read.
class PyKernelList {
 public:
  explicit PyKernelList(std::shared_ptr<const KernelList> list) : list_(std::move(list)) {
    entries_.reserve(list_->size());
    for (std::size_t i = 0; i < list_->size(); ++i) {
      entries_.push_back({i, nb::object(), (*list_)[i].predicted_seconds()});
    }
    add_failures(list_->failures());
  }
  explicit PyKernelList(KernelSequence&& sequence) : sequence_(std::move(sequence)) {
    add_failures(sequence_->failures());
  }

  std::size_t size() const {
    return entries_.size() + (sequence_ ? static_cast<std::size_t>(sequence_->size()) : 0);
  }

  nb::object at(std::size_t index) {
    if (sequence_) {
      const auto native = static_cast<std::size_t>(sequence_->size());
      if (index < native) return wrap_kernel((*sequence_)[index]);
      return entries_[index - native].object;
    }
    Entry& entry = entries_[index];
    if (!entry.object.is_valid()) entry.object = wrap_kernel((*list_)[entry.native]);
    return entry.object;
  }

  /// Adds a kernel written in Python, before those that are expected to be slower.
  void insert(nb::object kernel, nb::handle prediction) {
    std::optional<double> seconds;
    if (!prediction.is_none()) seconds = to_seconds(prediction);
    auto place = entries_.end();
    if (seconds && !sequence_) {
      place = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return !entry.seconds || *entry.seconds > *seconds;
      });
    }
    entries_.insert(place, {0, std::move(kernel), seconds});
  }

  std::vector<DiscoveryFailure> failures;
  /// What an empty list was asked for, by which it says why; None otherwise.
  nb::object question = nb::none();

 private:
  struct Entry {
    std::size_t native;
    nb::object object;
    std::optional<double> seconds;
  };

  void add_failures(const std::vector<DiscoveryFailure>& more) {
    failures.insert(failures.end(), more.begin(), more.end());
  }

  std::shared_ptr<const KernelList> list_;
  std::optional<KernelSequence> sequence_;
  std::vector<Entry> entries_;
};

/// A choice of kernels, by a function, text or nothing. What the function raises is kept, so that
/// it reaches the caller: a class that fails is no reason for get_kernels to.
class PyFilter {
 public:
  explicit PyFilter(nb::object filter) : function_(std::move(filter)) {
    if (nb::isinstance<nb::str>(function_)) {
      text_ = MetadataFilter::parse(nb::cast<std::string>(function_));
      function_ = nb::none();
    } else if (!function_.is_none() && !PyCallable_Check(function_.ptr())) {
      fail_type("metadata_filter: expected a function, text or None, got " + class_name(function_));
    }
  }

  bool call(nb::handle metadata) {
    if (function_.is_none()) return text_(nb::cast<const PyKernelMetadata&>(metadata).native);
    try {
      return nb::cast<bool>(nb::bool_(function_(metadata)));
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

  /// Refers to this object.
  MetadataFilter native() {
    if (function_.is_none()) return text_;
    return MetadataFilter([this](const KernelMetadata& metadata) {
      const nb::gil_scoped_acquire locked;
      if (error_) return false;
      try {
        return call(nb::cast(wrap_metadata(metadata)));
      } catch (...) {
        error_ = std::current_exception();
        return false;
      }
    });
  }

  bool failed() const { return error_ != nullptr; }
  void raise() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::object function_;
  MetadataFilter text_;
  std::exception_ptr error_;
};

/// What the function gives, which runs without the GIL.
template <typename Function>
auto unlocked(Function&& function) {
  const nb::gil_scoped_release released;
  return function();
}

/// `providers`: None for all, else names; with none of these, nothing is searched.
nb::object find_kernels(const PyArguments* arguments, PyFilter& filter, nb::handle cc,
                        nb::handle target, nb::handle providers, bool portable) {
  KernelQuery query{.filter = filter.native(), .target = to_target(cc, target)};
  query.portable = portable;
  if (!providers.is_none()) query.providers = nb::cast<std::vector<std::string>>(providers);
  const bool nothing = !providers.is_none() && query.providers.empty();
  std::unique_ptr<PyKernelList> found;
  if (nothing || (arguments != nullptr && arguments->native() == nullptr)) {
    found = std::make_unique<PyKernelList>(std::make_shared<const KernelList>());
  } else if (arguments == nullptr) {
    found = std::make_unique<PyKernelList>(unlocked([&] {
      KernelSequence sequence = get_kernels(query);
      (void)sequence.size();  // the filter is asked now, while it is there
      return sequence;
    }));
  } else {
    const RuntimeArguments& native = *arguments->native();
    found = std::make_unique<PyKernelList>(
        unlocked([&] { return std::make_shared<const KernelList>(get_kernels(native, query)); }));
  }
  filter.raise();
  if (found->size() == 0 && arguments != nullptr) {
    found->question = nb::make_tuple(nb::find(*arguments), cc, target);
  }
  return nb::cast(found.release(), nb::rv_policy::take_ownership);
}

nb::list failures_of(const PyKernelList& list) {
  nb::list result;
  for (const DiscoveryFailure& failure : list.failures) {
    result.append(nb::make_tuple(failure.provider, failure.kernel_class, failure.message));
  }
  return result;
}

[[noreturn]] void fail_empty(const PyKernelList& list) {
  if (list.question.is_none()) fail_no_kernel("no kernel is of that target, or passes the filter");
  const nb::object why = nb::module_::import_("estoc.manifest").attr("_why_none");
  fail_no_kernel(
      nb::cast<std::string>(why(*nb::borrow<nb::tuple>(list.question), failures_of(list))));
}

std::size_t index_of(const PyKernelList& list, nb::handle given) {
  const std::int64_t number = whole_number(given, "index");
  const auto size = static_cast<std::int64_t>(list.size());
  if (size == 0) fail_empty(list);
  const std::int64_t index = number < 0 ? number + size : number;
  if (index >= 0 && index < size) return static_cast<std::size_t>(index);
  fail_no_kernel("index: expected one of " + std::to_string(size) + " kernels, got " +
                 std::to_string(number));
}

nb::object iterator_of(nb::handle_t<PyKernelList> list) {
  const bool empty = nb::cast<const PyKernelList&>(list).size() == 0;
  return nb::steal(empty ? PyObject_GetIter(nb::tuple().ptr()) : PySeqIter_New(list.ptr()));
}

nb::list slice_of(PyKernelList& list, nb::handle slice) {
  const nb::object range = nb::module_::import_("builtins").attr("range")(list.size())[slice];
  nb::list result;
  for (const nb::handle index : range)
    result.append(list.at(nb::cast<std::size_t>(index)));
  return result;
}

std::string html_of(PyKernelList& list) {
  constexpr std::size_t kRows = 20;
  std::string html = "<table><tr><th></th><th>kernel</th><th>expected</th></tr>";
  for (std::size_t i = 0; i < std::min(list.size(), kRows); ++i) {
    const nb::object kernel = list.at(i);
    const nb::object seconds = kernel.attr("predicted_seconds");
    const std::string time =
        seconds.is_none() ? "" : std::to_string(nb::cast<double>(seconds) * 1e6) + " us";
    html += "<tr><td>" + std::to_string(i) + "</td><td>" +
            nb::cast<std::string>(kernel.attr("name")) + "</td><td>" + time + "</td></tr>";
  }
  return html + "</table><p>" + std::to_string(list.size()) + " kernels</p>";
}

void bind_list(nb::module_& module) {
  nb::class_<PyKernelList>(module, "KernelList",
                           "Kernels, the one to use first. A sequence: len, index, slice, iterate.")
      .def("__len__", &PyKernelList::size)
      .def("__bool__", [](const PyKernelList& self) { return self.size() != 0; })
      .def(
          "__getitem__",
          [](PyKernelList& self, nb::handle index) -> nb::object {
            if (nb::isinstance<nb::slice>(index)) return slice_of(self, index);
            return self.at(index_of(self, index));
          },
          nb::arg("index").none())
      .def("__iter__", &iterator_of)
      .def_prop_ro(
          "failures", &failures_of,
          "(provider, kernel class, message) of each class that raised while it was asked.")
      .def("_insert", &PyKernelList::insert, nb::arg("kernel"),
           nb::arg("seconds").none() = nb::none())
      .def("_add_failure",
           [](PyKernelList& self, std::string provider, std::string kernel_class,
              std::string message) {
             self.failures.push_back(
                 {std::move(provider), std::move(kernel_class), std::move(message)});
           })
      .def("_repr_html_", &html_of)
      .def("__repr__", [](PyKernelList& self) {
        const std::size_t size = self.size();
        if (size == 0) return std::string("<KernelList: no kernels>");
        return "<KernelList: " + std::to_string(size) + (size == 1 ? " kernel" : " kernels") +
               ", first " + nb::cast<std::string>(self.at(0).attr("name")) + ">";
      });
}

}  // namespace

void bind_discovery(nb::module_& module) {
  bind_list(module);
  module.def("_find_kernels", &find_kernels, nb::arg("args").none(), nb::arg("metadata_filter"),
             nb::arg("cc").none(), nb::arg("target").none(), nb::arg("providers").none(),
             nb::arg("portable"));
  nb::class_<PyFilter>(module, "_MetadataFilter")
      .def(nb::init<nb::object>(), nb::arg("filter").none())
      .def("__call__", &PyFilter::call, nb::arg("metadata").none())
      .def_prop_ro("failed", &PyFilter::failed);
  module.def(
      "_target_cc",
      [](nb::handle cc, nb::handle target) -> std::optional<int> {
        const auto named = to_target(cc, target);
        return named ? std::optional(named->cc()) : std::nullopt;
      },
      nb::arg("cc").none(), nb::arg("target").none());
  module.def("_native_providers", &available_providers);
  module.def("_clear_discovery_cache", &clear_discovery_cache);
  module.def(
      "kernel_by_name",
      [](nb::handle given) {
        const std::string name = text(given, "name");
        return wrap_kernel(unlocked([&] { return kernel_by_name(name); }));
      },
      nb::arg("name").none(),
      "The kernel of that name, rebuilt from it without enumerating.\n\n"
      "Raises NotFoundError with the nearest name.");
  module.def(
      "explain",
      [](nb::handle args, nb::handle cc, nb::handle target) {
        nb::list result;
        const KernelQuery query{.target = to_target(cc, target)};
        const RuntimeArguments& arguments = to_arguments(args).require_native();
        for (const Explanation& entry : unlocked([&] { return explain(arguments, query); })) {
          nb::dict line;
          line["provider"] = entry.provider;
          line["kernel_class"] = entry.kernel_class;
          line["described"] = entry.described;
          line["supported"] = entry.supported;
          line["status"] = entry.status;
          result.append(line);
        }
        return result;
      },
      nb::arg("args").none(), nb::arg("cc") = nb::none(), nb::arg("target") = nb::none(),
      "Why each kernel class does or does not apply: a list of dicts with provider, kernel_class,\n"
      "described, supported and status.");
}

}  // namespace estoc::python
