// Copies between global and shared memory that go on while threads do other things.
#include <fmt/core.h>

#include <array>
#include <cstring>

#include "machine.h"
#include "numbers.h"
#include "tensor_map.h"
#include "tensor_memory.h"

namespace estoc::emulator {
namespace {

// A box of a tensor: rows of bytes that lie together in global memory and in shared memory. Of a
// mode whose element stride is s, every s-th element of the box is copied; there is none for the
// innermost.
struct Box {
  EncodedMap map;
  std::array<u32, 5> counts{};
  std::array<i64, 5> at{};
  u32 element;
  u32 row_bytes;
  u32 rows;

  u32 bytes() const { return row_bytes * rows; }

  // First coordinate of row `row`, and whether all but the innermost mode lie inside.
  bool row_origin(u32 row, std::array<i64, 5>& point) const {
    bool inside = true;
    point = at;
    for (u32 mode = 1; mode < map.rank; ++mode) {
      point[mode] += i64{row % counts[mode]} * map.element_strides[mode];
      row /= counts[mode];
      inside = inside && point[mode] >= 0 && point[mode] <= i64{map.last[mode]};
    }
    return inside;
  }

  u64 address_of(const std::array<i64, 5>& point) const {
    i64 offset = point[0] * i64{element};
    for (u32 mode = 1; mode < map.rank; ++mode)
      offset += point[mode] * static_cast<i64>(map.strides[mode - 1]);
    return map.address + static_cast<u64>(offset);
  }
};

bool decode(Thread& thread, const TensorMap& map, const i32* at, int rank, Site site, Box& box) {
  Machine& m = Machine::current();
  std::memcpy(&box.map, &map, sizeof(box.map));
  if (box.map.magic != kMapMagic || box.map.rank != rank) {
    m.report(Fault::bad_descriptor, thread, site, 0,
             box.map.magic != kMapMagic
                 ? "the tensor map was not encoded by encode_tiled of the emulator"
                 : fmt::format("{} coordinates for a tensor map of rank {}", rank, box.map.rank));
    return false;
  }
  box.element = element_bytes(box.map.type);
  box.row_bytes = box.map.box[0] * box.element;
  box.rows = 1;
  for (u32 mode = 1; mode < box.map.rank; ++mode) {
    const u32 step = box.map.element_strides[mode];
    box.counts[mode] = (box.map.box[mode] + step - 1) / step;
    box.rows *= box.counts[mode];
  }
  for (int i = 0; i < rank; ++i)
    box.at[static_cast<std::size_t>(i)] = at[i];
  // Elsewhere a Hopper GPU stops with an illegal instruction.
  if (box.at[0] * i64{box.element} % 16 != 0) {
    m.report(Fault::misaligned, thread, site, box.address_of(box.at),
             fmt::format("the first coordinate of a box of TMA is a whole number of 16 bytes, here "
                         "it is {}, of {} bytes each",
                         at[0], box.element));
  }
  return true;
}

// Loads may begin before the tensor, and any box may end after it; a store that begins before it
// stops an H200 with an illegal instruction.
bool begins_inside(Thread& thread, const Box& box, Site site) {
  for (u32 mode = 0; mode < box.map.rank; ++mode) {
    if (box.at[mode] >= 0) continue;
    Machine::current().report(
        Fault::out_of_bounds, thread, site, box.address_of(box.at),
        fmt::format("a box that TMA stores begins in its tensor, here {} before it in mode {}",
                    -box.at[mode], mode));
    return false;
  }
  return true;
}

void check_shared_alignment(Thread& thread, const Box& box, u32 shared, Site site) {
  const u32 need = box.map.swizzle == 0 ? 128u : 128u << box.map.swizzle;
  // A swizzled box may start at any row of its pattern, but what reads it counts rows from its
  // start.
  if (shared % 128 != 0) {
    Machine::current().report(Fault::misaligned, thread, site, shared,
                              fmt::format("a box of TMA is aligned to 128 bytes in shared memory, "
                                          "here to {} for its swizzle",
                                          need));
  }
}

// An H200 stores the last elements of a row in whole chunks, beyond the tensor's extent where that
// is no multiple of one; loads stop at the element, and are taken to.
constexpr i64 kStoreChunk = 16;

// Calls action(shared offset within the box, global address, bytes) for the parts of row `row` that
// exist, and fill(offset, bytes) for those outside the tensor, whose rows end with a whole chunk.
template <typename Action, typename Fill>
void for_row(const Box& box, u32 row, i64 chunk, const Action& action, const Fill& fill) {
  std::array<i64, 5> point{};
  const u32 offset = row * box.row_bytes;
  if (!box.row_origin(row, point)) {
    fill(offset, box.row_bytes);
    return;
  }
  const i64 begin = point[0] * box.element;
  const i64 end = ((i64{box.map.last[0]} + 1) * box.element + chunk - 1) / chunk * chunk;
  const i64 first = std::clamp<i64>(-begin, 0, box.row_bytes);
  const i64 last = std::clamp<i64>(end - begin, first, box.row_bytes);
  point[0] += first / box.element;
  if (first > 0) fill(offset, static_cast<u32>(first));
  if (last > first) {
    action(offset + static_cast<u32>(first), box.address_of(point), static_cast<u32>(last - first));
  }
  if (last < box.row_bytes) {
    fill(offset + static_cast<u32>(last), static_cast<u32>(box.row_bytes - last));
  }
}

// Copies between a plain buffer and swizzled shared memory, in pieces that stay together.
void copy_swizzled(std::byte* shared, u32 base, u32 offset, std::byte* plain, u32 bytes, u32 mode,
                   bool to_shared) {
  while (bytes > 0) {
    const u32 place = base + offset;
    if (place % 16 == 0 && bytes >= 16) {
      std::byte* there = shared + (swizzle_address(place, mode) - kSharedBase);
      std::memcpy(to_shared ? there : plain, to_shared ? plain : there, 16);
      offset += 16;
      plain += 16;
      bytes -= 16;
      continue;
    }
    const u32 piece = std::min(bytes, 16 - place % 16);
    std::byte* there = shared + (swizzle_address(place, mode) - kSharedBase);
    if (to_shared) {
      std::memcpy(there, plain, piece);
    } else {
      std::memcpy(plain, there, piece);
    }
    offset += piece;
    plain += piece;
    bytes -= piece;
  }
}

void fill_value(const Box& box, std::byte* to, u32 bytes) {
  std::memset(to, 0, bytes);
  if (box.map.nan_fill == 0) return;
  // What an H200 fills with, of all types.
  constexpr u16 kNan = 0x7ff7;
  for (u32 i = 0; i < bytes; i += sizeof(kNan))
    std::memcpy(to + i, &kNan, sizeof(kNan));
}

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

// What arrives at one CTA, which tells a barrier of `signalled`: writes are entered when the copy
// is issued, under the issuer's clock.
void load_into(Thread& thread, Cta& cta, Cta& signalled, u32 offset, u32 bytes, u32 barrier_address,
               Site site, const std::shared_ptr<std::vector<std::byte>>& data,
               const std::function<void(std::vector<std::byte>&)>& fetch, u32 swizzle) {
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
  touch_shared(Accessor::asynchronous(thread, site, true, barrier.agent, epoch, true), cta, offset,
               bytes);
  const u64 event =
      m.trace_begin(TraceKind::tma_load, thread, site, "TMA load", barrier_address, bytes);
  m.defer({cta.cluster, &thread, site, kSharedBase + offset, [=, &cta, &barrier] {
             if (data->empty()) {
               data->resize(bytes);
               fetch(*data);
             }
             if (!cta.storage.empty()) {
               copy_swizzled(cta.shared, kSharedBase + offset, 0, data->data(), bytes, swizzle,
                             true);
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
  if (!decode(thread, map, at, rank, site, box) ||
      !locate_shared(thread, shared, box.bytes(), site, to) ||
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
          [&](u32 offset, u32 bytes) { fill_value(box, into.data() + offset, bytes); });
    }
  };
  Cluster& cluster = *thread.cta->cluster;
  if (ctas == 0) {
    load_into(thread, *to.cta, signalled_by(*to.cta, pair), to.offset, box.bytes(),
              kSharedBase + signal.offset, site, data, fetch, box.map.swizzle);
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
              kSharedBase + signal.offset, site, data, fetch, box.map.swizzle);
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
  for (u32 i = 0; i < bytes; i += element_bytes(type))
    add_element(type, to + i, from + i);
}

}  // namespace

void tma_store(const TensorMap& map, u32 shared, const i32* at, int rank, bool adds, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  Box box{};
  SharedPlace from{};
  if (!decode(thread, map, at, rank, site, box) || !begins_inside(thread, box, site) ||
      !locate_shared(thread, shared, box.bytes(), site, from)) {
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
        copy_swizzled(cta->shared, kSharedBase + from.offset, 0, data->data(), box.bytes(),
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
