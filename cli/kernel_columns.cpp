// Formats the cells that describe a kernel.
#include "kernel_columns.h"

#include <fmt/format.h>

#include "table.h"

namespace estoc::cli {
namespace {

char letter(const TensorAttributes& operand) {
  return static_cast<char>(operand.layout);
}

}  // namespace

void print_epilogue(Output& output, const Kernel& kernel) {
  const std::string& epilogue = kernel.metadata().epilogue;
  if (!epilogue.empty()) output.print(labelled_line(output, "epilogue", epilogue));
}

std::string dtypes_cell(const KernelMetadata& metadata) {
  if (const auto* gemm = metadata.gemm()) {
    return fmt::format("{} {} {} {}", dtype_name(gemm->a.dtype), dtype_name(gemm->b.dtype),
                       dtype_name(gemm->accumulator_type), dtype_name(gemm->out.dtype));
  }
  const auto& operands = *metadata.elementwise();
  std::string cell =
      fmt::format("{} {}", elementwise_op_name(operands.op), dtype_name(operands.a.dtype));
  if (is_binary(operands.op)) cell += fmt::format(" {}", dtype_name(operands.b.dtype));
  return cell + fmt::format(" {}", dtype_name(operands.out.dtype));
}

std::string layouts_cell(const KernelMetadata& metadata) {
  return std::visit(
      [](const auto& operands) {
        return std::string{letter(operands.a), letter(operands.b), letter(operands.out)};
      },
      metadata.operands);
}

std::string tile_cell(const KernelMetadata& metadata) {
  const auto& tile = metadata.design.tile;
  return tile ? fmt::format("{}x{}x{}", tile->m, tile->n, tile->k) : "-";
}

std::string targets_cell(const KernelMetadata& metadata) {
  const auto& targets = metadata.targets;
  if (targets.empty()) return "-";
  if (targets.size() == 1) return targets.front().name();
  return fmt::format("{} .. {}", targets.front().name(), targets.back().name());
}

}  // namespace estoc::cli
