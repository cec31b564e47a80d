// The replay of a recording: warps that execute, wait and wake in the order of a device's clock.
#pragma once

#include <deque>
#include <queue>
#include <vector>

#include "emulator/timing.h"
#include "emulator/trace.h"

namespace estoc::emulator {

/// How fast the recorded CTAs may load, as shares of a device that all live CTAs use.
struct Shares {
  double l2_per_clock;
  double memory_per_clock;
  double memory_part;  ///< of loaded bytes, those that come from device memory
};

class Replay {
 public:
  Replay(const Recording& recording, const DeviceTiming& device, const Shares& shares,
         Trace* trace);

  /// Clocks until all warps and their stores have ended.
  double run();
  /// Clocks in which the busiest multiprocessor's tensor cores multiplied.
  double tensor_clocks() const;

 private:
  using Warp = Recording::Warp;

  struct Groups {
    std::vector<double> read;  ///< when each committed group has read
    std::vector<double> done;
    double open_read = 0;
    double open_done = 0;
  };
  struct WarpState {
    const Warp* warp = nullptr;
    std::size_t next = 0;
    double loads_done = 0;  ///< of loads to registers, which the next other instruction waits for
    std::size_t product_waits = 0;
    std::size_t cluster_waits = 0;
    double waiting_since = -1;
    Groups bulk;
    Groups copies;
  };
  /// Of a warpgroup; its first warp leads.
  struct Products {
    double open_done = 0;
    std::vector<double> groups;        ///< when each committed group is complete
    std::vector<double> waits_passed;  ///< by the leader
    std::vector<std::size_t> followers;
  };
  struct BarrierState {
    std::int64_t pending = 0;
    std::int64_t bytes = 0;
    std::uint32_t phase = 0;
    std::vector<std::pair<std::uint32_t, std::size_t>> waiting;  ///< phase and warp
  };
  struct NamedState {
    unsigned arrived = 0;
    std::vector<std::size_t> waiting;
  };
  struct ClusterState {
    unsigned arrived = 0;
    std::size_t phase = 0;
    double latest = 0;
    std::vector<std::size_t> waiting;
  };
  /// What the CTAs of a multiprocessor share.
  struct Multiprocessor {
    double schedulers[4] = {};
    double tensor_free = 0;
    double tensor_busy = 0;
    double product_begun = 0;  ///< the latest
    double copied = 0;         ///< when the latest copy to tensor memory is complete
    double written = 0;  ///< clocks of shared memory that copies took and products have not given
    double copies_free = 0;  ///< the engine of bulk copies
    double l2_free = 0;
    double memory_free = 0;
    double link_free = 0;
    double store_free = 0;
    double shared_free = 0;
    double moves_free[4] = {};
  };
  struct Event {
    double time;
    std::uint64_t number;
    bool arrival;
    std::size_t which;  ///< a warp, or a barrier
    std::int64_t count = 0;
    std::int64_t bytes = 0;

    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  void schedule(std::size_t warp, double time);
  void schedule_arrival(std::size_t barrier, double time, std::int64_t count, std::int64_t bytes);
  void step(std::size_t warp, double time);
  /// False where the warp waits and is scheduled by what it waits for; else `time` is when it goes
  /// on.
  bool execute(std::size_t warp, const RecordedOp& op, double& time);
  bool execute_wait(std::size_t warp, const RecordedOp& op, double& time);
  bool execute_product(std::size_t warp, const RecordedOp& op, double& time);
  void execute_tensor(std::size_t warp, const RecordedOp& op, double& time);
  void execute_copy(std::size_t warp, const RecordedOp& op, double& time);
  void execute_bulk(std::size_t warp, const RecordedOp& op, double& time);
  void load(std::size_t warp, const RecordedOp& op, double time);
  /// A product of so many clocks of the tensor cores, and of reading its operands.
  double multiply(Multiprocessor& at, double& done, double clocks, double reads, double time) const;
  void arrive(std::size_t barrier, double time, std::int64_t count, std::int64_t bytes);
  bool meet(NamedState& barrier, std::size_t warp, unsigned count, bool waits, double time);
  void arrive_cluster(ClusterState& cluster, double time);
  void wake(std::vector<std::size_t>& warps, double time);
  void note(TraceKind kind, std::size_t warp, const char* what, double begin, double end,
            std::uint64_t object, std::uint64_t bytes);

  Multiprocessor& multiprocessor(std::size_t warp) { return machines_[machine_of(warp)]; }
  std::size_t machine_of(std::size_t warp) const;
  Products& products_of(std::size_t warp);
  unsigned warps_per_cta() const { return (recording_.threads + 31) / 32; }

  const Recording& recording_;
  const DeviceTiming& device_;
  Shares shares_;
  Trace* trace_;
  std::vector<WarpState> warps_;
  std::vector<Products> products_;
  std::vector<BarrierState> barriers_;
  std::vector<NamedState> named_;
  std::vector<ClusterState> clusters_;
  std::vector<Multiprocessor> machines_;
  std::vector<double> tensor_done_;  ///< of each warp, what it issued to tensor cores
  double link_start_ = 0;            ///< of the latest bulk load, which its copies share
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t numbers_ = 0;
  double end_ = 0;
};

}  // namespace estoc::emulator
