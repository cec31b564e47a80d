// What the virtual NVRTC makes and the virtual driver takes in place of a cubin: the text itself.
#include "image.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

namespace estoc::virtual_gpu {
namespace {

// The first bytes are a cubin's, so that whatever sorts images by them takes it for one.
constexpr std::string_view kMagic =
    "\x7f"
    "ELF estoc virtual GPU 1\n";
// And those of PTX, which begins with a comment.
constexpr std::string_view kPtxMagic = "// estoc virtual GPU 1\n";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string write_image(const Image& image) {
  return fmt::format("{}{}\n{}\n{}", image.target.is_ptx() ? kPtxMagic : kMagic, image.name,
                     image.target.name(), image.source);
}

std::optional<Image> read_image(const char* bytes) {
  const bool ptx = std::strncmp(bytes, kPtxMagic.data(), kPtxMagic.size()) == 0;
  const std::string_view magic = ptx ? kPtxMagic : kMagic;
  if (std::strncmp(bytes, magic.data(), magic.size()) != 0) return std::nullopt;
  std::string_view text(bytes + magic.size());
  Image image;
  image.name = take_line(text);
  const auto target = Target::parse(take_line(text));
  if (!target) return std::nullopt;
  image.target = *target;
  image.source = text;
  return image;
}

bool runs_on(Target target, Target device) {
  if (target.is_ptx()) return target.cc() <= device.cc();
  if (target.arch_specific()) return target.cc() == device.cc();
  return target.cc() / 10 == device.cc() / 10 && target.cc() <= device.cc();
}

}  // namespace estoc::virtual_gpu
