// Devices of the machine, and the small functions of estoc.utils.
#include "estoc/device.hpp"

#include <string>

#include "addresses.h"
#include "errors.h"
#include "estoc/library_search.hpp"
#include "estoc/profiling.hpp"
#include "numbers.h"
#include "streams.h"

namespace estoc::python {
namespace {

/// The first call starts the driver, which can take seconds.
const std::vector<DeviceInfo>& devices_unlocked() {
  const nb::gil_scoped_release unlocked;
  return cuda_devices();
}

Status is_cc_supported(const std::vector<int>& wanted) {
  std::string list;
  for (const int cc : wanted)
    list += (list.empty() ? "" : ", ") + std::to_string(cc);
  const auto& devices = devices_unlocked();
  if (devices.empty()) {
    return Status::fail(Reason::device,
                        "device: expected compute capability " + list + ", got no CUDA device");
  }
  const int cc = devices.front().target.cc();
  for (const int one : wanted) {
    if (one == cc) return Status::success();
  }
  return Status::fail(Reason::device, "device: expected compute capability " + list + ", got " +
                                          std::to_string(cc));
}

char letter_of(nb::handle stride) {
  std::vector<std::int64_t> steps;
  for (const nb::object& step : items_of(stride, "strides"))
    steps.push_back(whole_number(step, "strides"));
  if (!steps.empty() && steps.back() == 1) return 't';
  if (steps.size() >= 2 && steps[steps.size() - 2] == 1) return 'n';
  fail_value("stride: expected 1 in the last or the next to last place, got " + shown_repr(stride));
}

std::string layout_string(const nb::args& strides) {
  std::string text;
  for (const nb::handle stride : strides)
    text += letter_of(stride);
  return text;
}

}  // namespace

void bind_devices(nb::module_& module) {
  module.def("_known_targets", [] {
    std::vector<std::pair<std::string, int>> targets;
    for (const Target target : known_targets())
      targets.emplace_back(target.name(), target.cc());
    return targets;
  });
  module.def(
      "set_nvtx_ranges", &set_nvtx_ranges, nb::arg("on"),
      "Whether from now on queries, compilations and launches are NVTX ranges, which Nsight\n"
      "Systems shows: \"estoc get_kernels\", \"estoc compile NAME\", and the kernel's name for a\n"
      "launch by `run`, a plan or `matmul`. Raises NotFoundError where NVTX's library (pip\n"
      "install nvidia-nvtx) is not found. ESTOC_NVTX=on in the environment does the same.");
  module.def("_set_package_folders", &set_package_folders, nb::arg("folders"));
  module.def(
      "is_device_cc_supported",
      [](nb::handle wanted) {
        std::vector<int> numbers;
        for (const nb::object& cc : items_of(wanted, "ccs"))
          numbers.push_back(whole_int(cc, "ccs"));
        return is_cc_supported(numbers);
      },
      nb::arg("ccs").none(),
      "A Status: whether the first CUDA device has one of these compute capabilities (90).");
  module.def(
      "strides_to_layout_string", &layout_string,
      "\"tnt\" for strides of which the last, next to last and last is 1. Raises ValueError\n"
      "where neither is.");
  module.def(
      "to_cuda_stream", [](nb::handle stream) { return address_of(to_stream(stream)); },
      nb::arg("stream").none(),
      "The address of a CUDA stream: of a stream of torch, CuPy or CUDA Python, an object\n"
      "with __cuda_stream__, or a number; 0 for None. Raises TypeError for anything else.");
  module.def(
      "cuda_devices",
      [] {
        nb::list result;
        for (const DeviceInfo& device : devices_unlocked()) {
          nb::dict line;
          line["index"] = device.index;
          line["name"] = device.name;
          line["target"] = device.target.name();
          line["multiprocessors"] = device.multiprocessors;
          line["memory_bytes"] = device.memory_bytes;
          result.append(line);
        }
        return result;
      },
      "The CUDA devices as dicts; empty without a driver.");
}

}  // namespace estoc::python
