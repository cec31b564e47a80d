// Saves and opens bundles of compiled kernels, and picks the one for a problem.
#include "estoc/bundle.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "discovery/bundle_file.h"
#include "discovery/device_target.h"
#include "discovery/kernel_state.h"
#include "estoc/discovery.hpp"

namespace estoc {
namespace {

using discovery::StoredArtifact;
using discovery::StoredBundle;
using discovery::StoredRule;

StoredArtifact stored(const Artifact& artifact) {
  const Kernel& kernel = artifact.kernel();
  if (kernel.kernel_class().needs_device()) {
    throw Error(ErrorKind::unsupported,
                fmt::format("kernel {} cannot be saved: it belongs to a library of the machine",
                            kernel.name()));
  }
  StoredArtifact result{.kernel = kernel.name(),
                        .target = artifact.target().name(),
                        .abi = kernel.kernel_class().abi(),
                        .knobs = kernel.knobs(),
                        .epilogue = kernel.metadata().epilogue,
                        .code = {}};
  if (const CompiledCode* code = artifact.code()) result.code = *code;
  return result;
}

std::string key_of(Problem problem) {
  problem.m.reset();
  // Values of scalars, and whether they are given by value, are no part of a kernel.
  for (EpilogueOperandSpec& operand : problem.operands) {
    if (operand.form != EpilogueForm::scalar) continue;
    operand.value.reset();
    operand.whole = false;
    operand.tensor = {};
  }
  return problem.to_string();
}

Artifact loaded(StoredArtifact stored) {
  Kernel kernel = kernel_by_name(stored.kernel).with_knobs(stored.knobs);
  if (!stored.epilogue.empty()) {
    kernel = kernel.with_epilogue(parse_epilogue_graph(stored.epilogue));
  }
  const KernelClass& kernel_class = kernel.kernel_class();
  const std::optional<Target> target = Target::parse(stored.target);
  const std::vector<Target>& targets = kernel.metadata().targets;
  if (!target || !covers(targets, *target)) {
    throw Error(ErrorKind::value, fmt::format("kernel {}: expected a target it can run on, got {}",
                                              stored.kernel, stored.target));
  }
  if (stored.abi != kernel_class.abi()) {
    throw Error(ErrorKind::value,
                fmt::format("kernel {}: it was compiled by another version of Estoc (expected ABI "
                            "'{}', got '{}'): compile it again",
                            stored.kernel, kernel_class.abi(), stored.abi));
  }
  return {kernel, *target,
          kernel_class.load({kernel.point(), *target, {}, kernel.epilogue().get()},
                            std::move(stored.code))};
}

DispatchRule loaded(const StoredRule& stored) {
  return {Problem::parse(stored.problem), stored.m_low, stored.m_high,
          static_cast<std::size_t>(stored.artifact)};
}

Target target_for(const RuntimeArguments& arguments, std::optional<Target> target) {
  if (!target) target = discovery::target_of(arguments.device());
  if (target) return *target;
  throw Error(ErrorKind::driver, fmt::format("target: expected the CUDA device that the operands "
                                             "are on, got none at {}",
                                             arguments.device().name()));
}

template <typename Work>
auto about(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("'{}': {}", path, error.what()));
  }
}

}  // namespace

void save_bundle(const std::string& path, std::span<const Artifact> artifacts,
                 std::span<const DispatchRule> rules) {
  StoredBundle bundle;
  for (const Artifact& artifact : artifacts)
    bundle.artifacts.push_back(stored(artifact));
  for (const DispatchRule& rule : rules) {
    if (rule.artifact >= artifacts.size()) {
      throw Error(ErrorKind::value, fmt::format("rule: expected an artifact below {}, got {}",
                                                artifacts.size(), rule.artifact));
    }
    bundle.rules.push_back({key_of(rule.problem), rule.m_low, rule.m_high, rule.artifact});
  }
  core::AtomicFile file(path);
  file.write(discovery::encode(bundle));
  file.commit();
}

Bundle Bundle::open(const std::string& path) {
  const core::MappedFile file(path);
  return about(path, [&] {
    StoredBundle stored = discovery::decode(file.text());
    auto contents = std::make_shared<Contents>();
    for (StoredArtifact& artifact : stored.artifacts) {
      contents->artifacts.push_back(std::make_shared<const Artifact>(loaded(std::move(artifact))));
    }
    for (const StoredRule& rule : stored.rules)
      contents->rules.push_back(loaded(rule));
    return Bundle(std::move(contents));
  });
}

Artifact Bundle::find(const RuntimeArguments& arguments, std::optional<Target> target) const {
  const Target wanted = target_for(arguments, target);
  if (arguments.operation() == Operation::gemm) {
    const auto m = static_cast<const GemmArguments&>(arguments).extents().m;
    if (const Artifact* artifact = dispatch(arguments, wanted).select(m)) return *artifact;
  }
  for (const auto& artifact : contents_->artifacts) {
    if (artifact->target() == wanted && artifact->kernel().supports(arguments, wanted)) {
      return *artifact;
    }
  }
  throw Error(ErrorKind::not_found,
              fmt::format("none of the {} artifacts is for {} and carries out: {}", size(),
                          wanted.name(), Problem::of(arguments).to_string()));
}

Dispatch Bundle::dispatch(const RuntimeArguments& arguments, std::optional<Target> target) const {
  const Target wanted = target_for(arguments, target);
  const std::string key = key_of(Problem::of(arguments));
  Dispatch dispatch;
  for (const DispatchRule& rule : contents_->rules) {
    const auto& artifact = contents_->artifacts[rule.artifact];
    if (artifact->target() != wanted || rule.problem.to_string() != key) continue;
    dispatch.ranges_.push_back({rule.m_low, rule.m_high, artifact});
  }
  return dispatch;
}

const Artifact* Dispatch::select(std::int64_t m) const noexcept {
  for (const Range& range : ranges_) {
    if (range.low <= m && m <= range.high) return range.artifact.get();
  }
  return nullptr;
}

}  // namespace estoc
