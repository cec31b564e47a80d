// Switching stacks: a few instructions on x86-64, ucontext elsewhere.
#include "fiber.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace estoc::emulator {
namespace {

// Freed stacks of this host thread.
struct Pool {
  std::vector<std::byte*> stacks;

  ~Pool() {
    for (std::byte* stack : stacks)
      munmap(stack - Stack::kGuard, Stack::kBytes + Stack::kGuard);
  }
};

Pool& pool() {
  thread_local Pool instance;
  return instance;
}

std::byte* new_stack() {
  void* memory = mmap(nullptr, Stack::kBytes + Stack::kGuard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, Stack::kGuard, PROT_NONE);
  return static_cast<std::byte*>(memory) + Stack::kGuard;
}

}  // namespace

Stack::Stack() {
  if (pool().stacks.empty()) {
    memory_ = new_stack();
    return;
  }
  memory_ = pool().stacks.back();
  pool().stacks.pop_back();
}

Stack::Stack(Stack&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

Stack::~Stack() {
  if (memory_ == nullptr) return;
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(memory_, kBytes);
#endif
  pool().stacks.push_back(memory_);
}

#ifdef __x86_64__

extern "C" void estoc_switch_stack(void** save, void* load);

// Saves what a called function must preserve, exchanges the stacks, and restores.
asm(R"(
.text
.p2align 4
.globl estoc_switch_stack
.hidden estoc_switch_stack
.type estoc_switch_stack, @function
estoc_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size estoc_switch_stack, .-estoc_switch_stack
)");

void make_fiber(FiberContext& context, const Stack& stack, void (*function)()) {
  // Where `ret` leaves the stack pointer, it must be 8 modulo 16, as after a call.
  auto* frame = reinterpret_cast<void**>(stack.top() - 16);
  frame[1] = nullptr;
  frame[0] = reinterpret_cast<void*>(function);
  for (int i = 1; i <= 6; ++i)
    frame[-i] = nullptr;
  context = {frame - 6, nullptr, stack.bottom(), Stack::kBytes};
}

namespace {

void exchange(FiberContext& from, FiberContext& to) {
  estoc_switch_stack(&from.stack_pointer, to.stack_pointer);
}

}  // namespace

#else

void make_fiber(FiberContext& context, const Stack& stack, void (*function)()) {
  auto* state = new ucontext_t;
  getcontext(state);
  state->uc_stack.ss_sp = stack.bottom();
  state->uc_stack.ss_size = Stack::kBytes;
  state->uc_link = nullptr;
  makecontext(state, function, 0);
  context = {state, nullptr, stack.bottom(), Stack::kBytes};
}

namespace {

void exchange(FiberContext& from, FiberContext& to) {
  if (from.stack_pointer == nullptr) from.stack_pointer = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from.stack_pointer),
              static_cast<ucontext_t*>(to.stack_pointer));
}

}  // namespace

#endif

#ifdef __SANITIZE_ADDRESS__

namespace {
thread_local FiberContext* switched_from = nullptr;
}

void enter_fiber() {
  __sanitizer_finish_switch_fiber(nullptr, &switched_from->stack_bottom,
                                  &switched_from->stack_bytes);
}

void switch_fiber(FiberContext& from, FiberContext& to) {
  switched_from = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
  exchange(from, to);
  __sanitizer_finish_switch_fiber(from.fake_stack, &switched_from->stack_bottom,
                                  &switched_from->stack_bytes);
}

#else

void enter_fiber() {}

void switch_fiber(FiberContext& from, FiberContext& to) {
  exchange(from, to);
}

#endif

}  // namespace estoc::emulator
