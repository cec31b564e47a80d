// The replay of a recording: warps that execute, wait and wake in the order of a device's clock.
#include "replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace estoc::emulator {
namespace {

constexpr unsigned kNamedBarriers = 16;
constexpr double kBlockRows = 64;
constexpr double kProductBytes = 32;  ///< of K, that one instruction of a warpgroup multiplies
constexpr std::uint32_t kPair = 1024;
constexpr double kSpread = 16;  ///< products over which the writes of a stage are spread

}  // namespace

Replay::Replay(const Recording& recording, const DeviceTiming& device, const Shares& shares,
               Trace* trace)
    : recording_(recording), device_(device), shares_(shares), trace_(trace) {
  const std::size_t ctas = recording.ctas();
  warps_.resize(recording.warps.size());
  tensor_done_.resize(warps_.size());
  for (std::size_t i = 0; i < warps_.size(); ++i)
    warps_[i].warp = &recording.warps[i];
  products_.resize(warps_.size());
  for (const Recording::Barrier& barrier : recording.barriers)
    barriers_.push_back({.pending = barrier.count, .waiting = {}});
  named_.resize(ctas * kNamedBarriers);
  clusters_.resize(recording.clusters);
  machines_.resize(recording.cluster_size);
}

std::size_t Replay::machine_of(std::size_t warp) const {
  // Recorded clusters live together: each CTA of one shares a multiprocessor with one of the next.
  return warps_[warp].warp->cta % recording_.cluster_size;
}

Replay::Products& Replay::products_of(std::size_t warp) {
  return products_[warp - warps_[warp].warp->index % 4];
}

void Replay::schedule(std::size_t warp, double time) {
  events_.push({time, numbers_++, false, warp});
}

void Replay::schedule_arrival(std::size_t barrier, double time, std::int64_t count,
                              std::int64_t bytes) {
  events_.push({time, numbers_++, true, barrier, count, bytes});
}

double Replay::run() {
  for (std::size_t warp = 0; warp < warps_.size(); ++warp)
    schedule(warp, 0);
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.arrival) {
      arrive(event.which, event.time, event.count, event.bytes);
    } else {
      step(event.which, event.time);
    }
  }
  for (const WarpState& state : warps_) {
    if (state.next == state.warp->ops.size()) continue;
    throw std::runtime_error(
        fmt::format("warp {} of CTA {} waits at its instruction {} for what the recorded clusters "
                    "do not do",
                    state.warp->index, state.warp->cta, state.next));
  }
  return end_;
}

double Replay::tensor_clocks() const {
  double most = 0;
  for (const Multiprocessor& machine : machines_)
    most = std::max(most, machine.tensor_busy);
  return most;
}

void Replay::step(std::size_t warp, double time) {
  WarpState& state = warps_[warp];
  if (state.next == state.warp->ops.size()) {
    end_ = std::max({end_, time, state.loads_done, state.bulk.open_done});
    return;
  }
  const RecordedOp& op = state.warp->ops[state.next];
  const bool same = op.act == Act::bulk_copy || op.act == Act::tensor_commit_copy;
  if (state.waiting_since < 0 && !same) {
    if (op.act != Act::load) time = std::max(time, state.loads_done);
    double& scheduler = multiprocessor(warp).schedulers[state.warp->index % 4];
    time = std::max(time, scheduler) + device_.issue_clocks;
    scheduler = time;
  }
  const double issued = time;
  if (!execute(warp, op, time)) {
    if (state.waiting_since < 0) state.waiting_since = issued;
    return;
  }
  if (state.waiting_since >= 0) {
    note(TraceKind::wait, warp, "wait", state.waiting_since, time, op.object, 0);
    state.waiting_since = -1;
  }
  ++state.next;
  schedule(warp, time);
}

