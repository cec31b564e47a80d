// Reads the symbols of a cubin, which is an ELF file of 64 bits.
#include "jit/entries.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace estoc::jit {
namespace {

constexpr Elf64_Half kCudaMachine = 190;
constexpr unsigned char kEntryFlag = 0x10;  // in st_other

// A structure at an offset of the file; nothing where the file ends before it does.
template <typename Structure>
std::optional<Structure> read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Structure)) return std::nullopt;
  Structure value;
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}

std::string_view text_at(std::string_view file, std::uint64_t offset) {
  if (offset >= file.size()) return {};
  const std::string_view rest = file.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

void add_entries(std::string_view file, const Elf64_Shdr& symbols, const Elf64_Shdr& names,
                 std::vector<std::string>& entries) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(file, symbols.sh_offset + at);
    if (!symbol) return;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || (symbol->st_other & kEntryFlag) == 0)
      continue;
    entries.emplace_back(text_at(file, names.sh_offset + symbol->st_name));
  }
}

}  // namespace

std::optional<std::vector<std::string>> entries_of_cubin(std::string_view code) {
  const auto header = read_at<Elf64_Ehdr>(code, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != kCudaMachine) {
    return std::nullopt;
  }
  auto section = [&](std::uint64_t index) {
    return read_at<Elf64_Shdr>(code, header->e_shoff + index * header->e_shentsize);
  };
  if (header->e_shnum == 0) return std::nullopt;
  std::vector<std::string> entries;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto symbols = section(i);
    if (!symbols || symbols->sh_type != SHT_SYMTAB) continue;
    if (const auto names = section(symbols->sh_link)) add_entries(code, *symbols, *names, entries);
  }
  return entries;
}

void require_entries(const std::string& kernel, const CompiledCode& code,
                     const std::vector<std::string>& entries) {
  const auto present = entries_of_cubin(code.bytes);
  if (!present) return;
  for (const std::string& entry : entries) {
    if (std::find(present->begin(), present->end(), entry) != present->end()) continue;
    throw Error(
        ErrorKind::not_found,
        fmt::format("kernel {}: expected its code to have the entry '{}', got {}", kernel, entry,
                    present->empty() ? "none" : fmt::format("'{}'", fmt::join(*present, "', '"))));
  }
}

}  // namespace estoc::jit
