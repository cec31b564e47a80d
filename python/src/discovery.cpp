// get_kernels, kernel_by_name, explain, and the lists they give.
#include "estoc/discovery.hpp"

#include <algorithm>
#include <string>

#include "errors.h"
#include "kernels.h"
#include "numbers.h"

namespace estoc::python {
namespace {

/// What was found: a ranked list for arguments, or every kernel, made as it is read.
class PyKernelList {
 public:
  explicit PyKernelList(KernelList&& list)
      : list_(std::move(list)), failures_(list_.failures()), objects_(list_.size()) {}
  explicit PyKernelList(KernelSequence&& sequence)
      : sequence_(std::move(sequence)),
        failures_(sequence_->failures()),
        why_empty_("no kernel is of that target, or passes the filter") {}
  explicit PyKernelList(std::string why_empty) : why_empty_(std::move(why_empty)) {}

  std::size_t size() const {
    return sequence_ ? static_cast<std::size_t>(sequence_->size()) : list_.size();
  }

  nb::object at(std::size_t index) {
    if (sequence_) return wrap_kernel((*sequence_)[index]);
    nb::object& object = objects_[index];
    if (!object.is_valid()) object = wrap_kernel(list_[index]);
    return object;
  }

  const std::vector<DiscoveryFailure>& failures() const { return failures_; }
  std::string why_empty() const { return why_empty_.empty() ? list_.why_empty() : why_empty_; }

 private:
  KernelList list_;
  std::optional<KernelSequence> sequence_;
  std::vector<DiscoveryFailure> failures_;
  std::vector<nb::object> objects_;
  std::string why_empty_;  ///< empty: `list_` knows
};

/// The metadata that a filter is given; of a kernel written in Python its author's.
nb::object metadata_object(const KernelMetadata& metadata) {
  if (!is_type_of_author(metadata.kernel_class)) return nb::cast(wrap_metadata(metadata));
  return metadata_of(kernel_behind(wrap_kernel(kernel_by_name(metadata.name))));
}

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

  /// Refers to this object.
  MetadataFilter native() {
    if (function_.is_none()) return text_;
    return MetadataFilter([this](const KernelMetadata& metadata) {
      const nb::gil_scoped_acquire locked;
      if (error_) return false;
      try {
        return nb::cast<bool>(nb::bool_(function_(metadata_object(metadata))));
      } catch (...) {
        error_ = std::current_exception();
        return false;
      }
    });
  }

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

/// Every kernel there is.
KernelSequence find_all(const KernelQuery& query) {
  return unlocked([&] {
    KernelSequence sequence = get_kernels(query);
    (void)sequence.size();  // the filter runs now, while it exists
    return sequence;
  });
}

KernelList find_for(const PyArguments& arguments, const KernelQuery& query) {
  const QueryScope scope(arguments);
  return unlocked([&] { return get_kernels(*arguments.native(), query); });
}

/// `providers`: None for all, else names; with none of these, nothing is searched.
nb::object find_kernels(const PyArguments* arguments, nb::object given_filter, nb::handle cc,
                        nb::handle target, nb::handle providers, bool portable) {
  PyFilter filter(std::move(given_filter));
  KernelQuery query{.filter = filter.native(), .target = to_target(cc, target)};
  query.portable = portable;
  if (!providers.is_none()) query.providers = nb::cast<std::vector<std::string>>(providers);
  std::unique_ptr<PyKernelList> found;
  if (!providers.is_none() && query.providers.empty()) {
    found = std::make_unique<PyKernelList>("providers: expected at least one, got none");
  } else if (arguments == nullptr) {
    found = std::make_unique<PyKernelList>(find_all(query));
  } else {
    found = std::make_unique<PyKernelList>(find_for(*arguments, query));
  }
  filter.raise();
  return nb::cast(found.release(), nb::rv_policy::take_ownership);
}

nb::list failures_of(const PyKernelList& list) {
  nb::list result;
  for (const DiscoveryFailure& failure : list.failures()) {
    result.append(nb::make_tuple(failure.provider, failure.kernel_class, failure.message));
  }
  return result;
}

std::size_t index_of(const PyKernelList& list, nb::handle given) {
  const std::int64_t number = whole_number(given, "index");
  const auto size = static_cast<std::int64_t>(list.size());
  if (size == 0) fail_no_kernel(list.why_empty());
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
      .def_prop_ro("failures", &failures_of,
                   "(provider, kernel class, message) of each class that raised during the search.")
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
  module.def("_find_kernels", &find_kernels, nb::arg("args").none(),
             nb::arg("metadata_filter").none(), nb::arg("cc").none(), nb::arg("target").none(),
             nb::arg("providers").none(), nb::arg("portable"));
  module.def("_provider_names", &available_providers);
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
        const PyArguments& given = to_arguments(args);
        const RuntimeArguments& arguments = given.require_native();
        const QueryScope scope(given);
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
