// mma.sync: products of one warp. Products are exact; a sum is formed in double and rounded once.
#include <cstring>

#include "machine.h"
#include "numbers.h"

namespace estoc::emulator {
namespace {

using abi::Type;

const MmaOperands& operands_of(const Team& team, int lane) {
  return *static_cast<const MmaOperands*>(team.operands[static_cast<std::size_t>(lane)]);
}

template <typename Value>
Value value_at(const void* base, int index) {
  Value value{};
  std::memcpy(&value,
              static_cast<const std::byte*>(base) + sizeof(Value) * static_cast<unsigned>(index),
              sizeof(Value));
  return value;
}

template <typename Value>
void set_at(void* base, int index, Value value) {
  std::memcpy(static_cast<std::byte*>(base) + sizeof(Value) * static_cast<unsigned>(index), &value,
              sizeof(Value));
}

// Element `k` of a row of A or a column of B, which `lane` and its neighbours hold: `row_half`
// picks the register among those of one K half, `halves` of them.
double element(const Team& team, Type type, bool of_a, int outer, int k, int halves) {
  if (type == Type::f64) {
    const MmaOperands& o = operands_of(team, outer % 8 * 4 + k % 4);
    return value_at<double>(of_a ? o.a : o.b, halves * (k / 4) + outer / 8);
  }
  const int per_register = 32 / abi::type_bits(type);
  const int slot = k / per_register;
  const MmaOperands& o = operands_of(team, outer % 8 * 4 + slot % 4);
  const u32 word = value_at<u32>(of_a ? o.a : o.b, halves * (slot / 4) + outer / 8);
  return static_cast<double>(
      element_value(type, word >> (abi::type_bits(type) * (k % per_register))));
}

void store_sum(const Team& team, Type type, int row, int column, double (&sum)[16][8]) {
  const MmaOperands& o = operands_of(team, row % 8 * 4 + column / 2);
  const int index = row / 8 * 2 + column % 2;
  const double value = sum[row][column];
  if (type == Type::f64) set_at(o.acc, index, value);
  if (type == Type::f32) set_at(o.acc, index, static_cast<float>(value));
  if (type == Type::i32) {
    set_at(o.acc, index, static_cast<u32>(static_cast<u64>(static_cast<i64>(value))));
  }
  if (type == Type::f16) {
    set_at(o.acc, index, static_cast<u16>(float_to_half(static_cast<float>(value))));
  }
}

double load_sum(const Team& team, Type type, int row, int column) {
  const MmaOperands& o = operands_of(team, row % 8 * 4 + column / 2);
  const int index = row / 8 * 2 + column % 2;
  if (type == Type::f64) return value_at<double>(o.acc, index);
  if (type == Type::f32) return static_cast<double>(value_at<float>(o.acc, index));
  if (type == Type::i32) return static_cast<double>(value_at<i32>(o.acc, index));
  return static_cast<double>(half_to_float(value_at<u16>(o.acc, index)));
}

// The scale of an element: thread selectors are 0, so that of four lanes the first two give the
// rows of A, and the first gives the column of B.
double scale_of(const Team& team, bool of_a, int outer, int k, Site site) {
  const int lane = outer % 8 * 4 + outer / 8;
  const MmaOperands& o = operands_of(team, lane);
  const MmaScales& scales = *o.scales;
  const int byte = scales.first + k * scales.count / o.k;
  const u32 bits = (of_a ? scales.a : scales.b) >> (8 * byte) & 0xff;
  if (scales.type == Type::e4m3 && bits > 0x7f) {
    Machine::current().report(Fault::bad_descriptor, *team.members[static_cast<std::size_t>(lane)],
                              site, bits,
                              "mma.sync: a scale of ue4m3 is negative; scales have no sign");
  }
  return static_cast<double>(element_value(scales.type, bits));
}

void multiply_warp(const Team& team, Site site) {
  const MmaOperands& o = operands_of(team, 0);
  double a[16][64];
  double b[64][8];
  double sum[16][8];
  for (int k = 0; k < o.k; ++k) {
    for (int i = 0; i < o.m; ++i)
      a[i][k] = element(team, o.a_type, true, i, k, o.m / 8);
    for (int j = 0; j < 8; ++j)
      b[k][j] = element(team, o.b_type, false, j, k, 1);
    if (o.scales == nullptr) continue;
    for (int i = 0; i < o.m; ++i)
      a[i][k] *= scale_of(team, true, i, k, site);
    for (int j = 0; j < 8; ++j)
      b[k][j] *= scale_of(team, false, j, k, site);
  }
  for (int i = 0; i < o.m; ++i) {
    for (int j = 0; j < 8; ++j) {
      sum[i][j] = load_sum(team, o.sum_type, i, j);
      for (int k = 0; k < o.k; ++k)
        sum[i][j] += a[i][k] * b[k][j];
    }
  }
  for (int i = 0; i < o.m; ++i) {
    for (int j = 0; j < 8; ++j)
      store_sum(team, o.sum_type, i, j, sum);
  }
}

}  // namespace

void mma(const MmaOperands& operands, Site site) {
  Thread& thread = Machine::self();
  MmaOperands mine = operands;
  together(*thread.warp, thread, "mma.sync", site, &mine, [site](Team& team) {
    Machine& m = Machine::current();
    ++m.statistics().mma;
    m.trace_burst(TraceKind::mma, *team.members[0], site, "mma.sync");
    if (m.options().products) multiply_warp(team, site);
  });
}

}  // namespace estoc::emulator
