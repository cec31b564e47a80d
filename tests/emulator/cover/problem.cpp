// Drawing problems for a kernel, and judging its output.
#include "problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "draw.h"
#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"

namespace estoc::cover {
namespace {

struct Extents {
  std::int64_t m, n, k, l;
};

Extents draw_extents(const DesignPoint& point, Random& random) {
  Shape3 tile{32, 32, 16};
  if (point.space().find(Role::tile) >= 0) tile = point.shape(Role::tile);
  const auto extent = [&](std::int64_t of_tile) {
    switch (draw_number(random, 0, 5)) {
      case 0:
        return draw_number(random, 1, 9);
      case 1:
        return of_tile;
      default:
        return draw_number(random, 1, of_tile + of_tile / 2 + 9);
    }
  };
  Extents e{extent(tile.m), extent(tile.n), draw_number(random, 1, 200), 1};
  if (one_in(random, 4)) {
    // The ring of stages goes round within a tile, more than once.
    const auto stages = point.space().find(Role::stages) < 0 ? 2 : point.integer(Role::stages);
    e.k = (2 * stages + draw_number(random, 0, stages)) * tile.k + draw_number(random, 1, tile.k);
    e.m = std::min<std::int64_t>(e.m, 40);
    e.n = std::min<std::int64_t>(e.n, 40);
  }
  if (one_in(random, 10)) e.k = draw_number(random, 0, 1);
  if (one_in(random, 5)) e.l = draw_number(random, 2, 3);
  return e;
}

std::vector<double> product(const Extents& e, const std::vector<double>& a,
                            const std::vector<double>& b) {
  std::vector<double> out(static_cast<std::size_t>(e.l * e.m * e.n));
  for (std::int64_t row = 0; row < e.l * e.m; ++row) {
    double* sums = out.data() + row * e.n;
    for (std::int64_t k = 0; k < e.k; ++k) {
      const double factor = a[static_cast<std::size_t>(row * e.k + k)];
      const double* line = b.data() + (row / e.m * e.k + k) * e.n;
      for (std::int64_t j = 0; j < e.n; ++j)
        sums[j] += factor * line[j];
    }
  }
  return out;
}

Dtype dtype_of(const DesignPoint& point, Role role, Dtype otherwise) {
  return point.space().find(role) < 0 ? otherwise : point.dtype(role);
}

int alignment_of(const DesignPoint& point, Role role) {
  return point.space().find(role) < 0 ? 1 : point.integer(role);
}

char letter_of(const DesignPoint& point, std::size_t operand) {
  return point.space().find(Role::layouts) < 0 ? 'x' : point.value(Role::layouts).text[operand];
}

/// An operand of an epilogue: its modes are those that it varies along.
struct Fused {
  const char* name;
  Dtype dtype;
  bool m;
  bool n;
  bool output;
};

struct Program {
  const char* text;
  std::vector<Fused> operands;
};

const std::vector<Program>& programs() {
  static const std::vector<Program> kPrograms{
      {"D = accum + C + v * w",
       {{"C", Dtype::bf16, true, true, false},
        {"v", Dtype::f64, true, false, false},
        {"w", Dtype::f32, false, true, false}}},
      {"D = accum; r = max(D); c = sum(D); t = min(D)",
       {{"r", Dtype::f32, true, false, true},
        {"c", Dtype::f32, false, true, true},
        {"t", Dtype::f32, false, false, true}}},
      {"D = dropout(accum, 0.5, 7, 3); aux = accum + C",
       {{"aux", Dtype::f32, true, true, true}, {"C", Dtype::f32, true, true, false}}},
  };
  return kPrograms;
}

HostTensor draw_fused(const Fused& operand, const Extents& e, Random& random) {
  const bool matrix = operand.m && operand.n;
  Plane plane{operand.m ? e.m : 1, operand.n ? e.n : 1, operand.dtype, 't', 16, !operand.output};
  if (matrix && operand.output) plane.letter = 'x';
  HostTensor tensor = draw_operand(plane, matrix ? e.l : 1, random);
  tensor.output = operand.output;
  if (!operand.output) {
    fill(tensor, matrix ? e.l : 1, plane.rows, plane.columns, false, random);
  }
  return tensor;
}

/// Operands of program `number` - 1, which are added to `tensors`. Sums of integers stay integers.
EpilogueArguments draw_epilogue(std::size_t number, const Extents& e, Dtype sums, Random& random,
                                std::vector<HostTensor>& tensors) {
  const Program& program = programs()[number - 1];
  std::vector<EpilogueOperand> operands;
  for (Fused operand : program.operands) {
    if (sums == Dtype::i32) operand.dtype = Dtype::i32;
    tensors.push_back(draw_fused(operand, e, random));
    const TensorView& view = tensors.back().view;
    if (operand.m || operand.n) {
      operands.emplace_back(operand.name, view);
    } else {
      operands.emplace_back(operand.name, TensorView(const_cast<void*>(view.data()), view.dtype(),
                                                     std::span<const std::int64_t>{},
                                                     std::span<const std::int64_t>{}));
    }
  }
  return EpilogueArguments(program.text, operands);
}

ScaleMode draw_mode(Dtype dtype, Random& random) {
  const int first = dtype == Dtype::e2m1 ? 0 : dtype == Dtype::e4m3 || dtype == Dtype::e5m2 ? 1 : 2;
  return static_cast<ScaleMode>(static_cast<int>(ScaleMode::blockwise_1x16) +
                                draw_number(random, first, 3));
}

/// Whether a kernel's name states scales of rows.
bool states_row_scales(const DesignPoint& point) {
  return point.space().find("scales") >= 0 && point.value("scales").text == "row";
}

/// The mode that a kernel's name states; nullopt where it states none.
std::optional<ScaleMode> stated_mode(const DesignPoint& point, bool is_b) {
  if (is_b && point.space().find("scales_b") >= 0) {
    constexpr std::array<std::optional<ScaleMode>, 3> kModes{
        ScaleMode::blockwise_1x16, ScaleMode::blockwise_1x32, std::nullopt};
    return kModes[static_cast<std::size_t>(point.value("scales_b").numbers[0])];
  }
  if (point.space().find("blocks") >= 0) {
    return point.value("blocks").numbers[0] == 0 ? ScaleMode::blockwise_1x32
                                                 : ScaleMode::blockwise_1x16;
  }
  if (point.space().find("scales") < 0) return std::nullopt;
  const int pair = point.value("scales").numbers[0];
  return (is_b ? pair % 2 : pair / 2) == 0 ? ScaleMode::blockwise_1x128
                                           : ScaleMode::blockwise_128x128;
}

/// Scales of blocks of an operand of (batches, rows, columns), drawn so that sums stay exact; what
/// fills up tiles is NaN. Its values are multiplied by them.
// NOLINTNEXTLINE(performance-unnecessary-value-param): it lies in tensors, which grow
ScaledTensor draw_scales(const DesignPoint& point, TensorView data, bool is_b, Random& random,
                         std::vector<HostTensor>& tensors, std::vector<double>& values) {
  const ScaleMode any = draw_mode(data.dtype(), random);
  ScaleSpec spec{.mode = stated_mode(point, is_b).value_or(any), .layout = Layout::t};
  const bool fine = spec.mode <= ScaleMode::blockwise_1x32;
  if (fine && one_in(random, 2)) {
    spec.swizzle = ScaleSwizzle::swizzle_32x4x4;
  } else if (one_in(random, 2)) {
    spec.layout = Layout::n;
  }
  const int k_mode = data.rank() - (is_b ? 2 : 1);
  ScaledTensor scaled = describe_scaled(spec, data, k_mode, "scaled");
  const auto shape = scaled.scale.shape();
  const auto strides = scaled.scale.strides();
  tensors.push_back(host_tensor(scaled.scale.dtype(), {shape.begin(), shape.end()},
                                {strides.begin(), strides.end()}));
  std::ranges::fill(tensors.back().storage, std::byte{0xff});
  scaled.scale = tensors.back().view;
  const TensorView& scale = scaled.scale;
  const std::int64_t k_block = spec.mode == ScaleMode::blockwise_1x16   ? 16
                               : spec.mode == ScaleMode::blockwise_1x32 ? 32
                                                                        : 128;
  const std::int64_t other_block = spec.mode == ScaleMode::blockwise_128x128 ? 128 : 1;
  const int other_mode = 2 * data.rank() - 3 - k_mode;
  const std::int64_t rows = data.shape(data.rank() - 2);
  const std::int64_t columns = data.shape(data.rank() - 1);
  const std::int64_t one = scale.shape(k_mode) * scale.shape(other_mode);
  std::mt19937_64 own(random());
  std::vector<double> drawn(
      static_cast<std::size_t>(scale.span_bytes() * 8 / dtype_bits(scale.dtype())));
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto number = static_cast<std::int64_t>(at);
    const std::int64_t l = data.rank() > 2 ? number / (rows * columns) : 0;
    const std::int64_t row = number / columns % rows;
    const std::int64_t column = number % columns;
    const std::int64_t k = (is_b ? row : column) / k_block;
    const std::int64_t other = (is_b ? column : row) / other_block;
    std::int64_t index = other * scale.stride(other_mode) + k * scale.stride(k_mode);
    if (data.rank() > 2) index += l * scale.stride(0);
    if (spec.swizzle != ScaleSwizzle::none) {
      const std::int64_t tile = other / 128 * (scale.shape(k_mode) / 4) + k / 4;
      index = l * one + tile * 512 + other % 32 * 16 + other % 128 / 32 * 4 + k % 4;
    }
    double& factor = drawn.at(static_cast<std::size_t>(index));
    if (factor == 0) {
      factor = std::ldexp(1.0, static_cast<int>(own() % 3) - 1);
      store_element(scale.dtype(), scale.data(), index, factor);
    }
    values[at] *= factor;
  }
  return scaled;
}

/// A quantised output of (batches, rows, columns).
// NOLINTNEXTLINE(performance-unnecessary-value-param): it lies in tensors, which grow
ScaledTensor draw_quantised(TensorView data, Random& random, std::vector<HostTensor>& tensors) {
  ScaleSpec spec{.mode = draw_mode(data.dtype(), random), .layout = Layout::t};
  if (spec.mode == ScaleMode::blockwise_128x128) spec.mode = ScaleMode::blockwise_1x128;
  if (spec.mode != ScaleMode::blockwise_1x128 && one_in(random, 3)) {
    spec.layout.reset();
    spec.swizzle = ScaleSwizzle::swizzle_32x4x4;
  } else if (one_in(random, 2)) {
    spec.layout = Layout::n;
  }
  spec.powers_of_two = spec.mode == ScaleMode::blockwise_1x128 && one_in(random, 2);
  ScaledTensor out = describe_scaled(spec, data, data.rank() - 1, "out");
  const auto shape = out.scale.shape();
  const auto strides = out.scale.strides();
  tensors.push_back(host_tensor(out.scale.dtype(), {shape.begin(), shape.end()},
                                {strides.begin(), strides.end()}));
  out.scale = tensors.back().view;
  return out;
}

/// An output's bytes where it has these values.
std::vector<std::byte> out_of(const HostTensor& out, const Extents& e,
                              const std::vector<double>& values) {
  std::size_t index = 0;
  for (std::int64_t l = 0; l < e.l; ++l) {
    for (std::int64_t i = 0; i < e.m; ++i) {
      for (std::int64_t j = 0; j < e.n; ++j)
        put(out.view, l, i, j, values[index++]);
    }
  }
  return out.storage;
}

// With one row or column an epilogue would be another.
void widen(Extents& e) {
  e.m = std::max<std::int64_t>(e.m, 2);
  e.n = std::max<std::int64_t>(e.n, 2);
}

/// What finds the expected output's bytes, which takes longer than all the rest of a draw.
using Multiply = std::function<std::vector<std::byte>()>;

// A draw for a GEMM kernel: the operands, and the output that is expected where there is no
// epilogue.
std::unique_ptr<RuntimeArguments> draw_gemm(const Kernel& kernel, std::size_t epilogue,
                                            Random& random, std::vector<HostTensor>& tensors,
                                            Multiply& multiply) {
  const DesignPoint& point = kernel.point();
  const bool fused_scales = epilogue > programs().size();
  const std::size_t program = fused_scales ? 0 : epilogue;
  Extents e = draw_extents(point, random);
  if (epilogue != 0) widen(e);
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = dtype_of(point, Role::b_dtype, a);
  const bool integers = a == Dtype::i8 || a == Dtype::u8 || a == Dtype::i32;
  const Dtype sums = dtype_of(point, Role::accumulator_type,
                              a == Dtype::f64 ? Dtype::f64
                              : integers      ? Dtype::i32
                                              : Dtype::f32);
  const Dtype out = dtype_of(point, Role::out_dtype, sums);
  if (is_packed(a)) e.m += e.m % 2;
  if (is_packed(out) || is_packed(b)) e.n += e.n % 2;
  if (is_packed(a) || is_packed(b)) e.k += e.k % 2;
  tensors.push_back(
      draw_operand({e.m, e.k, a, letter_of(point, 0), alignment_of(point, Role::a_alignment), true},
                   e.l, random));
  tensors.push_back(
      draw_operand({e.k, e.n, b, letter_of(point, 1), alignment_of(point, Role::b_alignment), true},
                   e.l, random));
  tensors.push_back(draw_operand(
      {e.m, e.n, out, letter_of(point, 2), alignment_of(point, Role::out_alignment)}, e.l, random));
  // In f16, sums of one sign would be rounded.
  const bool positive = one_in(random, 2) && sums != Dtype::f16;
  std::vector<double> values_a = fill(tensors[0], e.l, e.m, e.k, positive, random);
  std::vector<double> values_b = fill(tensors[1], e.l, e.k, e.n, positive, random);
  Operand operand_a = tensors[0].view;
  Operand operand_b = tensors[1].view;
  if (kernel.kernel_class().takes_block_scales()) {
    const bool one = point.space().find("blocks") >= 0 && one_in(random, 4);
    const bool both = (stated_mode(point, false) && !one) || one_in(random, 2);
    const bool has_own = point.space().find("scales_b") >= 0;  // B's, or that it has none
    const bool b_scaled = has_own && stated_mode(point, true);
    if (dtype_bits(a) <= 8 && (both || one_in(random, 2) || (has_own && !b_scaled)))
      operand_a = draw_scales(point, tensors[0].view, false, random, tensors, values_a);
    if (has_own ? b_scaled : both || !operand_a.is_scaled())
      operand_b = draw_scales(point, tensors[1].view, true, random, tensors, values_b);
  }
  if (fused_scales) {
    operand_a = with_fused_scale(operand_a, false, random, tensors, values_a);
    operand_b = with_fused_scale(operand_b, true, random, tensors, values_b);
  }
  Operand operand_out = tensors[2].view;
  if (kernel.kernel_class().quantises()) {
    operand_out = draw_quantised(tensors[2].view, random, tensors);
  } else if (program == 0) {
    multiply = [&tensors, e, a = std::move(values_a), b = std::move(values_b)] {
      return out_of(tensors[2], e, product(e, a, b));
    };
  }
  PerformanceControls controls;
  controls.fast_accumulation = point.space().find("sums") >= 0;
  controls.allow_bf16x6 = true;
  if (program == 0) {
    return std::make_unique<GemmArguments>(operand_a, operand_b, operand_out, sums, controls);
  }
  const EpilogueArguments fused = draw_epilogue(program, e, sums, random, tensors);
  return std::make_unique<GemmArguments>(operand_a, operand_b, operand_out, sums, controls, fused);
}

/// Offsets of a layout: boundaries in even steps, some of them anywhere.
TensorView draw_offsets(GroupLayout layout, std::int64_t groups, std::int64_t extent,
                        Random& random, std::vector<HostTensor>& tensors) {
  const bool pairs = layout == GroupLayout::ranges;
  const std::int64_t parts = pairs ? 2 * groups : groups;
  const std::int64_t first = layout == GroupLayout::ends ? 1 : 0;
  const std::int64_t count = layout == GroupLayout::prefix ? groups + 1 : parts;
  const TensorView offsets = tensors.emplace_back(host_tensor(Dtype::i32, {count}, {1})).view;
  auto* const data = const_cast<void*>(static_cast<const void*>(offsets.data()));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t wild = draw_number(random, -extent, 2 * extent);
    const std::int64_t even = extent * (i + first) / parts;
    store_element(Dtype::i32, data, i, static_cast<double>(one_in(random, 8) ? wild : even));
  }
  return pairs ? TensorView(data, Dtype::i32, {groups, 2}, {2, 1}) : offsets;
}

