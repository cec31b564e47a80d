// Derives metadata from the roles of a design space's dimensions.
#include "discovery/metadata_of.h"

#include <array>

namespace estoc::discovery {
namespace {

struct Operands {
  std::array<TensorAttributes, kMaxOperands> tensors;
  operations::Attributes attributes;
};

int element_alignment(Dtype dtype) {
  return static_cast<int>(storage_bytes(dtype, 1));
}

Dtype dtype_of(const ClassInfo& info, const DesignPoint& point, const Requirement& requirement,
               const DesignValue& value) {
  const int second = requirement.second;
  return required_dtype(
      requirement, value,
      second < 0 ? Dtype::f32 : static_cast<Dtype>(info.value(point, second).numbers[0]));
}

Operands operands_of(const ClassInfo& info, const DesignPoint& point) {
  Operands operands;
  for (const Requirement& requirement : info.requirements) {
    const DesignValue& value = info.value(point, requirement.dimension);
    TensorAttributes& tensor = operands.tensors[requirement.operand];
    switch (requirement.aspect) {
      case Aspect::op:
        operands.attributes.op = static_cast<ElementwiseOp>(value.numbers[0]);
        break;
      case Aspect::dtype:
        tensor.dtype = dtype_of(info, point, requirement, value);
        tensor.alignment = element_alignment(tensor.dtype);
        break;
      case Aspect::accumulator_type:
        operands.attributes.accumulator_type = dtype_of(info, point, requirement, value);
        break;
      case Aspect::layout:
        tensor.layout = static_cast<LayoutConstraint>(value.text[requirement.operand]);
        break;
      case Aspect::alignment:
        tensor.alignment = value.numbers[0];
        break;
    }
  }
  return operands;
}

OperandsMetadata operands_metadata(const ClassInfo& info, const DesignPoint& point) {
  const Operands operands = operands_of(info, point);
  const operations::OperationSchema& schema = info.schema();
  const std::span tensors(operands.tensors.data(), schema.operands.size());
  return schema.metadata(tensors, operands.attributes);
}

Shape3 shape_of(const DesignValue& value) {
  return {value.numbers[0], value.numbers[1], value.numbers[2]};
}

DesignMetadata design_metadata(const ClassInfo& info, const DesignPoint& point) {
  DesignMetadata design;
  const auto dimensions = info.space->dimensions();
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const DesignValue& value = info.value(point, static_cast<int>(i));
    switch (dimensions[i].role) {
      case Role::tile:
        design.tile = shape_of(value);
        break;
      case Role::cluster:
        design.cluster = shape_of(value);
        break;
      case Role::instruction:
        design.instruction = shape_of(value);
        break;
      case Role::stages:
        design.stages = value.numbers[0];
        break;
      case Role::schedule:
        design.schedule = value.text;
        break;
      case Role::split:
        design.split = value.numbers[0];
        break;
      default:
        break;
    }
  }
  return design;
}

}  // namespace

KernelMetadata metadata_of(const ClassInfo& info, const DesignPoint& point) {
  KernelMetadata metadata;
  metadata.name = info.name + info.space->suffix(point);
  metadata.kernel_class = info.name;
  metadata.provider = info.provider;
  metadata.operation = info.operation;
  metadata.min_cc = info.min_cc;
  metadata.targets = info.targets;
  metadata.operands = operands_metadata(info, point);
  metadata.design = design_metadata(info, point);
  return metadata;
}

}  // namespace estoc::discovery
