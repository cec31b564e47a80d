// Element types given as estoc.dtype, as text, or as a framework's own objects.
#pragma once

#include <optional>
#include <string_view>

#include "binding.h"
#include "estoc/dtype.hpp"

namespace estoc::python {

/// What estoc.dtype wraps.
struct PyDtype {
  Dtype value;
};

/// The one Python object of a dtype.
nb::object dtype_object(Dtype dtype);

/// The dtype that an object names: an estoc.dtype, a text ("f32", "float32"), a dtype of torch,
/// NumPy, ml_dtypes, JAX or CuPy, or a class with such a name. Throws Error{type} naming `what`.
Dtype to_dtype(nb::handle object, const char* what);

/// The same, nullopt where there is none.
std::optional<Dtype> try_dtype(nb::handle object);

/// The dtype of "float8_e4m3fn", "torch.float8_e4m3fn", "Float8E4M3FN" or "e4m3".
std::optional<Dtype> dtype_of_name(std::string_view name);

}  // namespace estoc::python