/// An index of `count` rows, of `most` or some more that there are not.
TensorView draw_rows(std::int64_t count, std::int64_t most, Random& random,
                     std::vector<HostTensor>& tensors) {
  const TensorView rows = tensors.emplace_back(host_tensor(Dtype::i32, {count}, {1})).view;
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<std::int32_t*>(rows.data())[i] =
        static_cast<std::int32_t>(draw_number(random, one_in(random, 8) ? -1 : 0, most));
  return rows;
}

/// A scale for each row or column of an operand; the operand as it is where `drawn` is false.
Operand draw_row_scales(const TensorView& data, bool is_b, bool drawn, Random& random,
                        std::vector<HostTensor>& tensors) {
  if (!drawn) return data;
  const ScaleSpec spec{.mode = ScaleMode::rowwise, .layout = Layout::t};
  ScaledTensor scaled = describe_scaled(spec, data, data.rank() - (is_b ? 2 : 1), "scaled");
  const auto shape = scaled.scale.shape();
  const auto strides = scaled.scale.strides();
  tensors.push_back(host_tensor(scaled.scale.dtype(), {shape.begin(), shape.end()},
                                {strides.begin(), strides.end()}));
  scaled.scale = tensors.back().view;
  fill_random(scaled.scale, random());
  return scaled;
}

