// wgmma: products of a warpgroup, in flight until the wait. They happen when they are issued or
// when they are waited for; until then their accumulators hold NaN.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine.h"
#include "numbers.h"
#include "product.h"
#include "tensor_map.h"

namespace estoc::emulator {
namespace {

using abi::Type;

constexpr u32 kPoison = 0x7fc0dead;
constexpr int kRows = 64;

// The layout of one operand in shared memory, as its descriptor says (PTX ISA 9.7.15.5).
struct Descriptor {
  u32 start;
  u32 leading;
  u32 stride;
  u32 base_offset;
  u32 swizzle;  // as in tensor maps

  explicit Descriptor(u64 bits)
      : start(static_cast<u32>(bits & 0x3fff) << 4),
        leading(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<u32>(bits >> 49 & 7)),
        swizzle(static_cast<u32>(bits >> 62)) {
    // Descriptors number the swizzles from the widest; tensor maps from the narrowest.
    if (swizzle != 0) swizzle = 4 - swizzle;
  }

  u32 width() const { return 16u << swizzle; }

  // Where the 16 bytes of row `outer` (of M or N) that start at byte 16 * chunk of K are.
  u32 k_major(u32 outer, u32 chunk) const {
    const u32 row = start + outer / 8 * stride + outer % 8 * width();
    return swizzle_address(row + chunk * (swizzle == 0 ? leading : 16), swizzle);
  }

  // Where the 8 elements of 16 bits are that start at 8 * chunk of M or N, for one k.
  u32 outer_major(u32 chunk, u32 k) const {
    const u32 per_atom = width() / 16;
    if (swizzle == 0) return start + chunk * stride + k / 8 * leading + k % 8 * 16;
    return swizzle_address(start + chunk / per_atom * leading + k / 8 * stride + k % 8 * width() +
                               chunk % per_atom * 16,
                           swizzle);
  }
};

// One instruction, with what it needs when it happens.
struct Product {
  Type a_type;
  Type b_type;
  bool transpose_a;
  bool transpose_b;
  bool integers;
  bool add;
  int columns;
  u64 a;
  u64 b;
  bool a_in_registers;
  std::vector<u32> a_words;  // 4 of each thread
  Cta* cta;

