// What is wrong with a compiled unit: spills, slow code, more registers than there are.
#include "judge.h"

#include <fmt/core.h>

#include "bounds.h"

namespace estoc::compile_test {
namespace {

// Of every architecture from sm_80 on.
constexpr long kRegisters = 65536;
// Registers are handed out to a warp in steps of this many a thread.
constexpr long kStep = 8;

}  // namespace

Verdict judge(const jit::Unit& unit, const std::vector<KnownSpill>& known) {
  Verdict verdict;
  std::vector<std::string>& defects = verdict.defects;
  const KernelResources& taken = unit.code.resources;
  const bool spills = taken.spill_store_bytes > 0 || taken.spill_load_bytes > 0;
  verdict.known_spill = spills && is_known(known, unit.name, unit.target.name(), taken);
  if (spills && !verdict.known_spill) {
    defects.push_back(fmt::format("spills: stores {} bytes, loads {}", taken.spill_store_bytes,
                                  taken.spill_load_bytes));
  }
  for (const std::string& warning : jit::performance_warnings(unit.code.log))
    defects.push_back(warning);
  if (taken.registers == 0) defects.emplace_back("ptxas reported no registers");
  const auto bounds = read_bounds(unit.code.bytes);
  if (!bounds) {
    defects.emplace_back("it states no __launch_bounds__");
    return verdict;
  }
  const long each = (taken.registers + kStep - 1) / kStep * kStep;
  if (each * bounds->threads * bounds->ctas > kRegisters) {
    defects.push_back(fmt::format("takes {} registers a thread; {} CTAs of {} threads have {}",
                                  taken.registers, bounds->ctas, bounds->threads,
                                  kRegisters / (bounds->threads * bounds->ctas)));
  }
  return verdict;
}

}  // namespace estoc::compile_test
