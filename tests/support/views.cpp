// The operands of arguments as plain views, and the same arguments over other memory.
#include "support/views.h"

namespace estoc::testing_support {

OperandViews views_of(const RuntimeArguments& arguments) {
  const OperandList operands = arguments.operands();
  const std::size_t last = operands.size() - 1;
  const auto epilogue = arguments.epilogue().operands();
  return {*operands[0].tensor,
          *operands[last - 1].tensor,
          *operands[last].tensor,
          {epilogue.begin(), epilogue.end()}};
}

std::unique_ptr<RuntimeArguments> with_views(const RuntimeArguments& like,
                                             const OperandViews& views) {
  std::vector<Operand> operands{views.a};
  if (like.operands().size() == 3) operands.emplace_back(views.b);
  operands.emplace_back(views.out);
  return like.with_operands(operands, views.epilogue);
}

}  // namespace estoc::testing_support
