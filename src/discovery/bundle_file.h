// The file format of artifacts and bundles, before anything in it is taken for a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc::discovery {

/// A compiled kernel as the file holds it.
struct StoredArtifact {
  std::string kernel;
  std::string target;
  std::string abi;
  std::string code_key;  ///< see KernelClass::code_key
  Knobs knobs;
  std::string epilogue;         ///< canonical text; empty when out is the accumulator
  CompiledCode code;            ///< all but the bytes
  std::string_view bytes = {};  ///< of the code, which the caller holds
};

/// A dispatch rule as the file holds it.
struct StoredRule {
  std::string problem;
  std::int64_t m_low = 0;
  std::int64_t m_high = 0;
  std::uint64_t artifact = 0;
};

struct StoredBundle {
  std::vector<StoredArtifact> artifacts;
  std::vector<StoredRule> rules;
};

/// The file's bytes: a header of 32 bytes (magic "ESTOCBIN", schema and length of the manifest as
/// little-endian 32-bit numbers, XXH3-128 hash of all that follows, high half first), the manifest
/// in JSON, then the code of each artifact, at a multiple of 64 bytes. Equal code is stored once.
std::string encode(const StoredBundle& bundle);

/// Reads them back; the artifacts' code lies in `bytes`. Throws Error{value} with what was expected
/// for bytes that encode did not make.
StoredBundle decode(std::string_view bytes);

}  // namespace estoc::discovery
