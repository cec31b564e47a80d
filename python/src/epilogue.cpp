// Epilogues from text, from Python functions, and their operands.
#include "epilogue.h"

#include "errors.h"
#include "numbers.h"

namespace estoc::python {
namespace {

/// A scalar of NumPy as Python's own number; anything else as it is.
nb::object plain(nb::handle value) {
  const bool scalar = !nb::isinstance<nb::int_>(value) && !nb::isinstance<nb::float_>(value) &&
                      nb::hasattr(value, "item") && nb::hasattr(value, "dtype") &&
                      !nb::hasattr(value, "__dlpack__");
  return scalar ? nb::object(value.attr("item")()) : nb::borrow(value);
}

nb::object value_of(const EpilogueOperand& operand) {
  if (const TensorView* const view = operand.tensor()) {
    Tensor tensor;
    tensor.source = nb::none();
    tensor.view = *view;
    return nb::cast(tensor);
  }
  const EpilogueScalarOperand& scalar = *operand.scalar();
  return scalar.is_integer ? nb::object(nb::int_(scalar.integer))
                           : nb::object(nb::float_(scalar.value));
}

}  // namespace

EpilogueOperand epilogue_operand(const std::string& name, nb::object& value,
                                 std::vector<void*>& awaited) {
  value = plain(value);
  if (nb::isinstance<nb::float_>(value)) return {name, nb::cast<double>(value)};
  if (nb::isinstance<nb::int_>(value)) return {name, whole_number(value, name.c_str())};
  const Tensor tensor = import_tensor(value, name.c_str());
  value = nb::cast(tensor);
  add_awaited(awaited, tensor);
  return {name, tensor.view};
}

std::optional<std::string_view> epilogue_program(nb::handle source) {
  if (!nb::isinstance<nb::str>(source)) return std::nullopt;
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  const std::string_view text(data, static_cast<std::size_t>(size));
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return text;
  const std::string_view rest = text.substr(first);
  const bool is_function =
      rest.starts_with("def ") || rest.starts_with("lambda ") || rest.starts_with("@");
  return is_function ? std::nullopt : std::optional(text);
}

PyEpilogue::PyEpilogue(nb::handle source, const nb::dict& operands) {
  nb::dict given = nb::borrow<nb::dict>(operands.attr("copy")());
  std::string text;
  std::string place;
  if (const auto program = epilogue_program(source)) {
    text = *program;
  } else {
    const nb::object translated =
        nb::module_::import_("estoc.epilogue").attr("_translate")(source, given);
    text = nb::cast<std::string>(translated[0]);
    place = nb::cast<std::string>(translated[1]);
  }
  std::vector<EpilogueOperand> native;
  for (const auto [name, value] : given) {
    nb::object kept = nb::borrow(value);
    native.push_back(epilogue_operand(nb::cast<std::string>(name), kept, awaited_));
    operands_.emplace_back(nb::cast<std::string>(name), std::move(kept));
  }
  try {
    native_ = EpilogueArguments(text, std::move(native));
  } catch (const Error& error) {
    if (place.empty()) throw;
    throw Error(error.kind(), place + ": " + error.what() + ", in \"" + text + "\"");
  }
}

PyEpilogue::PyEpilogue(const EpilogueArguments& native) : native_(native) {
  for (const EpilogueOperand& operand : native.operands())
    operands_.emplace_back(operand.name, value_of(operand));
}

nb::dict PyEpilogue::operands() const {
  nb::dict result;
  for (const auto& [name, value] : operands_)
    result[name.c_str()] = value;
  return result;
}

nb::object to_epilogue(nb::handle object) {
  if (object.is_none() || nb::isinstance<PyEpilogue>(object)) return nb::borrow(object);
  if (!nb::isinstance<nb::str>(object) && !PyCallable_Check(object.ptr())) {
    fail_type("epilogue: expected an estoc.EpilogueArguments, text, a function or None, got " +
              class_name(object));
  }
  return nb::cast(new PyEpilogue(object, nb::dict()), nb::rv_policy::take_ownership);
}

EpilogueArguments native_epilogue(nb::handle epilogue) {
  return epilogue.is_none() ? EpilogueArguments() : nb::cast<const PyEpilogue&>(epilogue).native();
}

void bind_epilogues(nb::module_& module) {
  nb::class_<PyEpilogue>(
      module, "EpilogueArguments",
      "What is applied to the accumulator before it is stored.\n\n"
      "Parameters\n----------\n"
      "source : str or function\n"
      "    The text of a program, \"D = relu(alpha * accum + bias); aux = accum\"; or a function,\n"
      "    or its source, whose first parameter is accum, which assigns each name once and "
      "returns\n"
      "    D and the other outputs.\n"
      "**operands : tensors and numbers\n"
      "    What the names of the program are: inputs, which broadcast to the product's shape, and\n"
      "    outputs, which are written.\n\n"
      "Raises ValueError with the column, or the line of the function, and what was expected "
      "there.")
      .def(
          "__init__",
          [](PyEpilogue* self, nb::handle source, const nb::kwargs& operands) {
            new (self) PyEpilogue(source, operands);
          },
          nb::arg("source"), nb::arg("operands"))
      .def_prop_ro(
          "text", [](const PyEpilogue& self) { return self.native().text(); },
          "The program as text.")
      .def_prop_ro("operands", &PyEpilogue::operands, "By name.")
      .def(
          "__eq__",
          [](const PyEpilogue& self, nb::handle other) {
            PyEpilogue* given = nullptr;
            return nb::try_cast(other, given, false) && given != nullptr &&
                   self.native() == given->native();
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyEpilogue& self) { return nb::hash(nb::cast(self.native().text())); })
      .def("__repr__", [](const PyEpilogue& self) {
        return "EpilogueArguments('" + self.native().text() + "')";
      });
}

}  // namespace estoc::python
