// Copies between global and shared memory that go on while threads do other things.
#include <fmt/core.h>

#include <cstring>

#include "numbers.h"
#include "tensor_memory.h"
#include "tma_box.h"

namespace estoc::emulator {
namespace {

void check_source(Thread& thread, const Box& box, Site site, bool write, u32 agent, u64 epoch) {
  for (u32 row = 0; row < box.rows; ++row) {
    for_row(
        box, row, write ? kStoreChunk : 1,
        [&](u32, u64 address, u32 bytes) {
          touch_global(Accessor::asynchronous(thread, site, write, agent, epoch, true), address,
                       bytes);
        },
        [](u32, u32) {});
  }
}

// Padding of whole chunks, wherever a swizzle puts them, is there and holds nothing.
void forget_padding(Cta& cta, u32 offset, u32 bytes, const MapUnit& unit) {
  if (!Machine::current().checks()) return;
  for (u32 cell = offset / 16; cell < (offset + bytes) / 16; ++cell) {
    u16& initialised = cta.cells[cell].initialised;
    initialised = static_cast<u16>(initialised & ((1u << unit.bytes) - 1));
  }
}

// What arrives at one CTA, which tells a barrier of `signalled`: writes are entered when the copy
// is issued, under the issuer's clock.
void load_into(Thread& thread, Cta& cta, Cta& signalled, u32 offset, u32 bytes, u32 barrier_address,
               Site site, const std::shared_ptr<std::vector<std::byte>>& data,
               const std::function<void(std::vector<std::byte>&)>& fetch, u32 swizzle,
               const MapUnit& unit = {1, 1, 1}) {
  Machine& m = Machine::current();
  const auto found = signalled.mbarriers.find(barrier_address);
  if (found == signalled.mbarriers.end() || !found->second.valid) {
    m.report(Fault::barrier_misuse, thread, site, barrier_address,
             "the copy's mbarrier is not initialised");
    return;
  }
  Mbarrier& barrier = found->second;
  check_init_fence(thread, barrier, barrier_address, site);
  const u32 epoch = barrier.phase + 1;
  const u32 shared_bytes = bytes / unit.bytes * unit.shared_bytes;
  touch_shared(Accessor::asynchronous(thread, site, true, barrier.agent, epoch, true), cta, offset,
               shared_bytes);
  if (unit.is_padded()) forget_padding(cta, offset, shared_bytes, unit);
  const u64 event =
      m.trace_begin(TraceKind::tma_load, thread, site, "TMA load", barrier_address, bytes);
  m.defer({cta.cluster, &thread, site, kSharedBase + offset, [=, &cta, &barrier] {
             if (data->empty()) {
               data->resize(bytes);
               fetch(*data);
             }
             if (cta.storage.empty()) {
             } else if (unit.is_padded()) {
               pad_swizzled(cta.shared, kSharedBase + offset, data->data(), bytes, swizzle, unit);
             } else {
               copy_swizzled(cta.shared, kSharedBase + offset, data->data(), bytes, swizzle, true);
             }
             complete_bytes(barrier, bytes, epoch);
             Machine::current().trace_end(event);
           }});
}

}  // namespace

void deliver(Thread& thread, Cta& cta, u32 offset, std::vector<std::byte> bytes, u32 barrier,
             Site site) {
  const auto count = static_cast<u32>(bytes.size());
  const auto data = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  load_into(thread, cta, cta, offset, count, barrier, site, data, {}, 0);
}

void prefetch_tensormap(const TensorMap& map, Site site) {
  EncodedMap encoded{};
  std::memcpy(&encoded, &map, sizeof(encoded));
  if (encoded.magic != kMapMagic) {
    Machine::current().report(Fault::bad_descriptor, Machine::self(), site, 0,
                              "this is no tensor map");
  }
}

namespace {

// The CTA whose barrier a copy into `cta` signals: `cta`, or the even one of its pair.
Cta& signalled_by(Cta& cta, bool pair) {
  return pair ? *cta.cluster->ctas[cta.rank & ~1u] : cta;
}

void load_box(u32 shared, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas,
              bool pair, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  Box box{};
  SharedPlace to{};
  SharedPlace signal{};
  if (!decode_box(thread, map, at, rank, site, box) ||
      !locate_shared(thread, shared, box.shared_bytes(), site, to) ||
      !locate_shared(thread, barrier, 8, site, signal)) {
    return;
  }
  check_shared_alignment(thread, box, shared, site);
  ++m.statistics().tma_loads;
  if (pair) signal.cta = &signalled_by(*thread.cta, true);
  if (const auto found = signal.cta->mbarriers.find(kSharedBase + signal.offset);
      found != signal.cta->mbarriers.end()) {
    check_source(thread, box, site, false, found->second.agent, found->second.phase + 1);
  }
  const auto data = std::make_shared<std::vector<std::byte>>();
  const auto fetch = [box](std::vector<std::byte>& into) {
    for (u32 row = 0; row < box.rows; ++row) {
      for_row(
          box, row, 1,
          [&](u32 offset, u64 address, u32 bytes) {
            if (Machine::current().has_allocations() &&
                Machine::current().find_allocation(address, bytes) == nullptr) {
              return;
            }
            std::memcpy(into.data() + offset, host_pointer(address), bytes);
            if (box.map.type == MapType::tf32 || box.map.type == MapType::tf32_ftz) {
              round_to_tf32(into.data() + offset, bytes);
            }
          },
          [&](u32 offset, u32 bytes) { fill_outside(box, into.data() + offset, bytes); });
    }
  };
  Cluster& cluster = *thread.cta->cluster;
  if (ctas == 0) {
    load_into(thread, *to.cta, signalled_by(*to.cta, pair), to.offset, box.bytes(),
              kSharedBase + signal.offset, site, data, fetch, box.map.swizzle, box.unit);
    return;
  }
  for (u32 rank_in_cluster = 0; rank_in_cluster < 16; ++rank_in_cluster) {
    if ((ctas >> rank_in_cluster & 1) == 0) continue;
    if (rank_in_cluster >= cluster.ctas.size()) {
      m.report(
          Fault::out_of_bounds, thread, site, shared,
          fmt::format("multicast to CTA {}, which the cluster does not have", rank_in_cluster));
      continue;
    }
    Cta& cta = *cluster.ctas[rank_in_cluster];
    load_into(thread, cta, signalled_by(cta, pair), to.offset, box.bytes(),
              kSharedBase + signal.offset, site, data, fetch, box.map.swizzle, box.unit);
  }
}

}  // namespace

void tma_load(u32 shared, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas,
              Site site) {
  load_box(shared, map, barrier, at, rank, ctas, false, site);
}

void tma_load_pair(u32 shared, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas,
                   Site site) {
  Thread& thread = Machine::self();
  if (!check_tensor_group(thread, 2, false, "a bulk copy", site)) return;
  load_box(shared, map, barrier, at, rank, ctas, true, site);
}

void bulk_load(u32 shared, u64 global, u32 bytes, u32 barrier, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  SharedPlace to{};
  SharedPlace signal{};
  if (!locate_shared(thread, shared, bytes, site, to) ||
      !locate_shared(thread, barrier, 8, site, signal)) {
    return;
  }
  if (shared % 16 != 0 || global % 16 != 0 || bytes % 16 != 0) {
    m.report(Fault::misaligned, thread, site, global,
             "a bulk copy moves multiples of 16 bytes at such addresses");
  }
  ++m.statistics().tma_loads;
  const bool exists =
      touch_global(Accessor::asynchronous(thread, site, false, thread.bulk_agent(false),
                                          thread.bulk.committed + 1, true),
                   global, bytes);
  const auto fetch = [=](std::vector<std::byte>& into) {
    if (exists) std::memcpy(into.data(), host_pointer(global), bytes);
  };
  load_into(thread, *to.cta, *to.cta, to.offset, bytes, kSharedBase + signal.offset, site,
            std::make_shared<std::vector<std::byte>>(), fetch, 0);
}

namespace {

// Enters a store into the thread's open bulk group: it reads now or later, and writes after that.
void open_store(Thread& thread, Site site, u32 shared, u32 bytes, std::function<void()> read,
                std::function<void()> write) {
  thread.bulk.open.latest = site;
  thread.bulk.open.shared = shared;
  if (const u64 event = Machine::current().trace_begin(TraceKind::tma_store, thread, site,
                                                       "TMA store", 0, bytes)) {
    write = [write = std::move(write), event] {
      write();
      Machine::current().trace_end(event);
    };
  }
  if (Machine::current().options().schedule == Schedule::eager) {
    read();
    thread.bulk.open.read.emplace_back([] {});
  } else {
    thread.bulk.open.read.push_back(std::move(read));
  }
  thread.bulk.open.write.push_back(std::move(write));
}

void add_elements(MapType type, std::byte* to, const std::byte* from, u32 bytes) {
  for (u32 i = 0; i < bytes; i += map_unit(type).bytes)
    add_element(type, to + i, from + i);
}

}  // namespace

void tma_store(const TensorMap& map, u32 shared, const i32* at, int rank, bool adds, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  Box box{};
  SharedPlace from{};
  if (!decode_box(thread, map, at, rank, site, box) || !begins_inside(thread, box, site) ||
      !locate_shared(thread, shared, box.bytes(), site, from)) {
    return;
  }
  if (box.unit.is_padded() || (adds && box.unit.elements > 1)) {
    m.report(Fault::bad_descriptor, thread, site, shared,
             adds ? "elements of fewer than 8 bits are not added"
                  : "a map of padded elements is for loads; stores of 6 bits are not modelled");
    return;
  }
  check_shared_alignment(thread, box, shared, site);
  ++m.statistics().tma_stores;
  const u64 epoch = thread.bulk.committed + 1;
  touch_shared(Accessor::asynchronous(thread, site, false, thread.bulk_agent(false), epoch, true),
               *from.cta, from.offset, box.bytes());
  if (!adds) check_source(thread, box, site, true, thread.bulk_agent(true), epoch);
  const auto data = std::make_shared<std::vector<std::byte>>(box.bytes());
  Cta* cta = from.cta;
  open_store(
      thread, site, shared, box.bytes(),
      [=] {
        copy_swizzled(cta->shared, kSharedBase + from.offset, data->data(), box.bytes(),
                      box.map.swizzle, false);
      },
      [=] {
        for (u32 row = 0; row < box.rows; ++row) {
          for_row(
              box, row, adds ? 1 : kStoreChunk,
              [&](u32 offset, u64 address, u32 bytes) {
                if (Machine::current().has_allocations() &&
                    Machine::current().find_allocation(address, bytes) == nullptr) {
                  return;
                }
                std::byte* there = host_pointer(address);
                if (adds) {
                  Machine::current().mark_written(address, bytes);
                  add_elements(box.map.type, there, data->data() + offset, bytes);
                } else {
                  std::memcpy(there, data->data() + offset, bytes);
                }
              },
              [](u32, u32) {});
        }
      });
}

void bulk_store(u64 global, u32 shared, u32 bytes, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  SharedPlace from{};
  if (!locate_shared(thread, shared, bytes, site, from)) return;
  if (shared % 16 != 0 || global % 16 != 0 || bytes % 16 != 0) {
    m.report(Fault::misaligned, thread, site, global,
             "a bulk copy moves multiples of 16 bytes at such addresses");
  }
  ++m.statistics().tma_stores;
  const u64 epoch = thread.bulk.committed + 1;
  touch_shared(Accessor::asynchronous(thread, site, false, thread.bulk_agent(false), epoch, true),
               *from.cta, from.offset, bytes);
  if (!touch_global(
          Accessor::asynchronous(thread, site, true, thread.bulk_agent(true), epoch, true), global,
          bytes)) {
    return;
  }
  const auto data = std::make_shared<std::vector<std::byte>>(bytes);
  Cta* cta = from.cta;
  open_store(
      thread, site, shared, bytes,
      [=] { std::memcpy(data->data(), cta->shared + from.offset, bytes); },
      [=] { std::memcpy(host_pointer(global), data->data(), bytes); });
}

namespace {

void commit(CopyState& state) {
  state.groups.push_back(std::move(state.open));
  state.open = {};
  ++state.committed;
}

void read_group(CopyGroup& group) {
  if (group.read_done) return;
  for (auto& operation : group.read)
    operation();
  group.read_done = true;
}

void finish_group(CopyGroup& group) {
  read_group(group);
  for (auto& operation : group.write)
    operation();
  Machine::current().trace_end(group.traced);
}

// All but the latest `left` groups have read, or are complete.
void advance(Thread& thread, CopyState& state, u64 left, bool reads_only) {
  const u64 done = state.committed > left ? state.committed - left : 0;
  if (reads_only) {
    const u64 first = state.complete;
    for (u64 group = first; group < done; ++group)
      read_group(state.groups[group - first]);
  } else {
    const u64 finished = done > state.complete ? done - state.complete : 0;
    for (u64 i = 0; i < finished; ++i)
      finish_group(state.groups[i]);
    state.groups.erase(state.groups.begin(),
                       state.groups.begin() + static_cast<std::ptrdiff_t>(finished));
    state.complete += finished;
  }
  state.read_complete = std::max(state.read_complete, done);
  if (!Machine::current().checks()) return;
  if (state.read_agent != 0) {
    thread.known.seen.raise(state.read_agent, static_cast<u32>(state.read_complete));
  }
  if (state.write_agent != 0) {
    thread.known.seen.raise(state.write_agent, static_cast<u32>(state.complete));
  }
}

}  // namespace

u32 Thread::bulk_agent(bool writes) {
  u32& known_agent = writes ? bulk.write_agent : bulk.read_agent;
  if (known_agent == 0) known_agent = cta->cluster->new_agent();
  return known_agent;
}

void bulk_commit(Site /*site*/) {
  commit(Machine::self().bulk);
}

void bulk_wait(u32 groups, bool reads_only, Site site) {
  Thread& thread = Machine::self();
  thread.wait.site = site;
  advance(thread, thread.bulk, groups, reads_only);
  Machine::current().maybe_yield(thread);
}

void cp_async(u32 shared, u64 global, u32 bytes, u32 source_bytes, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  SharedPlace to{};
  if (!locate_shared(thread, shared, bytes, site, to)) return;
  if (shared % bytes != 0 || (global % bytes != 0 && source_bytes != 0)) {
    m.report(
        Fault::misaligned, thread, site, shared % bytes != 0 ? shared : global,
        fmt::format("cp.async of {} bytes needs addresses that are multiples of {}", bytes, bytes));
  }
  if (source_bytes > bytes) {
    m.report(Fault::out_of_bounds, thread, site, global,
             fmt::format("cp.async of {} bytes cannot read {}", bytes, source_bytes));
    source_bytes = bytes;
  }
  ++m.statistics().cp_async;
  CopyState& state = thread.copies;
  state.open.latest = site;
  state.open.shared = shared;
  if (state.write_agent == 0) state.write_agent = thread.cta->cluster->new_agent();
  const bool exists = touch_global(Accessor::generic(thread, site, false), global, source_bytes);
  touch_shared(
      Accessor::asynchronous(thread, site, true, state.write_agent, state.committed + 1, false),
      *to.cta, to.offset, bytes);
  auto copy = [=, cta = to.cta] {
    std::byte* there = cta->shared + to.offset;
    std::memset(there, 0, bytes);
    if (exists) std::memcpy(there, host_pointer(global), source_bytes);
  };
  if (m.options().schedule == Schedule::eager) {
    copy();
    state.open.write.emplace_back([] {});
  } else {
    state.open.write.emplace_back(std::move(copy));
  }
}

void cp_async_commit(Site site) {
  Thread& thread = Machine::self();
  commit(thread.copies);
  if (thread.lane != 0) return;
  thread.copies.groups.back().traced =
      Machine::current().trace_begin(TraceKind::cp_async, thread, site, "cp.async group", 0, 0);
}

void cp_async_wait(u32 groups, const char* what, Site site) {
  Thread& thread = Machine::self();
  thread.wait.site = site;
  thread.wait.what = what;
  if (std::strcmp(what, "cp.async.wait_all") == 0) commit(thread.copies);
  advance(thread, thread.copies, groups, false);
  Machine::current().maybe_yield(thread);
}

void cp_async_mbarrier_arrive(u32 barrier, Site site) {
  Thread& thread = Machine::self();
  commit(thread.copies);
  // Whoever waits sees the copies; the thread itself would have to wait as well.
  const Knowledge before = thread.known;
  advance(thread, thread.copies, 0, false);
  mbarrier_arrive(barrier, site);
  thread.known = before;
}

}  // namespace estoc::emulator
