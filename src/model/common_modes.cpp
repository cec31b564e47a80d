// The modes of operands of one shape, ordered and merged so that few are left to walk.
#include "model/common_modes.h"

#include <algorithm>

namespace estoc::model {

CommonModes::CommonModes(std::span<const TensorView* const> operands) {
  const TensorView& first = *operands.front();
  for (int mode = first.rank() - 1; mode >= 0; --mode) {
    if (first.shape(mode) == 1) continue;
    Mode& made = (*this)[rank_++];
    made.extent = first.shape(mode);
    for (std::size_t i = 0; i < operands.size(); ++i)
      made.strides[i] = operands[i]->stride(mode);
  }
  std::stable_sort(modes_.begin(), modes_.begin() + rank_,
                   [](const Mode& x, const Mode& y) { return x.strides[0] < y.strides[0]; });
  int kept = 0;
  for (int i = 1; i < rank_; ++i) {
    Mode& inner = (*this)[kept];
    const Mode& outer = (*this)[i];
    const bool merges = std::equal(
        inner.strides.begin(), inner.strides.end(), outer.strides.begin(),
        [&](std::int64_t step, std::int64_t next) { return next == step * inner.extent; });
    if (merges) {
      inner.extent *= outer.extent;
    } else {
      (*this)[++kept] = outer;
    }
  }
  const int merged = rank_ > 0 ? kept + 1 : 0;
  std::fill(modes_.begin() + merged, modes_.begin() + rank_, Mode{});
  rank_ = merged;
}

void CommonModes::prepend(const Mode& mode) {
  std::rotate(modes_.begin(), modes_.end() - 1, modes_.end());
  modes_.front() = mode;
  ++rank_;
}

}  // namespace estoc::model
