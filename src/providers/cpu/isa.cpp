// Chooses the variant of the product file that suits the processor at hand.
#include "providers/cpu/isa.h"

#include <atomic>

#ifndef ESTOC_CPU_ONLY
#include <cpuid.h>
#endif

namespace estoc::cpu {

#ifndef ESTOC_CPU_ONLY
namespace v2 {
extern const ProductTable table;
}
namespace v3 {
extern const ProductTable table;
}
namespace v4 {
extern const ProductTable table;
}
#else
namespace ESTOC_CPU_ONLY {
extern const ProductTable table;
}
#endif

namespace {

#ifndef ESTOC_CPU_ONLY

bool has_v2() {
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

/// The instructions of x86-64-v3 that __builtin_cpu_supports does not know in every compiler.
bool has_f16c_movbe_lzcnt() {
  constexpr unsigned kMovbe = 1U << 22;
  constexpr unsigned kF16c = 1U << 29;
  constexpr unsigned kLzcnt = 1U << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kMovbe) == 0 || (c & kF16c) == 0) return false;
  return __get_cpuid(0x8000'0001U, &a, &b, &c, &d) && (c & kLzcnt) != 0;
}

bool has_v3() {
  return has_v2() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && has_f16c_movbe_lzcnt();
}

bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

std::vector<const ProductTable*> find_usable() {
  __builtin_cpu_init();
  std::vector<const ProductTable*> tables;
  if (has_v2()) tables.push_back(&v2::table);
  if (has_v3()) tables.push_back(&v3::table);
  if (has_v4()) tables.push_back(&v4::table);
  return tables;
}

#else

std::vector<const ProductTable*> find_usable() {
  return {&ESTOC_CPU_ONLY::table};
}

#endif

const std::vector<const ProductTable*>& usable() {
  // Never destroyed: threads may still compute while the process ends.
  static const auto& tables = *new const std::vector<const ProductTable*>(find_usable());
  return tables;
}

/// The variant that a test selected; null for the best.
std::atomic<const ProductTable*> forced{nullptr};

}  // namespace

const ProductTable* active_products() {
  const ProductTable* const choice = forced.load(std::memory_order_acquire);
  if (choice != nullptr) return choice;
  return usable().empty() ? nullptr : usable().back();
}

std::vector<const ProductTable*> usable_products() {
  return usable();
}

bool set_variant_for_testing(std::string_view name) {
  if (name.empty()) {
    forced.store(nullptr, std::memory_order_release);
    return true;
  }
  for (const ProductTable* table : usable()) {
    if (name == table->name) {
      forced.store(table, std::memory_order_release);
      return true;
    }
  }
  return false;
}

}  // namespace estoc::cpu