bool Replay::execute(std::size_t warp, const RecordedOp& op, double& time) {
  switch (op.act) {
    case Act::issue:
      return true;
    case Act::wait:
    case Act::named_sync:
    case Act::named_arrive:
    case Act::cluster_arrive:
    case Act::cluster_wait:
      return execute_wait(warp, op, time);
    case Act::arrive:
      schedule_arrival(op.object, time, op.extra, op.amount);
      return true;
    case Act::arrive_far:
      schedule_arrival(op.object, time + device_.far_clocks, op.extra, op.amount);
      return true;
    case Act::wgmma:
    case Act::wgmma_commit:
    case Act::wgmma_wait:
      return execute_product(warp, op, time);
    case Act::bulk_load:
    case Act::bulk_copy:
      load(warp, op, time);
      return true;
    case Act::bulk_store:
    case Act::bulk_commit:
    case Act::bulk_wait:
      execute_bulk(warp, op, time);
      return true;
    case Act::mma:
    case Act::tensor_mma:
    case Act::tensor_commit:
    case Act::tensor_commit_copy:
    case Act::tensor_copy:
    case Act::tensor_move:
    case Act::tensor_wait:
      execute_tensor(warp, op, time);
      return true;
    default:
      execute_copy(warp, op, time);
      return true;
  }
}

bool Replay::execute_wait(std::size_t warp, const RecordedOp& op, double& time) {
  WarpState& state = warps_[warp];
  ClusterState& cluster = clusters_[state.warp->cta / recording_.cluster_size];
  switch (op.act) {
    case Act::wait: {
      BarrierState& barrier = barriers_[op.object];
      if (barrier.phase >= op.amount) return true;
      barrier.waiting.emplace_back(op.amount, warp);
      return false;
    }
    case Act::cluster_arrive:
      arrive_cluster(cluster, time);
      return true;
    case Act::cluster_wait:
      if (cluster.phase > state.cluster_waits) {
        ++state.cluster_waits;
        return true;
      }
      cluster.waiting.push_back(warp);
      return false;
    default:
      // Woken: it has been counted.
      if (state.waiting_since >= 0) return true;
      return meet(named_[state.warp->cta * kNamedBarriers + op.object], warp,
                  op.amount == 0 ? recording_.threads : op.amount, op.act == Act::named_sync, time);
  }
}

// Counts a warp in at a named barrier; true where it goes on.
bool Replay::meet(NamedState& barrier, std::size_t warp, unsigned count, bool waits, double time) {
  const unsigned own = std::min(32u, recording_.threads - warps_[warp].warp->index * 32);
  barrier.arrived += own;
  if (barrier.arrived < count) {
    if (waits) barrier.waiting.push_back(warp);
    return !waits;
  }
  barrier.arrived = 0;
  wake(barrier.waiting, time);
  return true;
}

void Replay::arrive_cluster(ClusterState& cluster, double time) {
  cluster.latest = std::max(cluster.latest, time);
  if (++cluster.arrived < warps_per_cta() * recording_.cluster_size) return;
  cluster.arrived = 0;
  ++cluster.phase;
  wake(cluster.waiting, cluster.latest + device_.far_clocks);
}

void Replay::wake(std::vector<std::size_t>& warps, double time) {
  for (const std::size_t warp : warps)
    schedule(warp, time + device_.wake_clocks);
  warps.clear();
}

void Replay::arrive(std::size_t barrier, double time, std::int64_t count, std::int64_t bytes) {
  BarrierState& state = barriers_[barrier];
  state.pending -= count;
  state.bytes += bytes;
  if (state.pending != 0 || state.bytes != 0) return;
  state.pending = recording_.barriers[barrier].count;
  ++state.phase;
  std::vector<std::pair<std::uint32_t, std::size_t>> waiting;
  waiting.swap(state.waiting);
  for (const auto& [phase, warp] : waiting) {
    if (state.phase >= phase) {
      schedule(warp, time + device_.wake_clocks);
    } else {
      state.waiting.emplace_back(phase, warp);
    }
  }
}

// Tensor cores take products in the order of their issue. Shared memory, from which they read, also
// takes what arrives from outside: in the clocks that reads leave, the rest bit by bit.
double Replay::multiply(Multiprocessor& at, double& done, double clocks, double reads,
                        double time) const {
  if (time > at.tensor_free) at.written = std::max(at.written - (time - at.tensor_free), 0.0);
  const double taken = std::min(at.written, std::max(clocks - reads, at.written / kSpread));
  at.written -= taken;
  const double all = std::max(clocks, reads + taken);
  at.tensor_free = std::max(at.tensor_free, time) + all;
  at.tensor_busy += clocks;
  done = at.tensor_free + device_.product_clocks;
  return all;
}