  int depth() const { return 32 / abi::type_bytes(a_type); }
};

// Calls action(address) for each 16 bytes of an operand of `outer` rows.
template <typename Action>
void for_chunks(const Product& p, bool of_a, int outer, const Action& action) {
  const Descriptor d(of_a ? p.a : p.b);
  if (of_a ? p.transpose_a : p.transpose_b) {
    for (u32 k = 0; k < static_cast<u32>(p.depth()); ++k) {
      for (u32 chunk = 0; chunk < static_cast<u32>(outer) / 8; ++chunk)
        action(d.outer_major(chunk, k), chunk * 8, k, true);
    }
  } else {
    for (u32 row = 0; row < static_cast<u32>(outer); ++row) {
      for (u32 chunk = 0; chunk < 2; ++chunk)
        action(d.k_major(row, chunk), row, chunk * 16 / static_cast<u32>(abi::type_bytes(p.a_type)),
               false);
    }
  }
}

template <typename Value>
Value to_value(Type type, u32 bits) {
  if constexpr (std::is_same_v<Value, float>) {
    return element_value(type, bits);
  } else {
    return type == Type::i8 ? static_cast<u32>(static_cast<i32>(static_cast<i8>(bits)))
                            : bits & 0xff;
  }
}

// The elements of 16 bytes.
template <typename Value>
void convert(Type type, const std::byte* memory, Value (&values)[16]) {
  const auto bytes = static_cast<u32>(abi::type_bytes(type));
  u16 halves[8];
  std::memcpy(halves, memory, 16);
  if constexpr (std::is_same_v<Value, float>) {
    if (type == Type::bf16) {
      for (int i = 0; i < 8; ++i)
        values[i] = bfloat_to_float(halves[i]);
      return;
    }
  }
  for (u32 i = 0; i < 16 / bytes; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, memory + i * bytes, bytes);
    values[i] = to_value<Value>(type, bits);
  }
}

// The operand as numbers, from `to` with one stride for M or N and one for K.
template <typename Value>
void read_operand(const Product& p, bool of_a, int outer, Value* to, std::size_t outer_stride,
                  std::size_t k_stride) {
  const Type type = of_a ? p.a_type : p.b_type;
  const u32 count = 16 / static_cast<u32>(abi::type_bytes(type));
  const std::size_t size = p.cta->storage.size() - 1024;
  for_chunks(p, of_a, outer, [&](u32 address, u32 row, u32 k, bool along_rows) {
    if (address < kSharedBase || address + 16 - kSharedBase > size) return;
    Value values[16];
    convert(type, p.cta->shared + (address - kSharedBase), values);
    Value* place = to + row * outer_stride + k * k_stride;
    const std::size_t step = along_rows ? outer_stride : k_stride;
    for (u32 i = 0; i < count; ++i)
      place[i * step] = values[i];
  });
}

// A from registers: word 2 * h + g of thread t.
template <typename Value>
void read_registers(const Product& p, std::vector<Value>& a) {
  const auto bytes = static_cast<u32>(abi::type_bytes(p.a_type));
  const u32 per_word = 4 / bytes;
  const auto depth = static_cast<u32>(p.depth());
  for (u32 t = 0; t < kGroupThreads; ++t) {
    for (u32 w = 0; w < 4; ++w) {
      const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (w % 2);
      const u32 k = (w / 2 * 4 + t % 4) * per_word;
      for (u32 e = 0; e < per_word; ++e) {
        a[row * depth + k + e] = to_value<Value>(p.a_type, p.a_words[4 * t + w] >> (8 * bytes * e));
      }
    }
  }
}

template <typename Value>
void execute_as(const Product& p, Value* sums) {
  const auto depth = static_cast<std::size_t>(p.depth());
  const auto columns = static_cast<std::size_t>(p.columns);
  std::vector<Value> a(kRows * depth);
  std::vector<Value> b(depth * columns);
  if (p.a_in_registers) {
    read_registers(p, a);
  } else {
    read_operand(p, true, kRows, a.data(), depth, 1);
  }
  read_operand(p, false, p.columns, b.data(), 1, columns);
  if (!p.add) std::fill_n(sums, kRows * columns, Value{});
  multiply(sums, a.data(), b.data(), kRows, p.columns, p.depth());
}

void execute(const Product& p, Accumulators& acc) {
  if (p.integers) {
    execute_as(p, reinterpret_cast<u32*>(acc.values.data()));
  } else {
    execute_as(p, acc.values.data());
  }
}

// Calls action(value, register) for every accumulator: its place in the matrix and in a thread.
template <typename Action>
void for_registers(Accumulators& acc, const Action& action) {
  const auto columns = static_cast<u32>(acc.columns);
  for (u32 t = 0; t < kGroupThreads; ++t) {
    auto* registers = static_cast<float*>(acc.registers[t]);
    float* row = acc.values.data() + (16 * (t / 32) + t % 32 / 4) * columns + t % 4 * 2;
    for (u32 j = 0; j < columns / 8; ++j) {
      action(row[8 * j], registers[4 * j]);
      action(row[8 * j + 1], registers[4 * j + 1]);
      action(row[8 * j + 8 * columns], registers[4 * j + 2]);
      action(row[8 * j + 8 * columns + 1], registers[4 * j + 3]);
    }
  }
}

void check_operand(Thread& thread, const Team& team, const Product& p, bool of_a, u64 epoch,
                   Site site) {
  Machine& m = Machine::current();
  const Descriptor d(of_a ? p.a : p.b);
  const bool transposed = of_a ? p.transpose_a : p.transpose_b;
  const int outer = of_a ? kRows : p.columns;
  if (d.base_offset != 0) {
    m.report(Fault::bad_descriptor, thread, site, d.start,
             "descriptors with a base offset are not modelled: let the pattern start at a multiple "
             "of 1024 bytes");
  }
  Accessor accessor = Accessor::asynchronous(thread, site, false, thread.wgmma->agent, epoch, true);
  const TeamView view{team.members};
  accessor.all = &view;
  for_chunks(p, of_a, outer, [&](u32 address, u32, u32, bool) {
    SharedPlace place{};
    if (locate_shared(thread, address, 16, site, place)) {
      touch_shared(accessor, *p.cta, place.offset, 16);
    }
  });
  if (!transposed && d.swizzle == 0 && d.leading == 0) {
    m.report(Fault::bad_descriptor, thread, site, d.start,
             "without a swizzle the leading offset, from 16 bytes of K to the next, is not 0");
  }
}

Product product_of(const WgmmaOperands& o, Team& team) {
  Product p{o.a_type,
            o.b_type,
            o.transpose_a,
            o.transpose_b,
            o.integers,
            o.add,
            o.columns,
            o.a,
            o.b,
            o.a_registers != nullptr,
            {},
            team.members[0]->cta};
  if (p.a_in_registers) {
    for (void* operands : team.operands) {
      const u32* words = static_cast<WgmmaOperands*>(operands)->a_registers;
      p.a_words.insert(p.a_words.end(), words, words + 4);
    }
  }
  return p;
}

void check_agreement(Team& team, Site site) {
  const auto& first = *static_cast<WgmmaOperands*>(team.operands[0]);
  for (std::size_t i = 1; i < team.operands.size(); ++i) {
    const auto& other = *static_cast<WgmmaOperands*>(team.operands[i]);
    if (other.a == first.a && other.b == first.b && other.add == first.add &&
        other.columns == first.columns) {
      continue;
    }
    Machine::current().report(Fault::divergent, *team.members[i], site, 0,
                              "the descriptors or the scale differ between threads of the "
                              "warpgroup: they must be the same in all");
    return;
  }
}

// Takes the accumulators out of the threads' registers.
Accumulators& take_registers(WgmmaState& state, Team& team, const WgmmaOperands& first,
                             bool needs_fence, Site site) {
  Machine& m = Machine::current();
  Accumulators& acc = state.in_flight[first.acc];
  acc.columns = first.columns;
  acc.integers = first.integers;
  for (void* operands : team.operands)
    acc.registers.push_back(static_cast<WgmmaOperands*>(operands)->acc);
  acc.values.resize(static_cast<unsigned>(kRows * first.columns));
  for_registers(acc, [](float& value, float& slot) { std::memcpy(&value, &slot, 4); });
  const auto before = state.last_written.find(first.acc);
  const bool untouched =
      before != state.last_written.end() &&
      std::equal(before->second.begin(), before->second.end(), acc.values.begin(), acc.values.end(),
                 [](float x, float y) { return std::bit_cast<u32>(x) == std::bit_cast<u32>(y); });
  if (!state.fenced && (needs_fence || !untouched)) {
    m.report(Fault::missing_wgmma_fence, *team.members[0], site, 0,
             "registers of this wgmma were accessed since the last wgmma_fence(): call it before "
             "the first wgmma_mma_async and again after other instructions used the accumulators");
  }
  if (m.checks()) {
    for_registers(acc, [](float&, float& slot) { std::memcpy(&slot, &kPoison, 4); });
  }
  return acc;
}

void check_poison(Accumulators& acc, Team& team, Site site) {
  if (!Machine::current().checks()) return;
  bool intact = true;
  for_registers(acc, [&](float&, float& slot) {
    intact = intact && std::memcmp(&slot, &kPoison, 4) == 0;
    std::memcpy(&slot, &kPoison, 4);
  });
  if (intact) return;
  Machine::current().report(Fault::accumulator_in_flight, *team.members[0], site, 0,
                            "accumulators were written while a wgmma that has them is in flight: "
                            "call wgmma_wait_group first");
}

void issue(Team& team, Site site) {
  Machine& m = Machine::current();
  Thread& thread = *team.members[0];
  WgmmaState& state = *thread.wgmma;
  ++m.statistics().wgmma;
  if (team.members.size() != kGroupThreads) {
    m.report(Fault::divergent, thread, site, 0, "wgmma needs a warpgroup of 128 threads");
    return;
  }
  check_agreement(team, site);
  const auto& first = *static_cast<WgmmaOperands*>(team.operands[0]);
  const u64 epoch = state.committed + 1;
  Product p = product_of(first, team);
  if (!p.a_in_registers) check_operand(thread, team, p, true, epoch, site);
  check_operand(thread, team, p, false, epoch, site);
  const auto found = state.in_flight.find(first.acc);
  if (found != state.in_flight.end()) {
    check_poison(found->second, team, site);
  } else {
    take_registers(state, team, first, p.a_in_registers, site);
  }
  Accumulators& acc = state.in_flight[first.acc];
  acc.last_group = epoch;
  if (const u64 event = m.trace_begin(TraceKind::wgmma, thread, site, "wgmma", 0, 0)) {
    state.traced.emplace_back(epoch, event);
  }
  if (m.options().schedule == Schedule::eager ||
      (m.options().schedule == Schedule::random && m.draw(2) && state.queue.empty())) {
    execute(p, acc);
  } else {
    state.queue.emplace_back(epoch, [p = std::move(p), &acc] { execute(p, acc); });
  }
}

void finish(Team& team, u32 groups) {
  WgmmaState& state = *team.members[0]->wgmma;
  const u64 done = state.committed > groups ? state.committed - groups : 0;
  while (!state.queue.empty() && state.queue.front().first <= done) {
    state.queue.front().second();
    state.queue.pop_front();
  }
  for (; !state.traced.empty() && state.traced.front().first <= done; state.traced.pop_front())
    Machine::current().trace_end(state.traced.front().second);
  for (auto it = state.in_flight.begin(); it != state.in_flight.end();) {
    Accumulators& acc = it->second;
    if (acc.last_group > done) {
      ++it;
      continue;
    }
    for_registers(acc, [](float& value, float& slot) { std::memcpy(&slot, &value, 4); });
    state.last_written[it->first] = std::move(acc.values);
    state.fenced = false;
    it = state.in_flight.erase(it);
  }
  if (!Machine::current().checks()) return;
  for (Thread* member : team.members)
    member->known.seen.raise(state.agent, static_cast<u32>(done));
}

}  // namespace

