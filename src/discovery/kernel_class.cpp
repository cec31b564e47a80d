// What a kernel class does unless it says otherwise.
#include "estoc/kernel_class.hpp"

namespace estoc {

int KernelClass::min_cc() const {
  return targets().empty() ? 0 : targets().front().cc();
}

bool KernelClass::needs_device() const {
  return false;
}

Status KernelClass::supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                             Target /*target*/) const {
  return Status::success();
}

std::optional<Prediction> KernelClass::predict(const DesignPoint& /*point*/,
                                               const RuntimeArguments& /*arguments*/,
                                               Target /*target*/) const {
  return std::nullopt;
}

std::size_t KernelClass::workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                                        const RuntimeArguments& /*arguments*/) const {
  return 0;
}

std::shared_ptr<const CompiledObject> KernelClass::compile(const DesignPoint& /*point*/,
                                                           const RuntimeArguments& /*arguments*/,
                                                           Target /*target*/) const {
  return std::make_shared<const CompiledObject>();
}

}  // namespace estoc
