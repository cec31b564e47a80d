// Findings in words.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "machine.h"

namespace estoc::emulator {

std::string_view fault_name(Fault fault) {
  switch (fault) {
    case Fault::deadlock:
      return "deadlock";
    case Fault::race:
      return "race";
    case Fault::missing_proxy_fence:
      return "missing proxy fence";
    case Fault::out_of_bounds:
      return "out of bounds";
    case Fault::misaligned:
      return "misaligned";
    case Fault::uninitialised:
      return "uninitialised memory";
    case Fault::read_only:
      return "write to read-only memory";
    case Fault::barrier_misuse:
      return "misused mbarrier";
    case Fault::arrival_overflow:
      return "too many arrivals";
    case Fault::transaction_mismatch:
      return "transaction count";
    case Fault::missing_init_fence:
      return "missing fence.mbarrier_init";
    case Fault::named_barrier_clash:
      return "named barrier clash";
    case Fault::divergent:
      return "divergent instruction";
    case Fault::leaked_async:
      return "asynchronous work left over";
    case Fault::accumulator_in_flight:
      return "accumulators in flight";
    case Fault::missing_wgmma_fence:
      return "missing wgmma.fence";
    case Fault::bad_descriptor:
      return "bad descriptor";
    case Fault::register_pool:
      return "register pool";
    case Fault::tensor_memory:
      return "misused tensor memory";
    case Fault::missing_tcgen05_fence:
      return "missing tcgen05.fence";
    case Fault::launch_control:
      return "misused launch control";
    case Fault::missing_dependency_wait:
      return "missing griddepcontrol.wait";
    case Fault::trap:
      return "trap";
    case Fault::time_limit:
      return "time limit";
    case Fault::unwritten_output:
      return "unwritten output";
  }
  return "unknown";
}

std::string Finding::text() const {
  std::string where = fmt::format("{}: {}", fault_name(fault), kernel);
  if (fault != Fault::unwritten_output) {
    where += fmt::format(", CTA ({}, {}, {}), thread {}", cta[0], cta[1], cta[2], thread);
  }
  if (!file.empty()) where += fmt::format(", {}:{}", file, line);
  if (address != 0) where += fmt::format(", address {:#x}", address);
  if (count > 1) where += fmt::format(" (first of {})", count);
  return where + "\n  " + message;
}

bool Report::has(Fault fault) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.fault == fault; });
}

std::string Report::text() const {
  std::string all;
  for (const Finding& finding : findings)
    all += finding.text() + "\n";
  return all;
}

void Machine::report(Fault fault, const Thread& thread, Site site, u64 address,
                     std::string message) {
  const std::string_view file = site.file == nullptr ? "" : site.file;
  for (Finding& known : report_.findings) {
    if (known.fault == fault && known.line == site.line && known.file == file) {
      ++known.count;
      return;
    }
  }
  if (static_cast<int>(report_.findings.size()) >= options_.max_findings) return;
  report_.findings.push_back({fault, options_.kernel_name, thread.cta->index, thread.place.tid,
                              std::string(file), site.line, address, std::move(message), 1});
}

void Machine::fail(Fault fault, Thread& thread, Site site, u64 address, std::string message) {
  report(fault, thread, site, address, std::move(message));
  failed_ = true;
  switch_fiber(thread.context, host_);
  __builtin_unreachable();
}

u32 Machine::site_id(Site site) {
  std::size_t index = 0;
  while (index < files_.size() && files_[index] != site.file)
    ++index;
  if (index == files_.size()) files_.push_back(site.file);
  return static_cast<u32>(index << 20) | (static_cast<u32>(site.line) & 0xfffffu);
}

std::string Machine::site_text(u32 id) const {
  const char* file = files_[id >> 20];
  return fmt::format("{}:{}", file == nullptr ? "?" : file, id & 0xfffffu);
}

std::string Machine::name_of(const Access& access) const {
  std::string cta;
  const Cluster* cluster = cluster_by_id(access.cluster);
  if (access.lanes == 0) return "an asynchronous operation issued";
  for (const auto& c : cluster->ctas) {
    const auto size = static_cast<u32>(c->threads.size());
    const u32 padded = (size + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
    if (access.agent / padded != c->rank) continue;
    const u32 first = access.agent % padded + static_cast<u32>(std::countr_zero(access.lanes));
    return fmt::format("thread {} of CTA ({}, {}, {})", first, c->index[0], c->index[1],
                       c->index[2]);
  }
  return "a thread";
}

std::string Machine::blocked_text(const Thread& thread) const {
  const Wait& wait = thread.wait;
  std::string text = fmt::format("{} at {}:{}", wait.what,
                                 wait.site.file == nullptr ? "?" : wait.site.file, wait.site.line);
  if (wait.cta == nullptr) {
    if (wait.object != 0) text += fmt::format(" ({:#x})", wait.object);
    return text;
  }
  const auto found = wait.cta->mbarriers.find(static_cast<u32>(wait.object));
  if (found == wait.cta->mbarriers.end()) return text;
  const Mbarrier& b = found->second;
  text += fmt::format(
      " for parity {} of the mbarrier at {:#x}, which is in phase {}, {} of {} "
      "arrivals missing",
      wait.parity, wait.object, b.phase, b.pending, b.count);
  if (b.bytes > 0) text += fmt::format(", {} bytes missing", b.bytes);
  if (b.bytes < 0) text += fmt::format(", {} bytes too many", -b.bytes);
  return text;
}

void Machine::report_deadlock() {
  std::map<std::string, std::vector<const Thread*>> groups;
  std::vector<const Thread*> order;
  u32 finished = 0;
  for (const auto& cluster : clusters_) {
    for (const auto& cta : cluster->ctas) {
      if (cluster->running == 0) continue;
      for (const auto& thread : cta->threads) {
        if (thread->finished) {
          ++finished;
          continue;
        }
        auto& group = groups[blocked_text(*thread)];
        if (group.empty()) order.push_back(thread.get());
        group.push_back(thread.get());
      }
      for (const auto& [address, barrier] : cta->mbarriers) {
        if (!barrier.valid || barrier.bytes == 0) continue;
        report(Fault::transaction_mismatch, *cta->threads[0], barrier.init_site, address,
               fmt::format("in phase {} of the mbarrier at {:#x} {} bytes {}: expect_tx must name "
                           "exactly the bytes of the copies",
                           barrier.phase, address, std::abs(barrier.bytes),
                           barrier.bytes > 0 ? "were expected and never came"
                                             : "came that were not expected"));
      }
    }
  }
  if (order.empty()) return;
  std::string message = "nothing can go on:";
  for (const Thread* first : order) {
    const auto& group = groups[blocked_text(*first)];
    message += fmt::format("\n    {} threads, first {} of CTA ({}, {}, {}): {}", group.size(),
                           first->place.tid, first->cta->index[0], first->cta->index[1],
                           first->cta->index[2], blocked_text(*first));
  }
  if (finished > 0) message += fmt::format("\n    {} threads have ended", finished);
  report(Fault::deadlock, *order[0], order[0]->wait.site, order[0]->wait.object,
         std::move(message));
}

}  // namespace estoc::emulator