/// A table of groups of any sizes, some of them beyond the largest, in the matrices of the tensors.
TensorView draw_table(const Extents& e, std::int64_t groups, Random& random,
                      std::vector<HostTensor>& tensors) {
  const auto place = [&](std::size_t operand) {
    const TensorView& view = tensors[operand].view;
    const std::int64_t leading = view.stride(2) == 1 ? view.stride(1) : view.stride(2);
    return std::pair(view.stride(0) * dtype_bits(view.dtype()) / 8, leading);
  };
  const auto [a, a_stride] = place(0);
  const auto [b, b_stride] = place(1);
  const auto [out, out_stride] = place(2);
  const TensorView table =
      tensors
          .emplace_back(host_tensor(Dtype::i32, {groups, kGroupEntryWords}, {kGroupEntryWords, 1}))
          .view;
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto extent = [&](std::int64_t most) {
      const bool wild = one_in(random, 8);
      return static_cast<std::int32_t>(wild ? draw_number(random, -most, 3 * most)
                                            : draw_number(random, 0, most));
    };
    const auto bytes = [&](std::int64_t each) { return static_cast<std::uint64_t>(group * each); };
    const GroupEntry entry{bytes(a),
                           bytes(b),
                           bytes(out),
                           extent(e.m),
                           extent(e.n),
                           extent(e.k),
                           static_cast<std::int32_t>(a_stride),
                           static_cast<std::int32_t>(b_stride),
                           static_cast<std::int32_t>(out_stride)};
    std::memcpy(static_cast<std::int32_t*>(table.data()) + group * kGroupEntryWords, &entry,
                sizeof entry);
  }
  return table;
}

