// Configurations as generated units spell them.
#include "providers/cuda/config_text.h"

#include "epilogue/op_table.h"

namespace estoc::cuda {

std::string value_text(abi::Type type) {
  return epilogue::device_name(static_cast<Dtype>(type));
}

std::string value_text(abi::Vectors vectors) {
  switch (vectors) {
    case abi::Vectors::last:
      return "Vectors::last";
    case abi::Vectors::next_to_last:
      return "Vectors::next_to_last";
    case abi::Vectors::none:
      break;
  }
  return "Vectors::none";
}

std::string value_text(abi::Schedule schedule) {
  switch (schedule) {
    case abi::Schedule::single:
      return "Schedule::single";
    case abi::Schedule::cooperative:
      return "Schedule::cooperative";
    case abi::Schedule::pingpong:
      break;
  }
  return "Schedule::pingpong";
}

std::string value_text(abi::GroupedMode mode) {
  switch (mode) {
    case abi::GroupedMode::rows:
      return "GroupedMode::rows";
    case abi::GroupedMode::columns:
      return "GroupedMode::columns";
    case abi::GroupedMode::reduction:
      return "GroupedMode::reduction";
    case abi::GroupedMode::none:
      break;
  }
  return "GroupedMode::none";
}

}  // namespace estoc::cuda
