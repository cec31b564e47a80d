// tcgen05.cp and shift: what a thread has copied to tensor memory, or moved there, in the order of
// its pipe.
#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "tensor_product.h"
#include "wgmma_product.h"

namespace estoc::emulator {
namespace {

constexpr u32 kQuarterLanes = 32;

u32 first_column(u32 address) {
  return address & 0xffff;
}

u32 first_lane(u32 address) {
  return address >> 16;
}

// The row that a lane gets.
std::optional<u32> row_of(const TensorCopy& copy, u32 lane) {
  switch (copy.rows) {
    case TensorRows::all:
      return lane;
    case TensorRows::four:
      if (lane % kQuarterLanes != first_lane(copy.address)) return std::nullopt;
      return lane / kQuarterLanes;
    case TensorRows::twice_02_13:
      return lane % 64;
    case TensorRows::twice_01_23:
      return lane % kQuarterLanes + lane / 64 * kQuarterLanes;
    default:
      return lane % kQuarterLanes;
  }
}

// Groups of eight lanes that are written.
u16 lanes_of(const TensorCopy& copy) {
  if (copy.rows != TensorRows::four) return 0xffff;
  return static_cast<u16>(0x1111 << first_lane(copy.address) / 8);
}

u32 source_bits(const TensorCopy& copy) {
  return copy.source == abi::TensorSource::bytes     ? 8
         : copy.source == abi::TensorSource::packed4 ? 4
                                                     : 6;
}

// 16 bytes of tensor memory from 16 of shared memory.
void copy_chunk(const TensorCopy& copy, const std::byte* from, u32* to) {
  const u32 bits = source_bits(copy);
  if (bits == 8) {
    std::memcpy(to, from, 16);
    return;
  }
  u8 codes[16];
  unpack_small(from, bits, codes);
  for (u8& code : codes)
    code = static_cast<u8>(bits == 4 ? code << 2 : code);
  std::memcpy(to, codes, sizeof(codes));
}

// Copies rows of 16 or 32 bytes within one CTA.
void copy_rows(const TensorCopy& copy, Cta& cta) {
  const TensorDescriptor from(copy.from);
  TensorMemory& memory = tensor_memory(cta);
  const std::size_t size = cta.storage.size() - 1024;
  for (u32 lane = 0; lane < kTensorLanes; ++lane) {
    const std::optional<u32> row = row_of(copy, lane);
    for (u32 chunk = 0; row && chunk < copy.chunks; ++chunk) {
      const u32 offset = from.k_major(*row, chunk) - kSharedBase;
      if (offset + 16 > size) continue;
      copy_chunk(copy, cta.shared + offset,
                 memory.row(lane) + first_column(copy.address) + 4 * chunk);
    }
  }
}

bool enter_copy(Thread& thread, const TensorCopy& copy, TensorPipe& pipe, Cta& cta, Site site) {
  TensorMemory& memory = tensor_memory(cta);
  const u32 column = first_column(copy.address);
  const u32 columns = 4 * copy.chunks;
  if (!check_tensor_columns(thread, memory, column, columns, site)) return false;
  const TensorDescriptor from(copy.from);
  Accessor accessor =
      Accessor::asynchronous(thread, site, false, pipe.copy_agent, pipe.epoch, true);
  const std::vector<Thread*> alone{&thread};
  const TeamView team{alone};
  accessor.all = &team;
  std::array<u32, kMaxChunks> addresses;
  u32 count = 0;
  for (u32 row = 0; row < copy.row_count(); ++row) {
    for (u32 chunk = 0; chunk < copy.chunks; ++chunk)
      addresses[count++] = from.k_major(row, chunk);
  }
  touch_chunks(accessor, cta, addresses.data(), count,
               static_cast<u16>((1u << 2 * source_bits(copy)) - 1));
  // A product that reads what is copied over may still be under way: no document orders the two.
  TensorView view{alone, &tensor_warp(thread), &pipe};
  view.after_shifts = copy.rows == TensorRows::four;
  touch_tensor({thread, site, pipe.copy_agent, 0, pipe.epoch, true}, view, memory,
               {column, columns, lanes_of(copy)});
  visit_cta(thread, cta, pipe.copy_agent, pipe.epoch, site);
  return true;
}

bool check_copy(Thread& thread, const TensorCopy& copy, Site site) {
  const TensorDescriptor from(copy.from);
  const char* wrong = nullptr;
  if ((from.bits >> 46 & 7) != 1) wrong = "its bits 46 to 48 are not 001";
  if (from.swizzle != abi::Tcgen05Swizzle::none) wrong = "swizzled copies are not modelled";
  if (copy.chunks > 1 && from.leading == 0) {
    wrong = "the leading offset, from 16 bytes of a row to the next, is not 0";
  }
  if (wrong != nullptr) {
    Machine::current().report(
        Fault::bad_descriptor, thread, site, copy.from,
        fmt::format("the descriptor of tcgen05.cp is {:#x}: {}", copy.from, wrong));
  }
  const u32 lane = first_lane(copy.address);
  const bool one_of_each = copy.rows == TensorRows::four;
  if (lane >= (one_of_each ? kQuarterLanes : 1)) {
    Machine::current().report(
        Fault::tensor_memory, thread, site, copy.address,
        fmt::format("tcgen05.cp goes to lane {} and on, and not to {}", lane,
                    one_of_each ? "one of the first 32 and those 32, 64 and 96 on" : "lane 0"));
    return false;
  }
  return wrong == nullptr;
}

// The next operation of the calling thread's pipe.
TensorPipe& open_pipe(Thread& thread, Site site) {
  TensorPipe& pipe = tensor_pipe(thread);
  pipe.latest = site;
  pipe.open = true;
  return pipe;
}

}  // namespace

void tensor_copy(const TensorCopy& copy, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  if (!check_tensor_group(thread, copy.group, true, "tcgen05.cp", site)) return;
  if (!check_copy(thread, copy, site)) return;
  TensorPipe& pipe = open_pipe(thread, site);
  for (u32 i = 0; i < copy.group; ++i) {
    Cta& cta = *thread.cta->cluster->ctas[thread.cta->rank ^ i];
    if (!enter_copy(thread, copy, pipe, cta, site)) return;
  }
  defer_tensor(thread, pipe, site, [copy, &thread] {
    for (u32 i = 0; i < copy.group; ++i)
      copy_rows(copy, *thread.cta->cluster->ctas[thread.cta->rank ^ i]);
  });
}

namespace {

constexpr u32 kShiftedColumns = 8;

// Documents do not say whether lanes move from one quarter to the next: the first of each holds
// nothing after this.
void shift_lanes(TensorMemory& memory, u32 column, u32 first) {
  for (u32 lane = kTensorLanes; lane-- > first;) {
    u32* const to = memory.row(lane) + column;
    if (lane % kQuarterLanes == 0) {
      std::fill_n(to, kShiftedColumns, kTensorPoison);
    } else {
      std::copy_n(memory.row(lane - 1) + column, kShiftedColumns, to);
    }
  }
}

bool enter_shift(Thread& thread, u32 address, TensorPipe& pipe, Cta& cta, Site site) {
  TensorMemory& memory = tensor_memory(cta);
  const u32 column = first_column(address);
  if (!check_tensor_columns(thread, memory, column, kShiftedColumns, site)) return false;
  const std::array<Thread*, 1> alone{&thread};
  const TensorView view{alone, &tensor_warp(thread), &pipe, true, true};
  const auto lanes = static_cast<u16>(0xffff << first_lane(address) / 8);
  for (u32 c = column; Machine::current().checks() && c < column + kShiftedColumns; ++c) {
    if ((lanes & ~memory.cells[c].initialised) == 0) continue;
    Machine::current().report(Fault::uninitialised, thread, site, address + (c - column),
                              "nothing has written the tensor memory that is shifted");
    break;
  }
  touch_tensor({thread, site, pipe.shift_agent, 0, pipe.epoch, true}, view, memory,
               {column, kShiftedColumns, lanes});
  visit_cta(thread, cta, pipe.shift_agent, pipe.epoch, site);
  return true;
}

}  // namespace

void tensor_shift(u32 address, u32 group, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  if (!check_tensor_group(thread, group, true, "tcgen05.shift", site)) return;
  const u32 lane = first_lane(address);
  if (lane % kQuarterLanes != 0 || lane >= kTensorLanes) {
    Machine::current().report(
        Fault::tensor_memory, thread, site, address,
        fmt::format("tcgen05.shift from lane {} on, which is no multiple of 32", lane));
    return;
  }
  TensorPipe& pipe = open_pipe(thread, site);
  for (u32 i = 0; i < group; ++i) {
    Cta& cta = *thread.cta->cluster->ctas[thread.cta->rank ^ i];
    if (!enter_shift(thread, address, pipe, cta, site)) return;
  }
  defer_tensor(thread, pipe, site, [address, group, &thread] {
    for (u32 i = 0; i < group; ++i) {
      Cta& cta = *thread.cta->cluster->ctas[thread.cta->rank ^ i];
      shift_lanes(tensor_memory(cta), first_column(address), first_lane(address));
    }
  });
}

}  // namespace estoc::emulator
