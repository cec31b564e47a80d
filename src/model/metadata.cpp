// Small queries of metadata.
#include "estoc/metadata.hpp"

#include <algorithm>

namespace estoc {

int TensorAttributes::divisibility() const {
  return std::max(1, alignment * 8 / dtype_bits(dtype));
}

}  // namespace estoc
