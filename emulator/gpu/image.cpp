// What the virtual NVRTC makes and the virtual driver takes in place of a cubin: the text itself.
#include "image.h"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace estoc::virtual_gpu {
namespace {

constexpr std::string_view kMark = "estoc virtual GPU 2\n";
// Before the mark of PTX, which begins with a comment.
constexpr std::string_view kComment = "// ";

// An image begins as a cubin without sections, so that whatever looks at cubins takes it for one.
std::string cubin_head() {
  constexpr Elf64_Half kMachineCuda = 190;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  std::string bytes(sizeof(header), '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes.append(kMark);
}

std::string head(bool ptx) {
  return ptx ? std::string(kComment).append(kMark) : cubin_head();
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string write_image(const Image& image) {
  return fmt::format("{}{}\n{}\n{}", head(image.target.is_ptx()), image.name, image.target.name(),
                     image.source);
}

std::optional<Image> read_image(const char* bytes) {
  const bool ptx = std::strncmp(bytes, kComment.data(), kComment.size()) == 0;
  const std::string expected = head(ptx);
  // Byte by byte: other code may be shorter.
  if (!std::equal(expected.begin(), expected.end(), bytes)) return std::nullopt;
  std::string_view text(bytes + expected.size());
  Image image;
  image.name = take_line(text);
  const auto target = Target::parse(take_line(text));
  if (!target) return std::nullopt;
  image.target = *target;
  image.source = text;
  return image;
}

std::vector<std::string> entries_in(std::string_view source) {
  constexpr std::string_view kKernel = "extern \"C\" __global__ void ";
  constexpr std::string_view kBounds = "__launch_bounds__(";
  std::vector<std::string> entries;
  for (std::size_t at = 0; (at = source.find(kKernel, at)) != std::string_view::npos;) {
    at += kKernel.size();
    if (source.substr(at).starts_with(kBounds)) {
      int depth = 1;
      for (at += kBounds.size(); at < source.size() && depth > 0; ++at)
        depth += source[at] == '(' ? 1 : source[at] == ')' ? -1 : 0;
    }
    at = std::min(source.find_first_not_of(" \n", at), source.size());
    const std::size_t end = std::min(source.find('(', at), source.size());
    entries.emplace_back(source.substr(at, end - at));
  }
  return entries;
}

bool runs_on(Target target, Target device) {
  if (target.is_ptx()) return target.cc() <= device.cc();
  if (target.arch_specific()) return target.cc() == device.cc();
  return target.cc() / 10 == device.cc() / 10 && target.cc() <= device.cc();
}

}  // namespace estoc::virtual_gpu