bool Replay::execute_product(std::size_t warp, const RecordedOp& op, double& time) {
  WarpState& state = warps_[warp];
  Products& products = products_of(warp);
  const bool leads = state.warp->index % 4 == 0;
  if (op.act == Act::wgmma) {
    if (!leads) return true;
    const double columns = op.amount;
    const double bytes = (columns + (op.extra != 0 ? 0 : kBlockRows)) * kProductBytes;
    const double clocks =
        multiply(multiprocessor(warp), products.open_done, columns / 2 / device_.product_rate,
                 bytes / device_.shared_per_clock, time);
    note(TraceKind::wgmma, warp, "wgmma", multiprocessor(warp).tensor_free - clocks,
         multiprocessor(warp).tensor_free, 0, 0);
    return true;
  }
  if (op.act == Act::wgmma_commit) {
    if (leads) products.groups.push_back(products.open_done);
    return true;
  }
  if (!leads) {
    if (products.waits_passed.size() <= state.product_waits) {
      products.followers.push_back(warp);
      return false;
    }
    time = std::max(time, products.waits_passed[state.product_waits++]);
    return true;
  }
  if (products.groups.size() > op.amount) {
    time = std::max(time, products.groups[products.groups.size() - 1 - op.amount]);
  }
  products.waits_passed.push_back(time);
  for (const std::size_t follower : products.followers)
    schedule(follower, time);
  products.followers.clear();
  return true;
}

void Replay::load(std::size_t warp, const RecordedOp& op, double time) {
  Multiprocessor& issuer = multiprocessor(warp);
  if (op.act == Act::bulk_load) {
    issuer.copies_free = std::max(issuer.copies_free, time) + device_.box_clocks;
    issuer.l2_free =
        std::max(issuer.l2_free, issuer.copies_free) + op.fetched / shares_.l2_per_clock;
    issuer.memory_free = std::max(issuer.memory_free, issuer.copies_free) +
                         op.fetched * shares_.memory_part / shares_.memory_per_clock;
    link_start_ = std::max(issuer.l2_free, issuer.memory_free) + device_.load_clocks;
  }
  Multiprocessor& to = machines_[op.extra];
  const double first = link_start_ - op.amount / device_.link_per_clock;
  to.link_free = std::max(to.link_free, first) + op.amount / device_.link_per_clock;
  to.written += op.amount / device_.written_per_clock;
  schedule_arrival(op.object, to.link_free, 0, -static_cast<std::int64_t>(op.amount));
  note(TraceKind::tma_load, warp, "TMA load", time, to.link_free, op.object, op.amount);
}

void Replay::execute_bulk(std::size_t warp, const RecordedOp& op, double& time) {
  Groups& groups = warps_[warp].bulk;
  Multiprocessor& at = multiprocessor(warp);
  if (op.act == Act::bulk_store) {
    at.copies_free = std::max(at.copies_free, time) + device_.box_clocks;
    at.store_free = std::max(at.store_free, at.copies_free) + op.amount / device_.store_per_clock;
    groups.open_read = at.store_free;
    groups.open_done = at.store_free + device_.store_clocks;
    note(TraceKind::tma_store, warp, "TMA store", time, groups.open_done, 0, op.amount);
  } else if (op.act == Act::bulk_commit) {
    groups.read.push_back(groups.open_read);
    groups.done.push_back(groups.open_done);
  } else {
    const std::vector<double>& ends = op.extra != 0 ? groups.read : groups.done;
    if (ends.size() > op.amount) time = std::max(time, ends[ends.size() - 1 - op.amount]);
  }
}