/// A draw for a kernel of grouped products: a few groups of any sizes along any mode.
std::unique_ptr<RuntimeArguments> draw_grouped(const Kernel& kernel, std::size_t epilogue,
                                               Random& random, std::vector<HostTensor>& tensors) {
  const DesignPoint& point = kernel.point();
  const bool scaled = kernel.kernel_class().takes_block_scales();
  const bool pointers = kernel.kernel_class().takes_pointers() == KernelClass::TakesPointers::only;
  const bool gathers = kernel.kernel_class().takes_rows() == KernelClass::TakesRows::only;
  Extents e = draw_extents(point, random);
  if (epilogue != 0) widen(e);
  // Some kernels are for one mode.
  const auto drawn = static_cast<GroupMode>(draw_number(random, 0, 3));
  const bool stated = point.space().find("along") >= 0;
  const GroupMode mode = pointers  ? GroupMode::batches
                         : gathers ? GroupMode::rows
                         : stated  ? *parse_group_mode(point.value("along").text)
                                   : drawn;
  const std::int64_t groups = draw_number(random, 1, one_in(random, 4) ? 40 : 4);
  const bool many_a = mode == GroupMode::columns || mode == GroupMode::batches;
  const bool many_b = mode == GroupMode::rows || mode == GroupMode::batches;
  const bool many_out = mode == GroupMode::reduction || mode == GroupMode::batches;
  const auto add = [&](const Plane& plane, bool many) {
    HostTensor& tensor = tensors.emplace_back(draw_operand(plane, 1, random));
    if (!many) return;
    const TensorView& one = tensor.view;
    tensor = host_tensor(plane.dtype, {groups, plane.rows, plane.columns},
                         {std::max(plane.rows * one.stride(0), plane.columns * one.stride(1)),
                          one.stride(0), one.stride(1)});
  };
  const Dtype sums = point.dtype(Role::accumulator_type);
  const std::int64_t rows = gathers ? draw_number(random, 1, 90) : e.m;
  add({rows, e.k, point.dtype(Role::a_dtype), letter_of(point, 0),
       alignment_of(point, Role::a_alignment)},
      many_a);
  add({e.k, e.n, point.dtype(Role::b_dtype), letter_of(point, 1),
       alignment_of(point, Role::b_alignment)},
      many_b);
  add({e.m, e.n, point.dtype(Role::out_dtype), letter_of(point, 2),
       alignment_of(point, Role::out_alignment)},
      many_out);
  std::vector<double> values_a = fill(tensors[0], many_a ? groups : 1, rows, e.k, false, random);
  std::vector<double> values_b = fill(tensors[1], many_b ? groups : 1, e.k, e.n, false, random);
  GroupOptions options{.offsets = std::nullopt, .zero_rest = !pointers && one_in(random, 2)};
  if (pointers) {
    options.layout = GroupLayout::pointers;
    options.offsets = draw_table(e, groups, random, tensors);
  } else if (mode != GroupMode::batches) {
    const std::int64_t extent = mode == GroupMode::rows      ? e.m
                                : mode == GroupMode::columns ? e.n
                                                             : e.k;
    constexpr std::array kLayouts{GroupLayout::ends, GroupLayout::prefix, GroupLayout::ranges};
    options.layout = kLayouts[static_cast<std::size_t>(draw_number(random, 0, 2))];
    options.offsets = draw_offsets(options.layout, groups, extent, random, tensors);
  }
  if (gathers) options.rows = draw_rows(e.m, rows, random, tensors);
  const TensorView out = tensors[2].view;
  const TensorView plain_a = tensors[0].view;
  const TensorView plain_b = tensors[1].view;
  Operand a = plain_a;
  Operand b = plain_b;
  if (scaled && states_row_scales(point)) {
    a = draw_row_scales(plain_a, false, many_a || one_in(random, 2), random, tensors);
    b = draw_row_scales(plain_b, true, many_b || one_in(random, 2), random, tensors);
  } else if (scaled) {
    a = draw_scales(point, plain_a, false, random, tensors, values_a);
    b = draw_scales(point, plain_b, true, random, tensors, values_b);
  }
  if (epilogue == 0) return std::make_unique<GroupedGemmArguments>(a, b, out, sums, options);
  e.l = many_out ? groups : 1;
  const EpilogueArguments fused = draw_epilogue(epilogue, e, sums, random, tensors);
  return std::make_unique<GroupedGemmArguments>(a, b, out, sums, options, PerformanceControls{},
                                                fused);
}

