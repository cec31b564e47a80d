// Handlers of signals, which switch from the kernel's thread back to the machine.
#include "signals.h"

#include <fmt/core.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <mutex>

#include "machine.h"

namespace estoc::emulator {
namespace {

#ifdef __SANITIZE_ADDRESS__
// AddressSanitizer says more of a bad pointer than the emulator can.
constexpr std::array kSignals{SIGVTALRM};
#else
constexpr std::array kSignals{SIGVTALRM, SIGSEGV, SIGBUS, SIGFPE};
#endif
constexpr std::size_t kStackBytes = 64 * 1024;
// From one look at where the thread is to the next, once its time is over.
constexpr long kTickNanoseconds = 2'000'000;

struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct Search {
  std::uintptr_t address;
  CodeRange found;
};

int look_into(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    const CodeRange range{begin, begin + header.p_memsz};
    if (!range.has(search.address)) continue;
    search.found = range;
    return 1;
  }
  return 0;
}

// The part of a library that a function is in; empty where the emulator is in it, too.
CodeRange code_around(Entry entry) {
  Search search{reinterpret_cast<std::uintptr_t>(entry), {}};
  ::dl_iterate_phdr(look_into, &search);
  if (search.found.has(reinterpret_cast<std::uintptr_t>(&code_around))) return {};
  return search.found;
}

constinit thread_local CodeRange interruptible{};

std::uintptr_t program_counter(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
  return 0;
#endif
}

/// The handlers that were there before, while any launch runs.
struct Handlers {
  std::mutex mutex;
  int users = 0;
  std::array<struct sigaction, kSignals.size()> before{};
};

Handlers& handlers() {
  static auto* instance = new Handlers;
  return *instance;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    const struct sigaction& before = handlers().before[i];
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else {
      // What raised it does so again.
      ::sigaction(signal, &before, nullptr);
    }
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  Machine* machine = running_machine;
  const bool in_kernel = machine != nullptr && machine->in_kernel();
  if (signal == SIGVTALRM) {
    if (in_kernel && interruptible.has(program_counter(context))) machine->trap(signal, 0);
    return;
  }
  if (!in_kernel) {
    pass_on(signal, info, context);
    return;
  }
  machine->trap(signal, reinterpret_cast<u64>(info->si_addr));
}

void install() {
  Handlers& all = handlers();
  const std::lock_guard lock(all.mutex);
  if (all.users++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  // The handler does not return: the signal must not stay blocked.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &action, &all.before[i]);
}

void uninstall() {
  Handlers& all = handlers();
  const std::lock_guard lock(all.mutex);
  if (--all.users > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &all.before[i], nullptr);
}

// A stack for handlers, where the host thread has none: that of a fiber may be full.
void* give_stack() {
  stack_t before{};
  if (::sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return nullptr;
  void* memory =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const stack_t own{memory, 0, kStackBytes};
  ::sigaltstack(&own, nullptr);
  return memory;
}

void take_stack(void* memory) {
  if (memory == nullptr) return;
  const stack_t none{nullptr, SS_DISABLE, 0};
  ::sigaltstack(&none, nullptr);
  ::munmap(memory, kStackBytes);
}

}  // namespace

SignalGuard::SignalGuard(Entry entry, double seconds) : own_stack_(give_stack()) {
  install();
  if (seconds <= 0) return;
  interruptible = code_around(entry);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGVTALRM;
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  timer_t timer{};
  if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
  timer_ = timer;
  times_ = true;
  const auto whole = static_cast<time_t>(seconds);
  const auto rest = static_cast<long>((seconds - static_cast<double>(whole)) * 1e9);
  const itimerspec when{{0, kTickNanoseconds}, {whole, std::max(rest, whole == 0 ? 1L : 0L)}};
  ::timer_settime(timer, 0, &when, nullptr);
}

SignalGuard::~SignalGuard() {
  if (times_) ::timer_delete(static_cast<timer_t>(timer_));
  uninstall();
  take_stack(own_stack_);
}

std::string signal_text(int signal, std::uint64_t address, bool stack_is_full, double seconds) {
  if (signal == SIGVTALRM) {
    return fmt::format(
        "{} s of processor time are over, and the thread goes on: a loop may have "
        "no end",
        seconds);
  }
  if (signal == SIGFPE) return "an integer is divided by zero";
  if (stack_is_full) {
    return fmt::format("the thread's stack of {} bytes is full", std::size_t{Stack::kBytes});
  }
  return fmt::format("a plain pointer leads to {:#x}, where there is no memory", address);
}

}  // namespace estoc::emulator