void Replay::execute_tensor(std::size_t warp, const RecordedOp& op, double& time) {
  WarpState& state = warps_[warp];
  Multiprocessor& at = multiprocessor(warp);
  if (op.act == Act::tensor_mma) {
    const bool pair = op.extra >= kPair;
    const double rows = (op.extra - (pair ? kPair : 0)) / (pair ? 2.0 : 1.0);  // of a CTA
    const double columns = op.amount;
    // Rows below 128 leave part of the tensor cores idle, unless a pair shares the columns.
    const double full = pair && rows == 64 ? columns / 4 : columns / 2;
    const double bytes = (rows + columns / (pair ? 2 : 1)) * kProductBytes;
    const double clocks = multiply(at, tensor_done_[warp], full / device_.product_rate,
                                   bytes / device_.shared_per_clock, std::max(time, at.copied));
    at.product_begun = at.tensor_free - clocks;
    if (pair) {
      Multiprocessor& peer = machines_[machine_of(warp) ^ 1];
      peer.tensor_free = at.tensor_free;
      peer.tensor_busy = at.tensor_busy;
    }
    note(TraceKind::wgmma, warp, "tcgen05.mma", at.tensor_free - clocks, at.tensor_free, 0, 0);
  } else if (op.act == Act::tensor_copy) {
    // Behind the operands of the product before, which is then under way.
    const double clocks = op.amount / device_.shared_per_clock;
    at.copied = std::max({at.copied, time, at.product_begun}) + clocks;
    at.written += clocks * (1 - device_.copy_stops);
    if (device_.copy_stops > 0) {
      multiply(at, tensor_done_[warp], 0, clocks * device_.copy_stops, time);
    }
    tensor_done_[warp] = std::max(tensor_done_[warp], at.copied + device_.product_clocks);
  } else if (op.act == Act::tensor_commit || op.act == Act::tensor_commit_copy) {
    const bool far = recording_.barriers[op.object].cta != state.warp->cta;
    schedule_arrival(op.object, std::max(time, tensor_done_[warp]) + (far ? device_.far_clocks : 0),
                     op.extra, 0);
  } else if (op.act == Act::tensor_move) {
    double& free = at.moves_free[state.warp->index % 4];
    free = std::max(free, time) + op.amount / device_.tensor_move_per_clock;
    state.loads_done = free + device_.tensor_move_clocks;
  } else if (op.act == Act::mma) {
    double& free = at.schedulers[state.warp->index % 4];
    const double products = static_cast<double>(op.amount) * op.extra / 16;  // of 16 bits
    free += products / (device_.mma_products / 4);
    at.tensor_busy += products / device_.mma_products;
    time = std::max(time, free);
  }
}

void Replay::execute_copy(std::size_t warp, const RecordedOp& op, double& time) {
  WarpState& state = warps_[warp];
  Multiprocessor& at = multiprocessor(warp);
  const auto begins = [&](double& free, double rate) {
    return free = std::max(free, time) + op.amount / rate;
  };
  switch (op.act) {
    case Act::shared:
      begins(at.shared_free, device_.shared_per_clock);
      time = std::max(time, at.shared_free);
      break;
    case Act::load:
      begins(at.memory_free, shares_.memory_per_clock / std::max(shares_.memory_part, 1e-9));
      begins(at.l2_free, shares_.l2_per_clock);
      state.loads_done =
          std::max(state.loads_done, std::max(at.memory_free, at.l2_free) + device_.global_clocks);
      break;
    case Act::store:
      begins(at.store_free, device_.scatter_per_clock);
      end_ = std::max(end_, at.store_free + device_.store_clocks);
      break;
    case Act::async_copy:
      begins(at.memory_free, shares_.memory_per_clock / std::max(shares_.memory_part, 1e-9));
      begins(at.l2_free, shares_.l2_per_clock);
      state.copies.open_done = std::max(at.memory_free, at.l2_free) + device_.global_clocks;
      break;
    case Act::async_commit:
      state.copies.done.push_back(state.copies.open_done);
      break;
    case Act::async_wait:
      if (state.copies.done.size() > op.amount) {
        time = std::max(time, state.copies.done[state.copies.done.size() - 1 - op.amount]);
      }
      break;
    default:  // async_arrive
      schedule_arrival(op.object, std::max(time, state.copies.open_done), op.extra, 0);
      break;
  }
}

void Replay::note(TraceKind kind, std::size_t warp, const char* what, double begin, double end,
                  std::uint64_t object, std::uint64_t bytes) {
  if (trace_ == nullptr || end <= begin) return;
  if (trace_->events.size() >= Trace::kMaxEvents) {
    ++trace_->left_out;
    return;
  }
  const Warp& of = *warps_[warp].warp;
  trace_->events.push_back({kind,
                            {of.cta, 0, 0},
                            of.index,
                            static_cast<std::uint64_t>(begin),
                            static_cast<std::uint64_t>(end),
                            what,
                            nullptr,
                            0,
                            object,
                            bytes});
  trace_->end = std::max(trace_->end, static_cast<std::uint64_t>(end));
}

}  // namespace estoc::emulator
