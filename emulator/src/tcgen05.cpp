// tcgen05.mma and commit: one thread issues them, and they take place in its order, now or when the
// schedule has it. What they touch is entered when they are issued.
#include <fmt/core.h>

#include "tensor_product.h"
#include "wgmma_product.h"

namespace estoc::emulator {
namespace {

constexpr u32 column_of(u32 address) {
  return address & 0xffff;
}

constexpr u32 lane_of(u32 address) {
  return address >> 16;
}

// Shared memory that a product or a copy reads in one CTA.
void touch_operand(Thread& thread, Cta& cta, const TensorOperand& o, const TensorPipe& pipe,
                   u32 agent, Site site) {
  Accessor accessor = Accessor::asynchronous(thread, site, false, agent, pipe.epoch, true);
  const std::vector<Thread*> alone{&thread};
  const TeamView view{alone};
  accessor.all = &view;
  std::array<u32, kMaxChunks> addresses;
  u32 count = 0;
  for_tensor_chunks(o, [&](u32 address, u32, u32, bool) { addresses[count++] = address; });
  touch_chunks(accessor, cta, addresses.data(), count,
               static_cast<u16>((1u << o.data_bytes()) - 1));
}

bool check_d_lane(Thread& thread, const TensorProduct& p, u32 address, const char* name,
                  Site site) {
  const u32 lane = lane_of(address);
  if (lane == 0 || (p.spread() && lane == 16)) return true;
  Machine::current().report(Fault::tensor_memory, thread, site, address,
                            fmt::format("{} begins at lane {} of tensor memory, and not at 0{}",
                                        name, lane, p.spread() ? " or 16" : ""));
  return false;
}

// Products follow those before where they have the same sums. Others must be known to be complete.
void check_sums(Thread& thread, const TensorProduct& p, TensorPipe& pipe, Site site) {
  const u32 column = column_of(p.d);
  std::erase_if(pipe.sums, [&](const TensorSums& before) {
    const u32 at = column_of(before.address);
    if (at >= column + p.n || column >= at + before.columns) return false;
    const bool same = before.address == p.d && before.m == p.m && before.n == p.n;
    const bool apart = p.spread() && before.m == p.m && lane_of(before.address) != lane_of(p.d);
    if (apart) return false;
    if (!same && Machine::current().checks() &&
        thread.tensor_known[pipe.product_agent] < before.epoch) {
      Machine::current().report(
          Fault::race, thread, site, p.d,
          fmt::format("sums of {} x {} at {:#x} overlap those of {} x {} at {:#x}, which products "
                      "that are not known to be complete write: only sums of the same place and "
                      "shape follow one another",
                      p.m, p.n, p.d, before.m, before.n, before.address));
    }
    return true;
  });
  pipe.sums.push_back({p.d, p.m, p.n, p.n, pipe.epoch});
}

void check_added(Thread& thread, const TensorProduct& p, TensorMemory& memory, Site site) {
  if (!p.add || !Machine::current().checks()) return;
  const u16 lanes = p.lanes(p.d);
  for (u32 c = column_of(p.d); c < column_of(p.d) + p.d_columns(); ++c) {
    if ((lanes & ~memory.cells[c].initialised) == 0) continue;
    Machine::current().report(Fault::uninitialised, thread, site, p.d | c,
                              "the product is added to tensor memory that nothing has written");
    return;
  }
}

// Enters the words of scales that a product reads in one CTA; false where some are not allocated.
bool enter_scales(Thread& thread, const TensorProduct& p, const TensorPipe& pipe,
                  TensorMemory& memory, const TensorView& view, Site site) {
  const std::array<std::pair<u32, u32>, 2> words{
      {{p.blocks.a, p.a_scale_columns()}, {p.blocks.b, p.b_scale_columns()}}};
  for (const auto& [address, columns] : words) {
    if (!check_tensor_columns(thread, memory, column_of(address), columns, site)) return false;
    touch_tensor({thread, site, pipe.operand_agent, 0, pipe.epoch, false}, view, memory,
                 {column_of(address), columns, 0xffff});
  }
  return true;
}

// Enters what a product touches in a CTA of its group; false where it cannot take place.
bool enter_product(Thread& thread, const TensorProduct& p, TensorPipe& pipe, u32 number,
                   Site site) {
  Cta& cta = *p.ctas[number];
  TensorMemory& memory = tensor_memory(cta);
  if (!check_tensor_columns(thread, memory, column_of(p.d), p.n, site)) return false;
  touch_operand(thread, cta, p.b, pipe, pipe.product_agent, site);
  const std::array<Thread*, 1> alone{&thread};
  TensorView view{alone, &tensor_warp(thread), &pipe, false, false, true, true};
  if (p.a_in_tensor_memory) {
    constexpr u32 kColumns = 8;
    if (!check_tensor_columns(thread, memory, column_of(p.a_address), kColumns, site)) return false;
    touch_tensor({thread, site, pipe.operand_agent, 0, pipe.epoch, false}, view, memory,
                 {column_of(p.a_address), kColumns, p.lanes(p.a_address)});
  } else {
    touch_operand(thread, cta, p.a, pipe, pipe.product_agent, site);
  }
  if (p.blocks.size > 0 && !enter_scales(thread, p, pipe, memory, view, site)) return false;
  check_added(thread, p, memory, site);
  view.after_products = true;
  touch_tensor({thread, site, pipe.product_agent, 0, pipe.epoch, true}, view, memory,
               {column_of(p.d), p.d_columns(), static_cast<u16>(p.lanes(p.d) & p.written(number))});
  visit_cta(thread, cta, pipe.product_agent, pipe.epoch, site);
  return true;
}

}  // namespace

void tensor_mma(const TensorOperands& operands, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  if (!check_tensor_group(thread, operands.group, true, "tcgen05.mma", site)) return;
  const std::optional<TensorProduct> product = decode_product(thread, operands, site);
  if (!product || !check_d_lane(thread, *product, operands.d, "d", site)) return;
  if (operands.a_in_tensor_memory &&
      !check_d_lane(thread, *product, product->a_address, "A", site)) {
    return;
  }
  ++m.statistics().tcgen05;
  TensorPipe& pipe = tensor_pipe(thread);
  pipe.latest = site;
  pipe.open = true;
  check_sums(thread, *product, pipe, site);
  for (u32 i = 0; i < operands.group; ++i) {
    if (!enter_product(thread, *product, pipe, i, site)) return;
  }
  defer_tensor(thread, pipe, site, [p = *product] {
    if (Machine::current().options().products) execute(p);
  });
}

namespace {

// The arrival at one barrier, when all before it in the pipe has taken place.
void commit_to(Thread& thread, TensorPipe& pipe, u32 address, Knowledge known, u32 epoch,
               Site site) {
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "tcgen05.commit", site, cta);
  if (barrier == nullptr) return;
  check_init_fence(thread, *barrier, address, site);
  // No document orders the arrivals of two commits.
  u32& agent = pipe.signal_agents[barrier];
  if (agent == 0) agent = cta->cluster->new_agent();
  visit_cta(thread, *cta, agent, epoch, site);
  known.seen.raise(agent, epoch);
  defer_tensor(thread, pipe, site, [&thread, barrier, address, known, site] {
    if (Machine::current().checks()) barrier->known.join(known);
    count_arrival(thread, *barrier, address, site);
  });
}

}  // namespace

void tensor_commit(u32 barrier, u32 group, u32 ctas, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  if (!check_tensor_group(thread, group, true, "tcgen05.commit", site)) return;
  TensorPipe& pipe = tensor_pipe(thread);
  const u32 epoch = pipe.epoch++;
  pipe.open = false;
  tensor_fence(false, site);
  Knowledge known;
  release(thread, known);
  if (m.checks()) {
    for (const u32 agent :
         {pipe.product_agent, pipe.operand_agent, pipe.copy_agent, pipe.shift_agent})
      known.seen.raise(agent, epoch);
  }
  if ((ctas & kMulticast) == 0) return commit_to(thread, pipe, barrier, known, epoch, site);
  for (u32 rank = 0; rank < 16; ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    if (rank >= thread.cta->cluster->ctas.size()) {
      m.report(Fault::out_of_bounds, thread, site, barrier,
               fmt::format("a commit to CTA {}, which the cluster does not have", rank));
      continue;
    }
    commit_to(thread, pipe, mapa(barrier, rank, site), known, epoch, site);
  }
}

}  // namespace estoc::emulator
