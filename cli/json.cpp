// Turns metadata, knobs and check results into JSON.
#include "json.h"

#include <vector>

#include "estoc/tuned.hpp"

namespace estoc::cli {
namespace {

Json part_json(const TensorAttributes& operand) {
  return {{"dtype", dtype_name(operand.dtype)},
          {"layout", std::string(1, static_cast<char>(operand.layout))},
          {"alignment", operand.alignment},
          {"divisibility", operand.divisibility()}};
}

Json part_json(const GemmOperandsMetadata& operands) {
  return {{"a", part_json(operands.a)},
          {"b", part_json(operands.b)},
          {"out", part_json(operands.out)},
          {"accumulator_type", dtype_name(operands.accumulator_type)}};
}

Json part_json(const ElementwiseOperandsMetadata& operands) {
  Json json{{"op", elementwise_op_name(operands.op)}, {"a", part_json(operands.a)}};
  if (is_binary(operands.op)) json["b"] = part_json(operands.b);
  json["out"] = part_json(operands.out);
  return json;
}

Json part_json(const Shape3& shape) {
  return Json::array({shape.m, shape.n, shape.k});
}

Json part_json(const DesignMetadata& design) {
  Json json;
  json["tile"] = design.tile ? part_json(*design.tile) : Json(nullptr);
  json["cluster"] = part_json(design.cluster);
  json["instruction"] = design.instruction ? part_json(*design.instruction) : Json(nullptr);
  json["stages"] = design.stages;
  json["schedule"] = design.schedule;
  json["split"] = design.split;
  return json;
}

std::vector<std::string> names_of(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  for (const Target target : targets)
    names.push_back(target.name());
  return names;
}

}  // namespace

Json to_json(const KernelMetadata& metadata) {
  return {{"name", metadata.name},
          {"class", metadata.kernel_class},
          {"provider", metadata.provider},
          {"operation", operation_name(metadata.operation)},
          {"min_cc", metadata.min_cc},
          {"targets", names_of(metadata.targets)},
          {"operands",
           std::visit([](const auto& operands) { return part_json(operands); }, metadata.operands)},
          {"design", part_json(metadata.design)},
          {"epilogue", metadata.epilogue}};
}

Json to_json(const Knobs& knobs) {
  return Json::parse(knobs_text(knobs));
}

Json to_json(const CheckResult& check) {
  return {{"passed", check.passed},         {"error", check.error},
          {"bound", check.bound},           {"rows_checked", check.rows_checked},
          {"rows_total", check.rows_total}, {"worst", check.worst}};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string dump_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace estoc::cli
