// Runs a fuzz target without libFuzzer: on the inputs of folders, then on random changes of them.
//
// Usage: replay_TARGET SECONDS LAST FOLDER...
// For SECONDS the inputs are changed at random; LAST is a file that holds the input being tried,
// and so the one that failed. A folder that does not exist counts as empty.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using Input = std::vector<std::uint8_t>;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t most,
                                                                     unsigned seed);

namespace {

constexpr std::size_t kMaxBytes = 4096;

std::mt19937& generator() {
  static std::mt19937 random(std::random_device{}());
  return random;
}

std::size_t below(std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(generator());
}

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Input> inputs_in(std::span<char* const> folders) {
  std::vector<Input> inputs;
  for (const char* folder : folders) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      inputs.push_back(read(entry.path()));
  }
  if (inputs.empty()) throw std::runtime_error("there are no inputs");
  return inputs;
}

/// Runs the target on an input that LAST holds meanwhile.
void try_input(const char* last, const Input& input) {
  std::ofstream(last, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

Input changed(Input input) {
  std::size_t size = std::min(input.size(), kMaxBytes);
  input.resize(kMaxBytes);
  const auto seed = static_cast<unsigned>(below(1U << 31));
  size = LLVMFuzzerCustomMutator != nullptr
             ? LLVMFuzzerCustomMutator(input.data(), size, kMaxBytes, seed)
             : LLVMFuzzerMutate(input.data(), size, kMaxBytes);
  input.resize(size);
  return input;
}

}  // namespace

/// One to four changes: of a bit or a byte, or a part that is left out, doubled or moved.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  if (most == 0) return 0;
  for (std::size_t left = 1 + below(4); left > 0; --left) {
    if (size == 0) data[size++] = 0;
    const std::size_t at = below(size);
    const std::size_t length = 1 + below(std::min<std::size_t>(size - at, 16));
    switch (below(5)) {
      case 0:
        data[at] = static_cast<std::uint8_t>(data[at] ^ (1U << below(8)));
        break;
      case 1:
        data[at] = static_cast<std::uint8_t>(below(256));
        break;
      case 2:
        std::memmove(data + at, data + at + length, size - at - length);
        size -= length;
        break;
      case 3:
        if (size + length > most) break;
        std::memmove(data + at + length, data + at, size - at);
        size += length;
        break;
      default:
        std::memmove(data + below(size - length + 1), data + at, length);
    }
  }
  return size;
}

int main(int count, char** arguments) {
  const std::span all(arguments, static_cast<std::size_t>(count));
  if (count < 4) {
    std::fprintf(stderr, "usage: %s SECONDS LAST FOLDER...\n", arguments[0]);
    return 2;
  }
  try {
    using Clock = std::chrono::steady_clock;
    const std::vector<Input> inputs = inputs_in(all.subspan(3));
    std::size_t tried = inputs.size();
    for (const Input& input : inputs)
      try_input(arguments[2], input);
    const auto end = Clock::now() + std::chrono::seconds(std::stoi(arguments[1]));
    for (; Clock::now() < end; ++tried)
      try_input(arguments[2], changed(inputs[below(inputs.size())]));
    std::printf("%zu inputs, no failure\n", tried);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}
