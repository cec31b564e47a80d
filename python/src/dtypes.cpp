// estoc.dtype and what counts as one.
#include "dtypes.h"

#include <array>
#include <cctype>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>

#include "errors.h"

namespace estoc::python {
namespace {

// Borrowed: the module holds the objects.
std::array<PyObject*, kDtypeCount> objects{};

std::string simplified(std::string_view name) {
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  std::string text;
  for (const char letter : name) {
    if (letter != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

/// The types by their simplified names in other projects.
const std::unordered_map<std::string, Dtype>& others() {
  static const auto* const all = [] {
    auto* const made = new std::unordered_map<std::string, Dtype>;
    const auto add = [&](Dtype dtype, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names)
        made->emplace(simplified(name), dtype);
    };
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, dlpack, xla, ...) add(Dtype::name, {__VA_ARGS__});
#include "estoc/dtypes.def"
    return made;
  }();
  return *all;
}

/// NumPy's big-endian dtypes have the names of the others.
bool is_swapped(nb::handle dtype) {
  const nb::object order = nb::getattr(dtype, "byteorder", nb::none());
  return nb::isinstance<nb::str>(order) && nb::cast<std::string>(order) == ">";
}

/// The text by which an object that is no estoc.dtype names a dtype; empty where there is none.
std::string name_of(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (PyType_Check(object.ptr())) return nb::cast<std::string>(object.attr("__name__"));
  const nb::object name = nb::getattr(object, "name", nb::none());
  if (nb::isinstance<nb::str>(name)) return is_swapped(object) ? "" : nb::cast<std::string>(name);
  return shown_text(object);
}

/// Dtypes of objects met before, which stay alive for it. Text is not kept: every one is new.
std::unordered_map<PyObject*, std::pair<nb::object, Dtype>>& known() {
  static auto* const map = new std::unordered_map<PyObject*, std::pair<nb::object, Dtype>>;
  return *map;
}

constexpr std::size_t kMaxKnown = 256;

std::string as_text(const PyDtype& dtype) {
  return std::string(dtype_name(dtype.value));
}

/// The name of the type as an attribute of the package.
const char* attribute(Dtype dtype) {
  static constexpr const char* kNames[] = {
#define ESTOC_DTYPE(name, text, bits, kind) #name,
#include "estoc/dtypes.def"
  };
  return kNames[static_cast<std::size_t>(dtype)];
}

const char* numpy_name(const PyDtype& dtype) {
  static constexpr std::array<const char*, 3> kNames[] = {
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, dlpack, xla, ...) {__VA_ARGS__},
#include "estoc/dtypes.def"
  };
  return kNames[static_cast<std::size_t>(dtype.value)].front();
}

bool equals(const PyDtype& dtype, nb::handle other) {
  const std::optional<Dtype> value = try_dtype(other);
  return value && *value == dtype.value;
}

nb::object make(nb::handle object) {
  return dtype_object(to_dtype(object, "dtype"));
}

}  // namespace

nb::object dtype_object(Dtype dtype) {
  return nb::borrow(objects[static_cast<std::size_t>(dtype)]);
}

std::optional<Dtype> dtype_of_name(std::string_view name) {
  if (const auto dtype = parse_dtype(name)) return dtype;
  const std::string text = simplified(name);
  const auto other = others().find(text);
  return other != others().end() ? other->second : parse_dtype(text);
}

std::optional<Dtype> try_dtype(nb::handle object) {
  PyDtype* own = nullptr;
  if (nb::try_cast(object, own, false) && own != nullptr) return own->value;
  const auto found = known().find(object.ptr());
  if (found != known().end()) return found->second.second;
  if (object.is_none()) return std::nullopt;
  const std::optional<Dtype> dtype = dtype_of_name(name_of(object));
  if (dtype && !nb::isinstance<nb::str>(object) && known().size() < kMaxKnown) {
    known().emplace(object.ptr(), std::pair{nb::borrow(object), *dtype});
  }
  return dtype;
}

Dtype to_dtype(nb::handle object, const char* what) {
  if (const std::optional<Dtype> dtype = try_dtype(object)) return *dtype;
  fail_type(std::string(what) + ": expected a dtype such as \"f32\" or torch.float32, got " +
            shown_repr(object));
}

void bind_dtypes(nb::module_& module) {
  auto type =
      nb::class_<PyDtype>(module, "dtype",
                          "Element type of a tensor or an accumulator, such as estoc.bf16.\n\n"
                          "dtype(x) takes a name (\"bf16\", \"bfloat16\") or a dtype of torch, "
                          "NumPy, ml_dtypes, JAX or CuPy,\nand compares equal to all of these. "
                          "Raises TypeError for what names no dtype.")
          .def(nb::new_(&make), nb::arg("dtype").none())
          .def_prop_ro("name", &as_text, "\"f32\", \"bf16\", \"e4m3\".")
          .def_prop_ro(
              "bits", [](const PyDtype& dtype) { return dtype_bits(dtype.value); },
              "Bits an element takes in memory.")
          .def_prop_ro("numpy_name", &numpy_name,
                       "\"float32\", \"bfloat16\": the name in NumPy, ml_dtypes and torch.")
          .def("__repr__",
               [](const PyDtype& dtype) { return std::string("estoc.") + attribute(dtype.value); })
          .def("__str__", &as_text)
          .def("__eq__", &equals, nb::arg("other").none())
          .def("__hash__", [](const PyDtype& dtype) { return nb::hash(nb::cast(as_text(dtype))); })
          .def("__reduce__", [](nb::handle self) {
            return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
          });
  nb::list all;
  for (const Dtype dtype : all_dtypes()) {
    nb::object made = nb::cast(PyDtype{dtype});
    objects[static_cast<std::size_t>(dtype)] = made.ptr();
    module.attr(attribute(dtype)) = made;
    all.append(made);
  }
  module.attr("dtypes") = nb::tuple(all);
}

}  // namespace estoc::python
