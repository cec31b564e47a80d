// A thread of execution with its own stack, which runs when it is switched to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace estoc::emulator {

/// Stacks are kept for the next launch: fresh ones cost page faults.
class Stack {
 public:
  static constexpr std::size_t kBytes = 128 * 1024;
  static constexpr std::size_t kGuard = 4096;  ///< bytes below it that are protected

  Stack();
  ~Stack();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;

  /// Tops differ in their low bits, for else the caches would hold few of them at a time.
  std::byte* top() const {
    const auto number = reinterpret_cast<std::uintptr_t>(memory_) / (kBytes + 4096);
    return memory_ + kBytes - number % 64 * 192;
  }
  std::byte* bottom() const { return memory_; }

 private:
  std::byte* memory_;
};

/// What a switch saves, of a fiber or of the host thread that runs fibers.
struct FiberContext {
  void* stack_pointer = nullptr;
  void* fake_stack = nullptr;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
};

/// Prepares `context` so that the first switch to it calls function(), which never returns.
void make_fiber(FiberContext& context, const Stack& stack, void (*function)());

/// Goes on in `to`, and returns when something switches back to `from`.
void switch_fiber(FiberContext& from, FiberContext& to);

/// To be called first in a new fiber.
void enter_fiber();

}  // namespace estoc::emulator