std::unique_ptr<RuntimeArguments> draw_elementwise(const DesignPoint& point, Random& random,
                                                   std::vector<HostTensor>& tensors) {
  const std::int64_t rows = draw_number(random, 1, 60);
  std::int64_t columns = draw_number(random, 1, 90);
  const Dtype a = point.dtype(Role::a_dtype);
  const auto op = static_cast<ElementwiseOp>(point.value(Role::op).numbers[0]);
  Plane planes[] = {{rows, columns, a, 't', alignment_of(point, Role::a_alignment)},
                    {rows, columns, dtype_of(point, Role::b_dtype, a), 't',
                     alignment_of(point, Role::b_alignment)},
                    {rows, columns, dtype_of(point, Role::out_dtype, a), 't',
                     alignment_of(point, Role::out_alignment)}};
  // Rows of types that are stored two to a byte are even.
  for (const Plane& plane : planes)
    if (dtype_bits(plane.dtype) < 8) columns = (columns + 1) / 2 * 2;
  for (Plane& plane : planes)
    plane.columns = columns;
  // One run where the kernel wants that.
  const bool flat = one_in(random, 2);
  for (const Plane& plane : planes) {
    const std::int64_t count = rows * columns;
    tensors.push_back(flat ? host_tensor(plane.dtype, {count}, {1})
                           : draw_operand(plane, 1, random));
  }
  fill_random(tensors[0].view, random());
  fill_random(tensors[1].view, random());
  if (is_binary(op)) {
    return std::make_unique<ElementwiseArguments>(op, tensors[0].view, tensors[1].view,
                                                  tensors[2].view);
  }
  return std::make_unique<ElementwiseArguments>(op, tensors[0].view, tensors[2].view);
}

