// Finds the scales of quantised weights by the names that quantisers give them.
#include "scale_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "estoc/numeric.hpp"
#include "failure.h"
#include "operand_file.h"
#include "text.h"

namespace estoc::cli {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::string_view kSuffix = ".safetensors:";
constexpr std::string_view kSquares = "_scale_inv";
constexpr std::string_view kScale = "_scale";
constexpr std::string_view kData = "_qdata";

std::vector<std::string> names_of_scales(const std::string& name) {
  std::vector<std::string> names{name + std::string(kSquares), name + std::string(kScale)};
  if (name.ends_with(kData)) {
    names.push_back(name.substr(0, name.size() - kData.size()) + std::string(kScale));
  }
  return names;
}

std::optional<std::string> path_of_scale(const std::string& path) {
  const std::size_t at = path.find(kSuffix);
  if (at == std::string::npos) return std::nullopt;
  const std::string file = path.substr(0, at + kSuffix.size() - 1);
  const std::vector<std::string> held = safetensors_names(file);
  for (const std::string& name : names_of_scales(path.substr(at + kSuffix.size())))
    if (std::ranges::find(held, name) != held.end()) return fmt::format("{}:{}", file, name);
  return std::nullopt;
}

/// The shape that scales of a mode have, K being mode `k`.
Extents shape_of_scales(const TensorView& data, std::size_t k, std::int64_t k_block,
                        std::int64_t other_block) {
  Extents shape(data.shape().begin(), data.shape().end());
  const std::size_t other = 2 * shape.size() - 3 - k;
  const auto divide = [](std::int64_t& extent, std::int64_t block) {
    extent = block == 0 ? 1 : (extent + block - 1) / block;
  };
  divide(shape[k], k_block);
  divide(shape[other], other_block);
  return shape;
}

struct Candidate {
  ScaleMode mode;
  std::int64_t k_block;
  std::int64_t other_block;
};

/// Where several modes fit, the first is taken: those of DeepSeek are squares.
std::vector<Candidate> candidates(Dtype scale, bool squares) {
  if (scale == Dtype::e8m0) return {{ScaleMode::blockwise_1x32, 32, 1}};
  if (scale == Dtype::e4m3) return {{ScaleMode::blockwise_1x16, 16, 1}};
  std::vector<Candidate> all{{ScaleMode::rowwise, 0, 1},
                             {ScaleMode::blockwise_1x128, 128, 1},
                             {ScaleMode::blockwise_128x128, 128, 128}};
  if (squares) std::ranges::reverse(all);
  return all;
}

/// Scales of f16 and bf16 as f32, with the same strides.
void widen(FileScale& scale) {
  const TensorView view = scale.view;
  if (view.dtype() != Dtype::f16 && view.dtype() != Dtype::bf16) return;
  const std::int64_t bytes = dtype_bits(view.dtype()) / 8;
  std::vector<float> values(static_cast<std::size_t>(view.span_bytes() / bytes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<float>(load_element(view.dtype(), view.data(), static_cast<std::int64_t>(i)));
  }
  auto held = std::make_shared<std::vector<float>>(std::move(values));
  scale.view = TensorView(held->data(), Dtype::f32, view.shape(), view.strides());
  scale.widened = std::move(held);
}

/// (M) as (M, 1) of A, (N) as (1, N) of B.
TensorView with_both_modes(const TensorView& scale, const TensorView& data, std::size_t k) {
  if (scale.rank() != 1 || data.rank() != 2) return scale;
  const std::int64_t extent = scale.shape(0);
  const std::int64_t stride = scale.stride(0);
  const bool is_a = k == 1;
  return {scale.data(), scale.dtype(), is_a ? Extents{extent, 1} : Extents{1, extent},
          is_a ? Extents{stride, 1} : Extents{1, stride}};
}

}  // namespace

std::optional<FileScale> find_scale(const std::string& operand, const std::string& path,
                                    const TensorView& data, bool exchanged) {
  if (dtype_bits(data.dtype()) > 8 || data.rank() < 2) return std::nullopt;
  const std::optional<std::string> found = path_of_scale(path);
  if (!found) return std::nullopt;
  FileScale scale{*found, open_operand_file(*found), nullptr, {}, ScaleMode::tensorwise};
  scale.view = scale.file.view();
  widen(scale);
  if (scale.view.elements() == 1) return scale;
  const auto k = static_cast<std::size_t>(data.rank() - (operand == "A" ? 1 : 2));
  if (exchanged && scale.view.rank() == data.rank()) scale.view = scale.view.transposed();
  scale.view = with_both_modes(scale.view, data, k);
  std::string expected = "(1)";
  for (const Candidate& one : candidates(scale.view.dtype(), found->ends_with(kSquares))) {
    const Extents shape = shape_of_scales(data, k, one.k_block, one.other_block);
    scale.mode = one.mode;
    if (std::ranges::equal(shape, scale.view.shape())) return scale;
    expected += fmt::format(", {} ({})", format_shape(shape), scale_mode_name(one.mode));
  }
  throw Failure(Exit::usage, fmt::format("{}: expected scales of shape {}, {} has {}", operand,
                                         expected, *found, format_shape(scale.view.shape())));
}

}  // namespace estoc::cli
