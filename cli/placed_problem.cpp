// The operands of a problem where a kernel wants them: on the host, or copied to a CUDA device.
#include "placed_problem.h"

#include "target_choice.h"

namespace estoc::cli {

PlacedProblem::PlacedProblem(HostProblem& host, Target target) : host_(host) {
  if (target.is_cpu()) return;
  const Device device = device_for(target);
  const Problem& problem = host.problem();
  const bool unary = problem.operation == Operation::elementwise && !is_binary(*problem.op);
  Copies& copies = copies_.emplace();
  copies.a = DeviceTensor::copy_of(host.a(), device);
  if (!unary) copies.b = DeviceTensor::copy_of(host.b(), device);
  copies.out = DeviceTensor::copy_of(host.out(), device);
  copies.arguments = make_arguments(problem, copies.a.view(),
                                    unary ? copies.a.view() : copies.b.view(), copies.out.view());
}

const RuntimeArguments& PlacedProblem::arguments() const {
  return copies_ ? *copies_->arguments : host_.arguments();
}

void PlacedProblem::poison() {
  host_.poison();
  if (copies_) copies_->out.copy_from(host_.out());
}

void PlacedProblem::fetch_output() {
  if (copies_) copies_->out.copy_to(host_.out());
}

}  // namespace estoc::cli
