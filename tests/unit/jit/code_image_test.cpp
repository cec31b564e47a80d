// Code from files is refused where the driver would read past its end.
#include "jit/code_image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace estoc::jit {
namespace {

constexpr std::size_t kBody = 256;

Elf64_Ehdr header_of(std::size_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190;
  header.e_shoff = sizeof(header) + kBody;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections);
  return header;
}

std::string cubin(const Elf64_Ehdr& header, const Elf64_Shdr& section) {
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(kBody, '\0');
  return bytes.append(reinterpret_cast<const char*>(&section), sizeof(section));
}

Elf64_Shdr section_of(std::uint64_t offset, std::uint64_t size) {
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = offset;
  section.sh_size = size;
  return section;
}

TEST(CodeImage, TellsFormatsApart) {
  EXPECT_EQ(code_format("\x7f"
                        "ELF..."),
            "cubin");
  EXPECT_EQ(code_format("\x50\xed\x55\xba..."), "fatbin");
  EXPECT_EQ(code_format("// ptx"), "ptx");
}

TEST(CodeImage, AWholeCubinHasNoProblem) {
  EXPECT_EQ(code_problem(cubin(header_of(1), section_of(sizeof(Elf64_Ehdr), kBody))), "");
  Elf64_Shdr zeros = section_of(1 << 20, 1 << 20);
  zeros.sh_type = SHT_NOBITS;
  EXPECT_EQ(code_problem(cubin(header_of(1), zeros)), "");
}

TEST(CodeImage, EveryTruncationIsAProblem) {
  const std::string whole = cubin(header_of(1), section_of(sizeof(Elf64_Ehdr), kBody));
  for (std::size_t length = 4; length < whole.size(); ++length)
    EXPECT_NE(code_problem(whole.substr(0, length)), "") << length;
}

TEST(CodeImage, OffsetsThatPassTheEndAreAProblem) {
  for (const auto& section :
       {section_of(1000, 1), section_of(0, 10'000), section_of(~0ULL, 2), section_of(64, ~0ULL)}) {
    EXPECT_NE(code_problem(cubin(header_of(1), section)), "");
  }
  EXPECT_NE(code_problem(cubin(header_of(2), section_of(64, 8))), "");
  Elf64_Ehdr header = header_of(1);
  header.e_phnum = 1;
  header.e_phoff = 1 << 20;
  header.e_phentsize = sizeof(Elf64_Phdr);
  EXPECT_NE(code_problem(cubin(header, section_of(64, 8))), "");
}

TEST(CodeImage, CodeOfTheHostIsAProblem) {
  Elf64_Ehdr header = header_of(1);
  header.e_machine = EM_X86_64;
  EXPECT_NE(code_problem(cubin(header, section_of(64, 8))).find("not for a GPU"),
            std::string::npos);
}

TEST(CodeImage, AFatbinHoldsTheBytesThatItStates) {
  std::string fatbin("\x50\xed\x55\xba\x01\0\x10\0\x08\0\0\0\0\0\0\0", 16);
  EXPECT_NE(code_problem(fatbin), "");
  EXPECT_EQ(code_problem(fatbin + "12345678"), "");
  EXPECT_NE(code_problem(fatbin.substr(0, 9)), "");
}

}  // namespace
}  // namespace estoc::jit