std::unique_ptr<RuntimeArguments> draw_arguments(const Kernel& kernel, std::size_t epilogue,
                                                 Random& random, std::vector<HostTensor>& tensors,
                                                 Multiply& multiply) {
  switch (kernel.kernel_class().operation()) {
    case Operation::gemm:
      return draw_gemm(kernel, epilogue, random, tensors, multiply);
    case Operation::grouped_gemm:
      return draw_grouped(kernel, epilogue, random, tensors);
    default:
      return draw_elementwise(kernel.point(), random, tensors);
  }
}

}  // namespace

std::size_t CoverProblem::epilogues() {
  return programs().size() + 1;
}

std::unique_ptr<CoverProblem> CoverProblem::draw(const Kernel& kernel, Target target,
                                                 std::mt19937_64& random, std::string& reason,
                                                 std::size_t epilogue) {
  return draw(kernel, target, random, reason, epilogue, true);
}

std::unique_ptr<CoverProblem> CoverProblem::describe(const Kernel& kernel, Target target,
                                                     std::mt19937_64& random, std::string& reason,
                                                     std::size_t epilogue) {
  return draw(kernel, target, random, reason, epilogue, false);
}

std::unique_ptr<CoverProblem> CoverProblem::draw(const Kernel& kernel, Target target,
                                                 std::mt19937_64& random, std::string& reason,
                                                 std::size_t epilogue, bool with_data) {
  if (epilogue > programs().size() && !takes_fused_scales(kernel)) {
    reason = "it takes no scales in its epilogue";
    return nullptr;
  }
  for (int attempt = 0; attempt < 500; ++attempt) {
    Random numbers(random, false);
    auto problem = std::make_unique<CoverProblem>();
    Multiply multiply;
    try {
      problem->arguments_ = draw_arguments(kernel, epilogue, numbers, problem->tensors_, multiply);
    } catch (const Error& error) {
      random = numbers.engine();
      reason = error.what();
      continue;
    }
    const Kernel fused = epilogue == 0 || kernel.epilogue() != nullptr
                             ? kernel
                             : kernel.with_epilogue(problem->arguments_->epilogue_graph());
    const Status status = fused.supports(*problem->arguments_, target);
    if (!status.ok()) {
      random = numbers.engine();
      reason = status.error();
      continue;
    }
    if (!with_data) return problem;
    // Once more, as most draws are refused, and data take longest.
    Random again(random, true);
    problem = std::make_unique<CoverProblem>();
    problem->arguments_ = draw_arguments(kernel, epilogue, again, problem->tensors_, multiply);
    problem->tensors_[2].output = true;
    if (multiply) problem->expected_ = multiply();
    random = again.engine();
    return problem;
  }
  return nullptr;
}

std::string CoverProblem::text() const {
  return Problem::of(*arguments_).to_string();
}

void CoverProblem::poison() {
  for (HostTensor& tensor : tensors_) {
    if (tensor.output) std::fill(tensor.storage.begin(), tensor.storage.end(), std::byte{0xa5});
  }
}

std::string CoverProblem::wrong() const {
  if (expected_.empty()) {
    const CheckResult result = check_output(*arguments_, {.threads = 1, .progress = {}});
    return result.passed ? "" : result.worst;
  }
  const std::vector<std::byte>& got = tensors_[2].storage;
  const auto at = std::mismatch(expected_.begin(), expected_.end(), got.begin()).first;
  if (at == expected_.end()) return {};
  const auto* data = static_cast<const std::byte*>(tensors_[2].view.data());
  const auto byte = (at - expected_.begin()) - (data - got.data());
  return fmt::format("byte {} of out, or of a gap between its rows, is wrong", byte);
}

}  // namespace estoc::cover
