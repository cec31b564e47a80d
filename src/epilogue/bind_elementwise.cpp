// What the operands of an elementwise operation's program are.
#include "epilogue/bind.h"
#include "epilogue/binder.h"
#include "model/fail.h"

namespace estoc::epilogue {
namespace {

class ElementwiseBinder final : public Binder {
 public:
  ElementwiseBinder(const EpilogueArguments& epilogue, Dtype accumulator, const TensorView& out,
                    const PerformanceControls& controls, std::vector<const TensorView*>& tensors)
      : Binder(epilogue, accumulator, out, out.dtype(), controls), tensors_(tensors) {}

 private:
  /// Strides say where a tensor repeats, so all tensors are alike for the graph.
  Varies broadcast(const EpilogueOperand& operand) const override {
    if (operand.tensor()->elements() == 1) return {};
    return {true, true, true};
  }
  Part output_part(const EpilogueAssignment& target,
                   const EpilogueOperand& /*operand*/) const override {
    model::fail_value("{}: expected no output beside D of an elementwise operation, got one",
                      target.name);
  }
  void check_memory() const override {}
  EpilogueAddress address_of(const TensorView& view, Varies /*varies*/) const override {
    if (&view != &out_) tensors_.push_back(&view);
    return {view.data(), 0, 0, 0, view.alignment()};
  }

  std::vector<const TensorView*>& tensors_;
};

}  // namespace

std::shared_ptr<EpilogueBinding> bind(const EpilogueArguments& epilogue, Dtype accumulator,
                                      const TensorView& out, const PerformanceControls& controls,
                                      std::vector<const TensorView*>& tensors) {
  return ElementwiseBinder(epilogue, accumulator, out, controls, tensors).bind(nullptr);
}

}  // namespace estoc::epilogue
