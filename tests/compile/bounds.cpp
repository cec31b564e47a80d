// The launch bounds that a unit states, read back from what it compiles to.
#include "bounds.h"

#include <elf.h>
#include <fmt/core.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace estoc::compile_test {
namespace {

constexpr std::string_view kThreads = "estoc_bound_threads";
constexpr std::string_view kCtas = "estoc_bound_ctas";

/// The arguments of the call whose opening parenthesis stands before `begin`.
std::vector<std::string> arguments_at(const std::string& source, std::size_t begin) {
  std::vector<std::string> arguments(1);
  int depth = 1;
  for (std::size_t i = begin; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) return arguments;
    if (c == ',' && depth == 1) {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  throw std::runtime_error("__launch_bounds__ has no closing parenthesis");
}

template <class Struct>
Struct read_at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Struct)) {
    throw std::runtime_error("the cubin ends too early");
  }
  Struct value;
  std::memcpy(&value, bytes.data() + offset, sizeof(Struct));
  return value;
}

/// Bytes of an ELF file's symbol; 0 when it has none of that name.
long symbol_bytes(std::string_view elf, std::string_view name) {
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  const auto section = [&](std::size_t index) {
    return read_at<Elf64_Shdr>(elf, header.e_shoff + index * header.e_shentsize);
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::size_t at = 0; at < symbols.sh_size; at += symbols.sh_entsize) {
      const auto symbol = read_at<Elf64_Sym>(elf, symbols.sh_offset + at);
      const std::string_view rest = elf.substr(names.sh_offset + symbol.st_name);
      if (rest.substr(0, rest.find('\0')) == name) return static_cast<long>(symbol.st_size);
    }
  }
  return 0;
}

}  // namespace

std::string with_bounds(const std::string& source) {
  constexpr std::string_view kAttribute = "__launch_bounds__(";
  const std::size_t place = source.find(kAttribute);
  if (place == std::string::npos) return source;
  const auto arguments = arguments_at(source, place + kAttribute.size());
  return source + fmt::format(
                      "extern \"C\" __device__ char {}[{}];\n"
                      "extern \"C\" __device__ char {}[{}];\n",
                      kThreads, arguments[0], kCtas, arguments.size() > 1 ? arguments[1] : "1");
}

std::optional<LaunchBounds> read_bounds(std::string_view cubin) {
  const LaunchBounds bounds{symbol_bytes(cubin, kThreads), symbol_bytes(cubin, kCtas)};
  if (bounds.threads == 0) return std::nullopt;
  return bounds;
}

}  // namespace estoc::compile_test
