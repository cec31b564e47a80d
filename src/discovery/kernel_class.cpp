// What a kernel class does unless it says otherwise.
#include "estoc/kernel_class.hpp"

#include <fmt/format.h>

#include <utility>

#include "epilogue/node_text.h"

namespace estoc {

int KernelClass::min_cc() const {
  return targets().empty() ? 0 : targets().front().cc();
}

bool Launch::move_to(const RuntimeArguments& /*arguments*/) {
  return false;
}

bool KernelClass::quantises() const {
  return false;
}

bool KernelClass::takes_block_scales() const {
  return false;
}

bool KernelClass::takes_pairs() const {
  return false;
}

KernelClass::TakesPointers KernelClass::takes_pointers() const {
  return TakesPointers::never;
}

KernelClass::TakesRows KernelClass::takes_rows() const {
  return TakesRows::never;
}

bool KernelClass::needs_device() const {
  return false;
}

std::string KernelClass::summation(const DesignPoint& /*point*/,
                                   const EpilogueGraph* /*epilogue*/) const {
  return {};
}

std::shared_ptr<const void> KernelClass::decode(
    const DesignPoint& /*point*/, const std::shared_ptr<const EpilogueGraph>& /*epilogue*/) const {
  return nullptr;
}

Status KernelClass::supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                             Target /*target*/) const {
  return Status::success();
}

Status KernelClass::supports_any(const RuntimeArguments& /*arguments*/) const {
  return Status::success();
}

std::uint32_t KernelClass::support_depends_on(const RuntimeArguments& /*arguments*/,
                                              Target /*target*/) const {
  return ~std::uint32_t{0};
}

std::uint32_t KernelClass::epilogue_support_depends_on() const {
  return ~std::uint32_t{0};
}

Status KernelClass::supports_epilogue(const DesignPoint& /*point*/, const EpilogueGraph& epilogue,
                                      Target /*target*/) const {
  return Status::fail(Reason::epilogue,
                      fmt::format("epilogue: expected none, got {} of \"{}\"",
                                  epilogue::output_text(epilogue), epilogue.canonical));
}

std::optional<Prediction> KernelClass::predict(const DesignPoint& /*point*/,
                                               const RuntimeArguments& /*arguments*/,
                                               Target /*target*/) const {
  return std::nullopt;
}

std::vector<std::optional<Prediction>> KernelClass::predict_closely(
    std::span<const DesignPoint* const> /*points*/, const RuntimeArguments& /*arguments*/,
    Target /*target*/) const {
  return {};
}

std::vector<std::optional<Prediction>> KernelClass::predict_all(
    std::span<const DesignPoint* const> points, const RuntimeArguments& arguments,
    Target target) const {
  std::vector<std::optional<Prediction>> predictions;
  predictions.reserve(points.size());
  for (const DesignPoint* const point : points)
    predictions.push_back(predict(*point, arguments, target));
  return predictions;
}

std::vector<PredictionPart> KernelClass::predict_parts(const DesignPoint& /*point*/,
                                                       const RuntimeArguments& /*arguments*/,
                                                       Target /*target*/) const {
  return {};
}

std::size_t KernelClass::workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                                        const RuntimeArguments& /*arguments*/) const {
  return 0;
}

std::size_t KernelClass::workspace_bound(const DesignPoint& point, const Knobs& knobs,
                                         const RuntimeArguments& largest) const {
  return workspace_size(point, knobs, largest);
}

std::shared_ptr<const CompiledObject> KernelClass::compile(
    const CompileRequest& /*request*/) const {
  return std::make_shared<const CompiledObject>();
}

std::shared_ptr<const CompiledObject> KernelClass::load(const CompileRequest& /*request*/,
                                                        CompiledCode code) const {
  if (code.bytes.empty()) return std::make_shared<const CompiledObject>();
  throw Error(ErrorKind::value,
              std::string(name()) + ": expected no compiled code, got " + std::move(code.format));
}

std::string KernelClass::abi() const {
  return {};
}

std::string KernelClass::code_key(const CompileRequest& /*request*/) const {
  return {};
}

std::string KernelClass::emit(const CompileRequest& /*request*/, Emission /*what*/) const {
  throw Error(ErrorKind::unsupported,
              "kernel class " + std::string(name()) + " is not compiled from text");
}

void KernelClass::run(const DesignPoint& point, const Knobs& knobs,
                      const RuntimeArguments& arguments,
                      const std::shared_ptr<const CompiledObject>& object,
                      const BindOptions& options) const {
  const std::unique_ptr<Launch> launch = bind(point, knobs, arguments, object, options);
  if (launch == nullptr) {
    throw Error(ErrorKind::value, "kernel class " + std::string(name()) +
                                      ": expected bind to give a launch, got null");
  }
  launch->launch(options.stream);
}

}  // namespace estoc
