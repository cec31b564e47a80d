// Saves and opens bundles of compiled kernels, and picks the one for a problem.
#include "estoc/bundle.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/atomic_file.h"
#include "core/read_file.h"
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
                        .code_key = kernel.kernel_class().code_key(
                            {kernel.point(), artifact.target(), {}, kernel.epilogue().get()}),
                        .knobs = kernel.knobs(),
                        .epilogue = kernel.metadata().epilogue,
                        .code = {}};
  if (const CompiledCode* code = artifact.code()) {
    result.code.format = code->format;
    result.code.compiler = code->compiler;
    result.code.resources = code->resources;
    result.bytes = code->bytes;
  }
  return result;
}

std::string key_of(Problem problem) {
  problem.m.reset();
  problem.sizes.clear();  // of groups: data, which arguments do not tell
  // Values of scalars, and whether they are given by value, are no part of a kernel.
  for (EpilogueOperandSpec& operand : problem.operands) {
    if (operand.form != EpilogueForm::scalar) continue;
    operand.value.reset();
    operand.is_integer = false;
    operand.tensor = {};
  }
  return problem.to_string();
}

void check_version(const std::string& kernel, const char* what, const std::string& expected,
                   const std::string& got) {
  if (expected == got) return;
  throw Error(ErrorKind::value,
              fmt::format("kernel {}: it was compiled by another version of Estoc or of its class "
                          "(expected {} '{}', got '{}'): compile it again",
                          kernel, what, expected, got));
}

/// Makes the artifacts of one file. Those of one kernel that differ in knobs alone share their
/// code.
class Loader {
 public:
  explicit Loader(std::size_t file_bytes) : room_(file_bytes + kExtraBytes) {}

  Artifact load(const StoredArtifact& stored) {
    Kernel kernel = kernel_by_name(stored.kernel).with_knobs(stored.knobs);
    if (!stored.epilogue.empty()) {
      kernel = kernel.with_epilogue(parse_epilogue_graph(stored.epilogue));
    }
    const std::optional<Target> target = Target::parse(stored.target);
    const std::vector<Target>& targets = kernel.metadata().targets;
    if (!target || !covers(targets, *target)) {
      throw Error(ErrorKind::value,
                  fmt::format("kernel {}: expected a target it can run on, got {}", stored.kernel,
                              stored.target));
    }
    return {kernel, *target, object(stored, kernel, *target)};
  }

 private:
  using Object = std::shared_ptr<const CompiledObject>;
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string,
                         const char*, std::size_t>;

  // Kernels whose code is equal hold copies of it: few files have any.
  static constexpr std::size_t kExtraBytes = std::size_t{256} << 20;

  Object object(const StoredArtifact& stored, const Kernel& kernel, Target target) {
    const Key key{stored.kernel,   stored.target,       stored.epilogue,    stored.abi,
                  stored.code_key, stored.bytes.data(), stored.bytes.size()};
    if (const auto known = objects_.find(key); known != objects_.end()) return known->second;
    const KernelClass& kernel_class = kernel.kernel_class();
    const CompileRequest request{kernel.point(), target, {}, kernel.epilogue().get()};
    check_version(stored.kernel, "ABI", kernel_class.abi(), stored.abi);
    check_version(stored.kernel, "code", kernel_class.code_key(request), stored.code_key);
    if (stored.bytes.size() > room_) {
      throw Error(ErrorKind::value,
                  "artifact file: its kernels share more code than a file that "
                  "'estoc compile' wrote");
    }
    room_ -= stored.bytes.size();
    CompiledCode code = stored.code;
    code.bytes = stored.bytes;
    return objects_[key] = kernel_class.load(request, std::move(code));
  }

  std::size_t room_;
  std::map<Key, Object> objects_;
};

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
  const std::string file = core::read_file(path);
  return about(path, [&] {
    const StoredBundle stored = discovery::decode(file);
    Loader loader(file.size());
    auto contents = std::make_shared<Contents>();
    for (const StoredArtifact& artifact : stored.artifacts)
      contents->artifacts.push_back(std::make_shared<const Artifact>(loader.load(artifact)));
    for (const StoredRule& rule : stored.rules) {
      contents->rules.push_back(loaded(rule));
      contents->keys.push_back(contents->rules.back().problem.to_string());
    }
    return Bundle(std::move(contents));
  });
}

Artifact Bundle::find(const RuntimeArguments& arguments, std::optional<Target> target) const {
  const Target wanted = target_for(arguments, target);
  const auto suits = [&](const Artifact& artifact) {
    return artifact.target() == wanted && artifact.kernel().supports(arguments, wanted);
  };
  const Problem problem = Problem::of(arguments);
  if (problem.m) {
    for (const Dispatch::Range& range : dispatch(arguments, wanted).ranges_) {
      if (range.holds(*problem.m) && suits(*range.artifact)) return *range.artifact;
    }
  }
  for (const auto& artifact : contents_->artifacts) {
    if (suits(*artifact)) return *artifact;
  }
  throw Error(ErrorKind::not_found,
              fmt::format("none of the {} artifacts is for {} and carries out: {}", size(),
                          wanted.name(), problem.to_string()));
}

Dispatch Bundle::dispatch(const RuntimeArguments& arguments, std::optional<Target> target) const {
  const Target wanted = target_for(arguments, target);
  const std::string key = key_of(Problem::of(arguments));
  Dispatch dispatch;
  for (std::size_t i = 0; i < contents_->rules.size(); ++i) {
    const DispatchRule& rule = contents_->rules[i];
    const auto& artifact = contents_->artifacts[rule.artifact];
    if (artifact->target() != wanted || contents_->keys[i] != key) continue;
    dispatch.ranges_.push_back({rule.m_low, rule.m_high, artifact});
  }
  return dispatch;
}

const Artifact* Dispatch::select(std::int64_t m) const noexcept {
  for (const Range& range : ranges_) {
    if (range.holds(m)) return range.artifact.get();
  }
  return nullptr;
}

}  // namespace estoc
