// Whether a kernel's machine code computes the tile that its name states.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sample.h"

namespace estoc::compile_test {

/// One sentence for each disagreement between the metadata of a GEMM kernel and its machine code:
/// the products of a step of K that its instructions amount to (`sass` is nvdisasm's text of
/// `cubin`), the columns of wgmma instructions, the launch's threads and shared memory.
std::vector<std::string> tile_defects(const Case& one, const std::string& cubin,
                                      const std::string& sass);

/// What nvdisasm prints of a cubin. Throws std::runtime_error when it fails.
std::string disassemble(const std::string& nvdisasm, const std::string& cubin);

/// At most `most` cases, each with a tile or operand type that its class and schedule have not had
/// yet; 200 are all of them.
std::vector<Case> cases_of_tiles(const Pool& pool, std::size_t most, std::uint64_t seed);

}  // namespace estoc::compile_test
