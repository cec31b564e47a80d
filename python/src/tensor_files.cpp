// Tensors in .npy and .safetensors files.
#include "estoc/tensor_file.hpp"

#include <memory>
#include <string>

#include "errors.h"
#include "numbers.h"
#include "paths.h"
#include "tensors.h"

namespace estoc::python {
namespace {

Tensor load(nb::handle path) {
  const std::string name = path_text(path);
  std::unique_ptr<FileTensor> file;
  {
    const nb::gil_scoped_release unlocked;
    file = std::make_unique<FileTensor>(FileTensor::open(name));
  }
  Tensor tensor;
  tensor.view = file->view();
  tensor.source = nb::none();
  tensor.owner = nb::capsule(file.release(),
                             [](void* owned) noexcept { delete static_cast<FileTensor*>(owned); });
  tensor.read_only = true;
  return tensor;
}

void save(nb::handle path, nb::handle object) {
  const std::string name = path_text(path);
  const Tensor tensor = import_tensor(object, "tensor");
  const nb::gil_scoped_release unlocked;
  save_tensor(name, tensor.view);
}

}  // namespace

void bind_tensor_files(nb::module_& module) {
  module.def(
      "load_tensor", &load, nb::arg("path"),
      "The tensor in FILE.npy or FILE.safetensors:TENSOR (the name may be left out where the file\n"
      "holds one), mapped, not read. An operand as it is; numpy.asarray() sees the dtypes that\n"
      "NumPy has. It must not be written.\n\n"
      "Raises OSError, ValueError for a file that is damaged or of a dtype that Estoc does not\n"
      "have, LookupError for a file or a tensor that is not there.");
  module.def(
      "save_tensor", &save, nb::arg("path"), nb::arg("tensor").none(),
      "Writes a tensor in host memory to FILE.npy or FILE.safetensors[:NAME], in C order. The\n"
      "complete file replaces an older one at the end.\n\n"
      "Raises OSError, TypeError for a dtype that .npy does not have (bf16, fp8), ValueError for "
      "a\n"
      "tensor on a GPU or without data.");
  module.def(
      "safetensors_names", [](nb::handle path) { return safetensors_names(path_text(path)); },
      nb::arg("path"),
      "The names of the tensors in a .safetensors file, in the order of the file.");
}

}  // namespace estoc::python
