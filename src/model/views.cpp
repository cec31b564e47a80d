// The operands of arguments as plain views, and the same arguments over other memory.
#include "model/views.h"

namespace estoc::model {

OperandViews views_of(const RuntimeArguments& arguments) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&arguments)) {
    const auto operands = gemm->epilogue().operands();
    return {
        gemm->a().tensor(), gemm->b().tensor(), gemm->out(), {operands.begin(), operands.end()}};
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
  return {elementwise.a(), elementwise.b(), elementwise.out(), {}};
}

std::unique_ptr<RuntimeArguments> with_views(const RuntimeArguments& like,
                                             const OperandViews& views) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&like)) {
    EpilogueArguments epilogue;
    if (!like.epilogue().empty()) {
      epilogue = EpilogueArguments(like.epilogue().program(), views.epilogue);
    }
    return std::make_unique<GemmArguments>(views.a, views.b, views.out, gemm->accumulator_type(),
                                           like.controls(), std::move(epilogue));
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(like);
  if (is_binary(elementwise.op())) {
    return std::make_unique<ElementwiseArguments>(elementwise.op(), views.a, views.b, views.out,
                                                  like.controls());
  }
  return std::make_unique<ElementwiseArguments>(elementwise.op(), views.a, views.out,
                                                like.controls());
}

}  // namespace estoc::model
