// The kernels that a cubin has, read from its symbols, also of files that end too early.
#include "jit/entries.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

template <typename Structure>
std::string bytes_of(const Structure& structure) {
  return {reinterpret_cast<const char*>(&structure), sizeof(structure)};
}

/// A cubin with two kernels "first" and "second", a function that is none, and an object.
std::string small_cubin() {
  const std::string names("\0first\0second\0helper\0", 21);
  const auto symbol = [](std::uint32_t name, int type, unsigned char other) {
    Elf64_Sym made{};
    made.st_name = name;
    made.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type));
    made.st_other = other;
    return bytes_of(made);
  };
  const std::string symbols = symbol(1, STT_FUNC, 0x10) + symbol(14, STT_FUNC, 0) +
                              symbol(14, STT_OBJECT, 0x10) + symbol(7, STT_FUNC, 0x10);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shoff = sizeof(header) + names.size() + symbols.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  Elf64_Shdr table{};
  table.sh_type = SHT_SYMTAB;
  table.sh_offset = sizeof(header) + names.size();
  table.sh_size = symbols.size();
  table.sh_link = 1;
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof(header);
  strings.sh_size = names.size();
  return bytes_of(header) + names + symbols + bytes_of(table) + bytes_of(strings);
}

TEST(EntriesOfCubin, AreItsKernelsInTheOrderOfItsSymbols) {
  EXPECT_EQ(entries_of_cubin(small_cubin()), (std::vector<std::string>{"first", "second"}));
}

TEST(EntriesOfCubin, OtherCodeHasNoneToBeKnown) {
  EXPECT_EQ(entries_of_cubin(""), std::nullopt);
  EXPECT_EQ(entries_of_cubin("//\n.version 9.0\n.visible .entry f() { ret; }"), std::nullopt);
  std::string other = small_cubin();
  other[18] = 62;  // e_machine: x86-64
  EXPECT_EQ(entries_of_cubin(other), std::nullopt);
  std::string narrow = small_cubin();
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(entries_of_cubin(narrow), std::nullopt);
  std::string no_sections = small_cubin();
  no_sections[60] = 0;  // e_shnum
  EXPECT_EQ(entries_of_cubin(no_sections), std::nullopt);
}

TEST(EntriesOfCubin, ReadsNothingBeyondTheEnd) {
  const std::string whole = small_cubin();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // In memory of its own, so that sanitizers see a step too far.
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto entries = entries_of_cubin({part.data(), part.size()});
    EXPECT_TRUE(!entries || entries->size() <= 2) << size;
  }
}

TEST(RequireEntries, NamesTheKernelTheEntryAndWhatThereIs) {
  CompiledCode code;
  code.bytes = small_cubin();
  require_entries("k", code, {"second", "first"});
  try {
    require_entries("k", code, {"first", "third"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_STREQ(error.what(),
                 "kernel k: expected its code to have the entry 'third', got 'first', 'second'");
  }
  code.bytes = "// PTX";
  require_entries("k", code, {"third"});
}

}  // namespace
}  // namespace estoc::jit
