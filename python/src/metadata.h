// Metadata of kernels: those of the library, and those that a class written in Python states.
#pragma once

#include "binding.h"
#include "estoc/metadata.hpp"

namespace estoc::python {

/// DesignMetadata and the kinds of it.
struct PyDesign {
  DesignMetadata native;
};
struct PyBlasDesign : PyDesign {};
struct PySm100Design : PyBlasDesign {
  bool two_cta_mma = false;
  bool tma_store = false;
};

/// estoc.KernelMetadata: of a built-in kernel, or what the author of one states.
struct PyKernelMetadata {
  KernelMetadata native;
  nb::object kernel_class;
  nb::object operands;  ///< null: to be made from `native`
  nb::object design;    ///< likewise
  nb::object epilogue;
};

/// Metadata of a built-in kernel.
PyKernelMetadata wrap_metadata(const KernelMetadata& metadata);

/// The operands' metadata as an object.
nb::object operands_of(const PyKernelMetadata& metadata);

/// The Python type of a kernel class, which is made when it is first used.
nb::object kernel_type(const std::string& kernel_class);

/// Makes a class derived from estoc.Kernel the type of the library's class of that name.
void set_type_of_author(const std::string& kernel_class, nb::object type);
void forget_type(const std::string& kernel_class);
bool is_type_of_author(const std::string& kernel_class);

}  // namespace estoc::python
