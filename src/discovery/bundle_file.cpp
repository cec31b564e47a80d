// The file format of artifacts and bundles, before anything in it is taken for a kernel.
#include "discovery/bundle_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/hash.h"
#include "estoc/status.hpp"
#include "records/knobs_json.h"

namespace estoc::discovery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "ESTOCBIN";
constexpr std::uint32_t kSchema = 2;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kHashBegin = 16;
constexpr std::size_t kCodeAlignment = 64;
// Manifests are small; a length beyond this is damage.
constexpr std::size_t kMaxManifest = std::size_t{64} << 20;
// So are names and texts in it.
constexpr std::size_t kMaxText = std::size_t{64} << 10;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::value, "artifact file: " + message);
}

template <typename Number>
void put(std::string& bytes, std::size_t at, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

template <typename Number>
Number get(std::string_view bytes, std::size_t at) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

template <typename Number, typename Place>
Number integer(const Json& json, Place place) {
  if (const auto value = records::as_integer<Number>(json.at(place))) return *value;
  fail(fmt::format("expected a whole number that fits as {}", place));
}

std::string text(const Json& json, const char* name) {
  auto value = json.at(name).get<std::string>();
  if (value.size() <= kMaxText) return value;
  fail(fmt::format("expected a {} of at most {} bytes, got {}", name, kMaxText, value.size()));
}

Json to_json(const KernelResources& r) {
  return {{"registers", r.registers},
          {"shared_bytes", r.shared_bytes},
          {"stack_bytes", r.stack_bytes},
          {"spill_store_bytes", r.spill_store_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"barriers", r.barriers}};
}

KernelResources resources_of(const Json& json) {
  return {.registers = integer<int>(json, "registers"),
          .shared_bytes = integer<int>(json, "shared_bytes"),
          .stack_bytes = integer<int>(json, "stack_bytes"),
          .spill_store_bytes = integer<int>(json, "spill_store_bytes"),
          .spill_load_bytes = integer<int>(json, "spill_load_bytes"),
          .barriers = integer<int>(json, "barriers")};
}

Knobs knobs_of(const Json& json) {
  try {
    return records::knobs_of(json);
  } catch (const Error& error) {
    fail(error.what());
  }
}

std::size_t aligned(std::size_t offset) {
  return (offset + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment;
}

// Where each artifact's code goes, counted from the first byte of code.
struct Placement {
  std::vector<std::size_t> offsets;
  std::string code;
};

Placement place(const std::vector<StoredArtifact>& artifacts) {
  Placement placement;
  std::map<std::string_view, std::size_t> known;
  for (const StoredArtifact& artifact : artifacts) {
    const auto [found, is_new] = known.emplace(artifact.bytes, aligned(placement.code.size()));
    placement.offsets.push_back(found->second);
    if (!is_new) continue;
    placement.code.resize(found->second);
    placement.code += artifact.bytes;
  }
  return placement;
}

std::string manifest_of(const StoredBundle& bundle, const Placement& placement) {
  Json artifacts = Json::array();
  for (std::size_t i = 0; i < bundle.artifacts.size(); ++i) {
    const StoredArtifact& artifact = bundle.artifacts[i];
    artifacts.push_back({{"kernel", artifact.kernel},
                         {"target", artifact.target},
                         {"abi", artifact.abi},
                         {"code_key", artifact.code_key},
                         {"knobs", records::to_json(artifact.knobs)},
                         {"epilogue", artifact.epilogue},
                         {"format", artifact.code.format},
                         {"compiler", artifact.code.compiler},
                         {"resources", to_json(artifact.code.resources)},
                         {"offset", placement.offsets[i]},
                         {"bytes", artifact.bytes.size()}});
  }
  Json rules = Json::array();
  for (const StoredRule& rule : bundle.rules) {
    rules.push_back(
        {{"problem", rule.problem}, {"m", {rule.m_low, rule.m_high}}, {"artifact", rule.artifact}});
  }
  return Json{{"artifacts", std::move(artifacts)}, {"rules", std::move(rules)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

StoredArtifact artifact_of(const Json& json, std::string_view code) {
  StoredArtifact artifact{.kernel = text(json, "kernel"),
                          .target = text(json, "target"),
                          .abi = text(json, "abi"),
                          .code_key = json.value("code_key", std::string{}),
                          .knobs = knobs_of(json.at("knobs")),
                          .epilogue = text(json, "epilogue"),
                          .code = {.format = text(json, "format"),
                                   .compiler = text(json, "compiler"),
                                   .bytes = {},
                                   .resources = resources_of(json.at("resources")),
                                   .log = {}}};
  const auto offset = integer<std::uint64_t>(json, "offset");
  const auto bytes = integer<std::uint64_t>(json, "bytes");
  if (offset > code.size() || bytes > code.size() - offset) {
    fail(fmt::format("the code of {} passes the end of the file", artifact.kernel));
  }
  artifact.bytes = code.substr(offset, bytes);
  return artifact;
}

StoredRule rule_of(const Json& json, std::size_t artifacts) {
  StoredRule rule{.problem = text(json, "problem"),
                  .m_low = integer<std::int64_t>(json.at("m"), std::size_t{0}),
                  .m_high = integer<std::int64_t>(json.at("m"), std::size_t{1}),
                  .artifact = integer<std::uint64_t>(json, "artifact")};
  if (rule.artifact >= artifacts) {
    fail(fmt::format("a rule names artifact {} of {}", rule.artifact, artifacts));
  }
  return rule;
}

void check_header(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) fail("expected a file that 'estoc compile' wrote, got another");
  if (bytes.size() < kHeaderBytes) fail("it is truncated");
  if (const auto schema = get<std::uint32_t>(bytes, 8); schema != kSchema) {
    fail(fmt::format("expected schema {}, got {}: compile the kernels with this version of Estoc",
                     kSchema, schema));
  }
  const core::Hash128 stated{get<std::uint64_t>(bytes, kHashBegin),
                             get<std::uint64_t>(bytes, kHashBegin + 8)};
  if (core::hash(bytes.substr(kHeaderBytes)) != stated) fail("it is damaged or truncated");
}

/// Ours are five deep; others may be as deep as they are long, and take a hundred times their size.
bool check_depth(int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
  constexpr int kMaxDepth = 16;
  if (depth > kMaxDepth) fail("its manifest is malformed: it is nested too deeply");
  return true;
}

}  // namespace

std::string encode(const StoredBundle& bundle) {
  const Placement placement = place(bundle.artifacts);
  const std::string manifest = manifest_of(bundle, placement);
  if (manifest.size() > kMaxManifest) {
    fail(fmt::format("its manifest would have {} bytes, more than the {} that are read back",
                     manifest.size(), kMaxManifest));
  }
  std::string bytes(kHeaderBytes, '\0');
  bytes += manifest;
  bytes.resize(aligned(bytes.size()));
  bytes += placement.code;
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  put(bytes, 8, kSchema);
  put(bytes, 12, static_cast<std::uint32_t>(manifest.size()));
  const core::Hash128 hash = core::hash(std::string_view(bytes).substr(kHeaderBytes));
  put(bytes, kHashBegin, hash.high);
  put(bytes, kHashBegin + 8, hash.low);
  return bytes;
}

StoredBundle decode(std::string_view bytes) {
  check_header(bytes);
  const std::size_t length = get<std::uint32_t>(bytes, 12);
  if (length > kMaxManifest || length > bytes.size() - kHeaderBytes) fail("it is damaged");
  const std::string_view code =
      bytes.substr(std::min(aligned(kHeaderBytes + length), bytes.size()));
  StoredBundle bundle;
  try {
    const Json manifest = Json::parse(bytes.substr(kHeaderBytes, length), check_depth);
    for (const Json& json : manifest.at("artifacts"))
      bundle.artifacts.push_back(artifact_of(json, code));
    for (const Json& json : manifest.at("rules"))
      bundle.rules.push_back(rule_of(json, bundle.artifacts.size()));
  } catch (const Json::exception& error) {
    fail(std::string("its manifest is malformed: ") + error.what());
  }
  return bundle;
}

}  // namespace estoc::discovery
