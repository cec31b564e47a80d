// Makes files of kernels that no program of ours would write.
#include "hostile_files.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/hash.h"
#include "discovery/bundle_file.h"
#include "estoc/discovery.hpp"

namespace estoc::stress {
namespace {

constexpr std::size_t kHeader = 32;
/// The longest manifest that is read.
constexpr std::size_t kMaxManifest = std::size_t{64} << 20;

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

std::string with_manifest(const std::string& manifest) {
  std::string bytes = discovery::encode({}).substr(0, kHeader) + manifest;
  put(bytes, 12, manifest.size(), 4);
  const core::Hash128 hash = core::hash(std::string_view(bytes).substr(kHeader));
  put(bytes, 16, hash.high, 8);
  put(bytes, 24, hash.low, 8);
  return bytes;
}

discovery::StoredArtifact artifact(std::string kernel) {
  return {.kernel = std::move(kernel),
          .target = "sm_80",
          .abi = {},
          .code_key = {},
          .knobs = {},
          .epilogue = {},
          .code = {}};
}

/// The manifest of one artifact, as text to be repeated.
std::string entry_of(const std::string& kernel) {
  discovery::StoredBundle bundle;
  bundle.artifacts.push_back(artifact(kernel));
  const std::string bytes = discovery::encode(bundle);
  const std::size_t begin = bytes.find('[') + 1;
  return bytes.substr(begin, bytes.find(']', begin) - begin);
}

std::string repeated(const std::string& text, std::size_t bytes) {
  std::string all;
  while (all.size() + text.size() < bytes)
    all += text;
  return all;
}

std::string manifest_of(const std::string& artifacts) {
  return R"({"artifacts":[)" + artifacts + R"(],"rules":[]})";
}

/// So many names of kernels that there are, over and over.
std::string names(std::size_t bytes) {
  const std::string one = entry_of((*get_kernels(KernelQuery{}).begin()).name());
  return manifest_of(repeated(one + ',', bytes) + one);
}

/// Every kernel of a class, whose code is one and the same large text.
std::string shared_code(std::size_t bytes) {
  const std::string code(bytes, '/');
  discovery::StoredBundle bundle;
  constexpr std::size_t kMax = 1000;
  for (const Kernel& kernel :
       get_kernels(KernelQuery{.filter = MetadataFilter::parse("class=simt_gemm"),
       .target = {},
       .portable = false,
       .providers = {}})) {
    if (bundle.artifacts.size() == kMax) break;
    discovery::StoredArtifact stored = artifact(kernel.name());
    stored.abi = kernel.kernel_class().abi();
    stored.code_key = kernel.kernel_class().code_key({kernel.point(), Target::sm(80), {}});
    stored.code.format = "ptx";
    stored.bytes = code;
    bundle.artifacts.push_back(std::move(stored));
  }
  return discovery::encode(bundle);
}

using Maker = std::function<std::string(std::size_t)>;

const std::map<std::string, Maker, std::less<>>& makers() {
  static const auto& all = *new std::map<std::string, Maker, std::less<>>{
      {"names", [](std::size_t bytes) { return with_manifest(names(bytes)); }},
      {"names that are read",
       [](std::size_t bytes) {
         return with_manifest(names(std::min(bytes, kMaxManifest - 4096)));
       }},
      {"one name",
       [](std::size_t bytes) {
         const std::size_t most = std::min(bytes, kMaxManifest - 4096);
         return with_manifest(manifest_of(entry_of(std::string(most, 'k'))));
       }},
      {"brackets",
       [](std::size_t bytes) {
         return with_manifest(std::string(std::min(bytes, kMaxManifest), '['));
       }},
      {"one code for all", shared_code},
  };
  return all;
}

}  // namespace

std::vector<std::string> hostile_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, maker] : makers())
    kinds.push_back(kind);
  return kinds;
}

std::string hostile_file(std::string_view kind, std::size_t bytes) {
  const auto maker = makers().find(kind);
  if (maker == makers().end()) throw std::invalid_argument("no such kind of file");
  return maker->second(bytes);
}

}  // namespace estoc::stress
