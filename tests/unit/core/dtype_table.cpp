// Implements reading of dtype_table.txt.
#include "dtype_table.h"

#include <cstddef>
#include <fstream>
#include <stdexcept>

namespace estoc::test {
namespace {

double read_double(std::istream& in) {
  std::uint64_t bits = 0;
  in >> std::hex >> bits >> std::dec;
  return __builtin_bit_cast(double, bits);
}

std::uint32_t read_code(std::istream& in) {
  std::uint32_t code = 0;
  in >> std::hex >> code >> std::dec;
  return code;
}

void read_section(std::istream& in, const std::string& kind, DtypeTable& table) {
  std::string name;
  in >> name;
  if (kind == "crc") {
    table.crcs[name] = read_code(in);
    return;
  }
  std::size_t count = 0;
  in >> count;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = read_double(in);
    if (kind == "decode") {
      table.decoded[name].push_back(value);
    } else {
      table.encoded[name].push_back({value, read_code(in)});
    }
  }
}

DtypeTable read_table() {
  std::ifstream in(ESTOC_SOURCE_DIR "/tests/unit/core/dtype_table.txt");
  DtypeTable table;
  std::string word;
  std::getline(in, word);
  while (in >> word)
    read_section(in, word, table);
  if (!in.eof() || table.encoded.size() != 8) throw std::runtime_error("bad dtype_table.txt");
  return table;
}

}  // namespace

const DtypeTable& dtype_table() {
  static const DtypeTable table = read_table();
  return table;
}

}  // namespace estoc::test
