// Fuzzes artifact and bundle files: any bytes are refused with an Error of the documented kinds or
// give artifacts and rules that can be asked, whose code lies within the file.
#include "estoc/bundle.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "discovery/builtin.h"
#include "discovery/bundle_file.h"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/status.hpp"
#include "expect.h"
#include "providers/cuda/cuda_provider.h"

namespace estoc {

namespace {

/// A class whose files stay good when the built-in kernels change their ABI.
class SteadyGemm final : public CudaKernelClass {
 public:
  std::string_view name() const override { return "my_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::string abi() const override { return "steady"; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override { return {}; }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
            const RuntimeArguments& /*arguments*/, const Workspace& /*workspace*/,
            LaunchPlan& /*plan*/) const override {}

 private:
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().dtypes(Role::a_dtype, {Dtype::f32, Dtype::f16}).build();
};

class SteadyProvider final : public Provider {
 public:
  std::string_view name() const override { return "steady"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override {
    return {std::make_shared<SteadyGemm>()};
  }
};

}  // namespace

// Those with compiled code, which the cpu provider's kernels do not have.
std::vector<std::shared_ptr<const Provider>> builtin_providers() {
  return {cuda::make_cuda_provider(), std::make_shared<SteadyProvider>()};
}

}  // namespace estoc

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using estoc::Error;
using estoc::ErrorKind;
using estoc::fuzz::expect;

constexpr std::size_t kHeader = 32;
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

/// The input as a file, which Bundle::open wants.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("bundle", 0)) {
    expect(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void check_decoding(std::string_view bytes) {
  try {
    const estoc::discovery::StoredBundle bundle = estoc::discovery::decode(bytes);
    for (const auto& artifact : bundle.artifacts)
      expect(artifact.bytes.size() <= bytes.size());
    for (const auto& rule : bundle.rules)
      expect(rule.artifact < bundle.artifacts.size());
    // Few bytes of code may stand for many artifacts.
    if (bundle.artifacts.size() > 64) return;
    const std::string again = estoc::discovery::encode(bundle);
    expect(estoc::discovery::encode(estoc::discovery::decode(again)) == again);
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::value);
  }
}

void check_use(const estoc::Bundle& bundle) {
  static const auto arguments =
      estoc::Problem::parse("gemm m=64 n=64 k=64 l=1 a=f32:t b=f32:t out=f32:t acc=f32")
          .arguments();
  const estoc::Target target = estoc::Target::sm(90, true);
  for (std::size_t i = 0; i < bundle.size(); ++i)
    expect(bundle.artifact(i).code() != nullptr);
  const estoc::Dispatch dispatch = bundle.dispatch(*arguments, target);
  for (const std::int64_t m : {INT64_MIN, std::int64_t{0}, std::int64_t{64}, INT64_MAX}) {
    const estoc::Artifact* artifact = dispatch.select(m);
    if (artifact != nullptr) expect(artifact->target() == target);
  }
  try {
    expect(bundle.find(*arguments, target).target() == target);
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::not_found);
  }
}

void check_opening(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    check_use(estoc::Bundle::open(file.path()));
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::value || error.kind() == ErrorKind::not_found);
  }
}

/// Mutates `text` in place, to at most `most` bytes.
void mutate(std::string& text, std::size_t most) {
  const std::size_t size = text.size();
  text.resize(std::max(most, size));
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
}

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

std::string file_of(std::string header, const std::string& manifest, const std::string& code) {
  std::string bytes = std::move(header) + manifest;
  if (!code.empty()) bytes.resize(aligned(bytes.size()));
  bytes += code;
  put(bytes, 12, manifest.size(), 4);
  const estoc::core::Hash128 hash = estoc::core::hash(std::string_view(bytes).substr(kHeader));
  put(bytes, 16, hash.high, 8);
  put(bytes, 24, hash.low, 8);
  return bytes;
}

}  // namespace

// Without a right hash nothing but the header would ever be reached.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (size <= kHeader || most <= kHeader + kAlignment || random() % 16 == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::uint32_t stated = 0;
  std::memcpy(&stated, data + 12, sizeof(stated));
  const std::size_t length = std::min<std::size_t>(stated, size - kHeader);
  std::string manifest = bytes.substr(kHeader, length);
  std::string code = bytes.substr(std::min(aligned(kHeader + length), size));
  const std::size_t room = most - kHeader - kAlignment;
  if (random() % 8 == 0) {
    mutate(code, room > manifest.size() ? room - manifest.size() : 0);
  } else {
    mutate(manifest, room > code.size() ? room - code.size() : 0);
  }
  const std::string file = file_of(bytes.substr(0, kHeader), manifest, code);
  if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_decoding(bytes);
  check_opening(bytes);
  return 0;
}
