// estoc.EpilogueArguments: what is applied to the accumulator, and its tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "estoc/epilogue.hpp"
#include "tensors.h"

namespace estoc::python {

class PyEpilogue {
 public:
  /// `source`: the text of a program, or a Python function or its source, which estoc.epilogue
  /// translates. Operands are tensors and numbers by name.
  PyEpilogue(nb::handle source, const nb::dict& operands);

  /// From the library's epilogue, whose tensors are views of memory that the caller keeps.
  explicit PyEpilogue(const EpilogueArguments& native);

  const EpilogueArguments& native() const { return native_; }
  /// The operands by name, tensors as estoc.Tensor.
  nb::dict operands() const;
  /// The streams that a launch has to await for them.
  const std::vector<void*>& awaited() const { return awaited_; }

 private:
  std::vector<std::pair<std::string, nb::object>> operands_;
  EpilogueArguments native_;
  std::vector<void*> awaited_;
};

/// The operand that `value` is, which becomes what keeps it: a number of Python's or an
/// estoc.Tensor.
EpilogueOperand epilogue_operand(const std::string& name, nb::object& value,
                                 std::vector<void*>& awaited);

/// The text of a program; nullopt for everything else. It lives as long as `source`.
std::optional<std::string_view> epilogue_program(nb::handle source);

/// The epilogue that an argument means: None, an EpilogueArguments, text or a function.
nb::object to_epilogue(nb::handle object);
EpilogueArguments native_epilogue(nb::handle epilogue);

}  // namespace estoc::python
