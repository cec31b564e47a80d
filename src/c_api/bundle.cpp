// The C interface to files of compiled kernels.
#include <limits>

#include "c_api/support.h"
#include "estoc/bundle.hpp"

namespace estoc::c_api {
namespace {

std::vector<Artifact> artifacts_of(const estoc_artifact* const* artifacts, std::size_t count) {
  std::vector<Artifact> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(value_of((&required(artifacts, "artifacts"))[i], "artifacts"));
  return values;
}

DispatchRule rule_of(const estoc_dispatch_rule& given, const std::string& what) {
  if (given.m_low < 0 || given.m_high < 0) {
    throw Error(ErrorKind::value, what + ": expected m_low and m_high of 0 or more, got " +
                                      std::to_string(given.m_low) + " and " +
                                      std::to_string(given.m_high));
  }
  DispatchRule rule;
  rule.problem = Problem::parse(&required(given.problem, what + ".problem"));
  if (!rule.problem.m) rule.problem.m = 1;
  rule.problem.complete();
  rule.m_low = given.m_low;
  rule.m_high = given.m_high != 0 ? given.m_high : std::numeric_limits<std::int64_t>::max();
  rule.artifact = given.artifact;
  return rule;
}

std::vector<DispatchRule> rules_of(const estoc_dispatch_rule* rules, std::size_t count) {
  std::vector<DispatchRule> values;
  for (std::size_t i = 0; i < count; ++i) {
    const estoc_dispatch_rule given = read_element(rules, i, "rules");
    values.push_back(rule_of(given, "rules[" + std::to_string(i) + "]"));
  }
  return values;
}

OpenBundle open_bundle(const char* path) {
  OpenBundle opened{Bundle::open(&required(path, "path")), {}};
  for (const DispatchRule& rule : opened.bundle.rules())
    opened.problems.push_back(rule.problem.to_string());
  return opened;
}

DispatchTable dispatch_of(const Bundle& bundle, const RuntimeArguments& arguments,
                          std::optional<Target> target) {
  DispatchTable table{bundle.dispatch(arguments, target), {}};
  for (std::size_t i = 0; i < bundle.size(); ++i) {
    const Artifact& artifact = bundle.artifact(i);
    table.handles.emplace_back(&artifact, std::make_unique<estoc_artifact>(artifact));
  }
  return table;
}

const estoc_artifact* selected(const DispatchTable& table, std::int64_t m) noexcept {
  const Artifact* const artifact = table.dispatch.select(m);
  for (const auto& [original, handle] : table.handles)
    if (artifact == original) return handle.get();
  return nullptr;
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::give;
using c_api::guarded;
using c_api::required;
using c_api::value_of;

estoc_status estoc_bundle_save(const char* path, const estoc_artifact* const* artifacts,
                               size_t count, const estoc_dispatch_rule* rules, size_t rule_count) {
  return guarded([&] {
    estoc::save_bundle(&required(path, "path"), c_api::artifacts_of(artifacts, count),
                       c_api::rules_of(rules, rule_count));
  });
}

estoc_status estoc_bundle_open(const char* path, estoc_bundle** bundle) {
  return guarded([&] { give(bundle, "bundle", [&] { return c_api::open_bundle(path); }); });
}

size_t estoc_bundle_artifact_count(const estoc_bundle* bundle) {
  return bundle != nullptr && bundle->intact() ? bundle->value.bundle.size() : 0;
}

estoc_status estoc_bundle_artifact(const estoc_bundle* bundle, size_t index,
                                   estoc_artifact** artifact) {
  return guarded([&] {
    const estoc::Bundle& opened = value_of(bundle, "bundle").bundle;
    if (index >= opened.size()) c_api::refuse_index("artifact", index, opened.size());
    give(artifact, "artifact", [&] { return opened.artifact(index); });
  });
}

size_t estoc_bundle_rule_count(const estoc_bundle* bundle) {
  return bundle != nullptr && bundle->intact() ? bundle->value.problems.size() : 0;
}

estoc_status estoc_bundle_rule(const estoc_bundle* bundle, size_t index,
                               estoc_dispatch_rule* rule) {
  return guarded([&] {
    const c_api::OpenBundle& opened = value_of(bundle, "bundle");
    const estoc::DispatchRule& found = c_api::element(opened.bundle.rules(), index, "rule");
    const bool endless = found.m_high == std::numeric_limits<std::int64_t>::max();
    const estoc_dispatch_rule filled = {sizeof(estoc_dispatch_rule), opened.problems[index].c_str(),
                                        found.m_low, endless ? 0 : found.m_high, found.artifact};
    c_api::write_struct(rule, filled, "rule");
  });
}

estoc_status estoc_bundle_find(const estoc_bundle* bundle, const estoc_arguments* arguments,
                               const char* target, estoc_artifact** artifact) {
  return guarded([&] {
    const estoc::Bundle& opened = value_of(bundle, "bundle").bundle;
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(artifact, "artifact", [&] { return opened.find(given, c_api::target_of(target)); });
  });
}

void estoc_bundle_destroy(estoc_bundle* bundle) {
  c_api::destroy(bundle);
}

estoc_status estoc_bundle_dispatch(const estoc_bundle* bundle, const estoc_arguments* arguments,
                                   const char* target, estoc_dispatch** dispatch) {
  return guarded([&] {
    const estoc::Bundle& opened = value_of(bundle, "bundle").bundle;
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(dispatch, "dispatch",
         [&] { return c_api::dispatch_of(opened, given, c_api::target_of(target)); });
  });
}

const estoc_artifact* estoc_dispatch_select(const estoc_dispatch* dispatch, int64_t m) {
  if (dispatch == nullptr || !dispatch->intact()) return nullptr;
  return c_api::selected(dispatch->value, m);
}

void estoc_dispatch_destroy(estoc_dispatch* dispatch) {
  c_api::destroy(dispatch);
}