void wgmma(const WgmmaOperands& operands, Site site) {
  Thread& thread = Machine::self();
  WgmmaOperands mine = operands;
  together(*thread.group, thread, "wgmma.mma_async", site, &mine,
           [site](Team& team) { issue(team, site); });
}

void wgmma_fence(Site site) {
  Thread& thread = Machine::self();
  together(*thread.group, thread, "wgmma.fence", site, nullptr,
           [](Team& team) { team.members[0]->wgmma->fenced = true; });
}

void wgmma_commit(Site site) {
  Thread& thread = Machine::self();
  together(*thread.group, thread, "wgmma.commit_group", site, nullptr,
           [](Team& team) { ++team.members[0]->wgmma->committed; });
}

void wgmma_wait(u32 groups, Site site) {
  Thread& thread = Machine::self();
  together(*thread.group, thread, "wgmma.wait_group", site, nullptr,
           [groups](Team& team) { finish(team, groups); });
}

void accumulators_used(void* acc, Site site) {
  Thread& thread = Machine::self();
  const std::size_t index = thread.place.tid % kGroupThreads;
  for (const auto& [key, in_flight] : thread.wgmma->in_flight) {
    if (in_flight.registers[index] != acc) continue;
    Machine::current().report(Fault::accumulator_in_flight, thread, site, 0,
                              "accumulators are used while a wgmma that has them is in flight: "
                              "call wgmma_commit_group and wgmma_wait_group first");
  }
}

}  // namespace estoc::emulator
