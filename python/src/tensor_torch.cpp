// PyTorch's tensors by their attributes, those without data included; torch is never imported.
#include <string>
#include <vector>

#include "addresses.h"
#include "dtypes.h"
#include "errors.h"
#include "tensors.h"

namespace estoc::python {
namespace {

/// str(object.name)
std::string text_of(nb::handle object, const char* name) {
  const nb::object value = object.attr(name);
  return shown_text(value);
}

std::vector<std::int64_t> extents(nb::handle sequence, const char* what) {
  std::vector<std::int64_t> result;
  for (const nb::handle item : sequence) {
    if (!nb::isinstance<nb::int_>(item)) {
      fail_type(std::string(what) + ".shape: expected numbers, got the symbol " + shown_text(item));
    }
    result.push_back(nb::cast<std::int64_t>(item));
  }
  return result;
}

void require_strided(nb::handle object, const char* what) {
  const std::string layout = text_of(object, "layout");
  if (layout != "torch.strided") {
    fail_type(std::string(what) + ": expected a strided tensor, got " + layout);
  }
  if (nb::cast<bool>(nb::getattr(object, "is_nested", nb::bool_(false)))) {
    fail_type(std::string(what) + ": expected a strided tensor, got a nested one");
  }
  require_not_negated(object, what);
}

struct Place {
  Device device;
  bool meta = false;
};

Place place_of(nb::handle object, const char* what) {
  const nb::object device = object.attr("device");
  const auto type = nb::cast<std::string>(device.attr("type"));
  const nb::object index = device.attr("index");
  if (type == "cpu") return {Device::cpu()};
  if (type == "meta") return {Device::cuda(), true};
  if (type == "cuda")
    return {index.is_none() ? Device::cuda() : cuda_device(nb::cast<std::int64_t>(index), what)};
  fail_value(std::string(what) + ".device: expected cpu, cuda or meta, got " + type);
}

Dtype torch_dtype(nb::handle object, const char* what) {
  const nb::object dtype = object.attr("dtype");
  if (const auto found = try_dtype(dtype)) return *found;
  fail_type(std::string(what) + ".dtype: expected one that Estoc has, got " + shown_text(dtype));
}

}  // namespace

void require_not_negated(nb::handle object, const char* what) {
  if (nb::cast<bool>(object.attr("is_neg")())) {
    fail_type(std::string(what) +
              ": expected a tensor as it is in memory, got a negated view: call resolve_neg()");
  }
}

Tensor import_torch(nb::handle object, const char* what, bool fake) {
  require_strided(object, what);
  const Dtype dtype = torch_dtype(object, what);
  const Place place = place_of(object, what);
  auto shape = extents(object.attr("shape"), what);
  auto strides = extents(object.attr("stride")(), what);
  if (text_of(object, "dtype").ends_with("_x2")) count_elements_of_pairs(shape, strides, what);
  Tensor result;
  result.source = nb::borrow(object);
  result.framework = Framework::torch;
  if (fake || place.meta) {
    result.placeless = place.meta;
    result.view = TensorView::describe(dtype, shape, strides, place.device, 256, what);
    return result;
  }
  result.view =
      TensorView(pointer_of(object.attr("data_ptr")()), dtype, shape, strides, place.device, what);
  return result;
}

}  // namespace estoc::python
