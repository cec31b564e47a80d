// Cluster launch control: a grid whose clusters take over the work of those that have not begun.
#include <cstring>

#include "machine.h"

namespace estoc::emulator {
namespace {

// Words of an answer: the first CTA of a cluster, and whether it was cancelled.
constexpr u32 kCancelled = 0x1;
constexpr u32 kRefused = 0xdead0000;
constexpr std::size_t kAnswerWords = 4;

std::vector<std::byte> answer_to(Cluster& cluster) {
  std::array<u32, kAnswerWords> words{kRefused, kRefused, kRefused, 0};
  if (const auto first = Machine::current().cancel_cluster(cluster)) {
    words = {(*first)[0], (*first)[1], (*first)[2], kCancelled};
    ++cluster.cancelled;
  }
  std::vector<std::byte> bytes(sizeof(words));
  std::memcpy(bytes.data(), words.data(), sizeof(words));
  return bytes;
}

}  // namespace

void try_cancel(u32 response, u32 barrier, bool multicast, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  Cluster& cluster = *thread.cta->cluster;
  if (cluster.refused) {
    m.report(Fault::launch_control, thread, site, response,
             "a request after the cluster has read an answer that was no: what happens then is "
             "undefined; end with that answer");
  }
  SharedPlace to{};
  SharedPlace signal{};
  if (!locate_shared(thread, response, 16, site, to) ||
      !locate_shared(thread, barrier, 8, site, signal)) {
    return;
  }
  if (response % 16 != 0) {
    m.report(Fault::misaligned, thread, site, response,
             "the answer of clusterlaunchcontrol.try_cancel is aligned to 16 bytes");
  }
  const std::vector<std::byte> answer = answer_to(cluster);
  for (const auto& cta : cluster.ctas) {
    if (!multicast && cta.get() != to.cta) continue;
    deliver(thread, *cta, to.offset, answer, kSharedBase + signal.offset, site);
  }
}

bool is_canceled(const u32* words, Site /*site*/) {
  const bool cancelled = words[kAnswerWords - 1] == kCancelled;
  if (!cancelled) Machine::self().cta->cluster->refused = true;
  return cancelled;
}

u32 first_ctaid(const u32* words, int mode, Site site) {
  if (words[kAnswerWords - 1] != kCancelled) {
    Machine::current().report(Fault::launch_control, Machine::self(), site, 0,
                              "the first CTA of a cluster that was not cancelled: ask "
                              "clusterlaunchcontrol_is_canceled() first");
  }
  return words[mode];
}

}  // namespace estoc::emulator
