// Implements the checks of compiled code; reference: ELF-64 object file format.
#include "jit/code_image.h"

#include <elf.h>
#include <fmt/core.h>

#include <cstdint>
#include <cstring>

namespace estoc::jit {
namespace {

constexpr std::string_view kElf{ELFMAG, SELFMAG};
constexpr std::string_view kFatbin = "\x50\xed\x55\xba";
constexpr std::uint16_t kMachineCuda = 190;

/// The fatbin's outer header: the code follows it.
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t code_bytes;
};

bool holds(std::string_view code, std::uint64_t offset, std::uint64_t bytes) {
  return offset <= code.size() && bytes <= code.size() - offset;
}

/// True when a table of `count` entries lies within the code, and what each names does too.
template <typename Entry, typename Fits>
bool table_fits(std::string_view code, std::uint64_t offset, std::size_t count,
                std::size_t entry_bytes, const Fits& fits) {
  if (count == 0) return true;
  if (entry_bytes != sizeof(Entry) || !holds(code, offset, count * sizeof(Entry))) return false;
  for (std::size_t i = 0; i < count; ++i) {
    Entry entry;
    std::memcpy(&entry, code.data() + offset + i * sizeof(Entry), sizeof(Entry));
    if (!fits(entry)) return false;
  }
  return true;
}

std::string cubin_problem(std::string_view code) {
  Elf64_Ehdr header;
  if (code.size() < sizeof(header)) return "its header passes its end";
  std::memcpy(&header, code.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return "it is no ELF file of 64 bits";
  }
  if (header.e_machine != kMachineCuda) {
    return fmt::format("it is for ELF machine {}, not for a GPU", header.e_machine);
  }
  const bool sections = table_fits<Elf64_Shdr>(
      code, header.e_shoff, header.e_shnum, header.e_shentsize, [&](const Elf64_Shdr& section) {
        return section.sh_type == SHT_NOBITS || holds(code, section.sh_offset, section.sh_size);
      });
  if (!sections) return "its sections pass its end";
  const bool segments = table_fits<Elf64_Phdr>(
      code, header.e_phoff, header.e_phnum, header.e_phentsize,
      [&](const Elf64_Phdr& segment) { return holds(code, segment.p_offset, segment.p_filesz); });
  return segments ? "" : "its segments pass its end";
}

std::string fatbin_problem(std::string_view code) {
  FatbinHeader header;
  if (code.size() < sizeof(header)) return "its header passes its end";
  std::memcpy(&header, code.data(), sizeof(header));
  return holds(code, header.header_bytes, header.code_bytes) ? "" : "its code passes its end";
}

}  // namespace

std::string_view code_format(std::string_view code) {
  if (code.starts_with(kElf)) return "cubin";
  return code.starts_with(kFatbin) ? "fatbin" : "ptx";
}

std::string code_problem(std::string_view code) {
  const std::string_view format = code_format(code);
  if (format == "cubin") return cubin_problem(code);
  return format == "fatbin" ? fatbin_problem(code) : "";
}

}  // namespace estoc::jit
