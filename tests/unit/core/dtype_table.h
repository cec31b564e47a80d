// Reads dtype_table.txt, the reference for conversions that make_dtype_table.py writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace estoc::test {

/// A double and the code it must become.
struct EncodeCase {
  double value;
  std::uint32_t code;
};

struct DtypeTable {
  std::map<std::string, std::vector<double>> decoded;  ///< by code
  std::map<std::string, std::uint32_t> crcs;           ///< over the f32 bits of all codes
  std::map<std::string, std::vector<EncodeCase>> encoded;
};

/// The table, read once; throws std::runtime_error when the file is not as expected.
const DtypeTable& dtype_table();

}  // namespace estoc::test
