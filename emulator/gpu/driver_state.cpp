// What the virtual driver knows: devices, contexts, memory, streams, and what it last refused.
#include "driver_state.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/env.h"

namespace estoc::virtual_gpu {
namespace {

/// Also one that Estoc does not know, such as sm_130, for devices that are newer.
std::optional<Target> target_named(std::string_view name) {
  if (const auto target = Target::parse(name)) return target;
  int cc = 0;
  const bool sm = name.starts_with("sm_");
  if (sm) std::from_chars(name.data() + 3, name.data() + name.size(), cc);
  return cc > 0 ? std::optional(Target::sm(cc)) : std::nullopt;
}

std::optional<VirtualDevice> described_device(const std::string& text) {
  if (text == "lost") return VirtualDevice{.target = Target::cpu(), .name = {}, .lost = true};
  const std::size_t colon = text.find(':');
  const auto target = target_named(std::string_view(text).substr(0, colon));
  if (!target) return std::nullopt;
  const bool named = colon != std::string::npos;
  return VirtualDevice{.target = *target,
                       .name = named ? text.substr(colon + 1) : "Virtual GPU " + target->name()};
}

std::vector<VirtualDevice> described_devices() {
  std::vector<VirtualDevice> devices;
  std::string texts = core::env("ESTOC_VIRTUAL_GPU").value_or("sm_90a,sm_90a");
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find(','), texts.size());
    if (auto device = described_device(texts.substr(0, end))) devices.push_back(std::move(*device));
    texts.erase(0, end + 1);
  }
  return devices;
}

std::map<CUresult, std::string>& reasons() {
  static thread_local std::map<CUresult, std::string> all;
  return all;
}

}  // namespace

State& state() {
  static auto* instance = [] {
    auto* made = new State;
    made->devices = described_devices();
    return made;
  }();
  return *instance;
}

CUcontext new_context(int device) {
  static unsigned long long last_id = 0;
  auto context = std::make_unique<jit::ContextHandle>();
  context->device = device;
  context->id = ++last_id;
  return state().contexts.emplace_back(std::move(context)).get();
}

std::vector<CUcontext>& context_stack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}

CUcontext current_context() {
  return context_stack().empty() ? nullptr : context_stack().back();
}

CUresult usable_context() {
  return usable_context(current_context());
}

CUresult usable_context(CUcontext context) {
  if (context == nullptr) return jit::kCudaErrorInvalidContext;
  const std::lock_guard lock(state().mutex);
  if (context->destroyed) return jit::kCudaErrorContextIsDestroyed;
  return context->failure;
}

void end_uploads() {
  const std::lock_guard lock(state().mutex);
  for (const Upload& upload : state().uploads)
    std::memcpy(std::bit_cast<void*>(upload.to), upload.bytes.data(), upload.bytes.size());
  state().uploads.clear();
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void note_wait(jit::Awaited& awaited, std::uint64_t number) {
  std::uint64_t known = awaited.load();
  while (known < number && !awaited.compare_exchange_weak(known, number)) {
  }
}

CUresult refuse(CUresult code, std::string why) {
  reasons()[code] = std::move(why);
  return code;
}

const std::string& reason(CUresult code) {
  return reasons()[code];
}

}  // namespace estoc::virtual_gpu
