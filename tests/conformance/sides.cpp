// Cases on the emulator, and on the GPU or what stands for it.
#include "sides.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "emulator/tensor_map.h"
#include "estoc/status.hpp"

namespace conformance {
namespace {

using estoc::testing_support::Spent;

std::string run_case_on(Gpu& gpu, const Case& test, const std::string& kernel,
                        const Expected& expected) {
  const std::vector<std::byte> input = make_input(test);
  const unsigned long long in = gpu.buffer(0, input.size());
  const unsigned long long out = gpu.buffer(1, test.out_bytes);
  gpu.write(in, input.data(), input.size());
  gpu.poison(out, test.out_bytes);
  Parameters parameters = make_parameters(test, static_cast<unsigned>(input.size()), in, out,
                                          estoc::jit::driver().tensor_map_encode_tiled);
  gpu.run(test.unit, kernel, {test.grid, test.cluster, test.threads, test.shared_bytes},
          &parameters);
  if (test.stops) return "the GPU carries it out, and was to stop";
  return judge(test, expected, gpu.read(out, test.out_bytes));
}

// A case whose kernel stops the GPU leaves nothing to go on with.
std::string run_and_spend(Gpu& gpu, const Case& test, const std::string& kernel) {
  try {
    return run_case_on(gpu, test, kernel, {});
  } catch (const estoc::Error& error) {
    const std::string what = error.what();
    throw Spent{what.find("ILLEGAL_INSTRUCTION") != std::string::npos ? "" : what};
  }
}

}  // namespace

CardSide::CardSide(const Cases& cases) : cases_(cases) {
  std::string problem;
  gpu_ = Gpu::open(problem);
  if (gpu_ == nullptr) throw std::runtime_error(problem);
}

std::string CardSide::name() const {
  return gpu_->name();
}

bool CardSide::load(const std::string& unit) {
  const std::string& cubin = cases_.cubins.at(unit);
  if (cubin.empty()) return false;
  if (loaded_.insert(unit).second) gpu_->load(unit, cubin);
  return true;
}

std::string CardSide::run(std::size_t i) {
  const Case& test = cases_.instructions[i];
  if (!load(test.unit)) return "it was not compiled";
  if (test.stops) return run_and_spend(*gpu_, test, cases_.symbols[i]);
  return run_case_on(*gpu_, test, cases_.symbols[i], cases_.expected[i]);
}

std::string Rehearsal::run(std::size_t i) const {
  const Schedule other = Schedule::eager;
  const Case& test = cases_.instructions[i];
  const bool planted = test.name == name_;
  if (planted && kind_ == "breaks") throw std::runtime_error("planted: the device is broken");
  if (planted && kind_ == "dies") std::abort();
  if (planted && kind_ == "hangs") {
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  Expected got = run_on_emulator(test, other);
  if (test.stops) throw Spent{got.findings.empty() ? "it did not stop" : ""};
  if (!got.findings.empty()) return got.findings;
  if (planted) got.out[0] ^= std::byte{0x40};
  return judge(test, cases_.expected[i], got.out);
}

}  // namespace conformance
