// Cases on the emulator, and on the card or what stands for it.
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

namespace harness = estoc::harness;
using estoc::testing_support::Spent;

unsigned long long number_of(const std::byte* data) {
  return reinterpret_cast<unsigned long long>(data);
}

std::string run_gemm_on(Card& card, const GemmCase& test) {
  const GemmKernel& kernel = *test.kernel;
  harness::Operands o = harness::make_operands(kernel.config, test.problem, 11);
  const harness::Addresses at{card.buffer(0, o.a.size()), card.buffer(1, o.b.size()),
                              card.buffer(2, o.out.size())};
  card.write(at.a, o.a.data(), o.a.size());
  card.write(at.b, o.b.data(), o.b.size());
  card.poison(at.out, o.out.size());
  harness::Parameters parameters = harness::make_parameters(
      kernel.config, test.problem, o, at, estoc::jit::driver().tensor_map_encode_tiled);
  const harness::Geometry g = harness::make_geometry(kernel.config, test.problem);
  card.run(kernel.name, "estoc_kernel", {g.grid, g.cluster, g.threads, g.shared_bytes},
           harness::address_of(parameters));
  const std::vector<std::byte> got = card.read(at.out, o.out.size());
  return harness::difference(o.out, got.data(), test.expected.data());
}

std::string run_case_on(Card& card, const Case& test, const std::string& kernel,
                        const Expected& expected) {
  const std::vector<std::byte> input = make_input(test);
  const unsigned long long in = card.buffer(0, input.size());
  const unsigned long long out = card.buffer(1, test.out_bytes);
  card.write(in, input.data(), input.size());
  card.poison(out, test.out_bytes);
  Parameters parameters = make_parameters(test, static_cast<unsigned>(input.size()), in, out,
                                          estoc::jit::driver().tensor_map_encode_tiled);
  card.run(test.unit, kernel, {test.grid, test.cluster, test.threads, test.shared_bytes},
           &parameters);
  if (test.stops) return "the card carries it out, and was to stop";
  return judge(test, expected, card.read(out, test.out_bytes));
}

// A case whose kernel stops the card leaves nothing to go on with.
std::string run_and_spend(Card& card, const Case& test, const std::string& kernel) {
  try {
    return run_case_on(card, test, kernel, {});
  } catch (const estoc::Error& error) {
    const std::string what = error.what();
    throw Spent{what.find("ILLEGAL_INSTRUCTION") != std::string::npos ? "" : what};
  }
}

}  // namespace

std::string run_gemm(GemmCase& test, estoc::emulator::Schedule schedule) {
  const GemmKernel& kernel = *test.kernel;
  harness::Operands o = harness::make_operands(kernel.config, test.problem, 11);
  harness::compute_product(o);
  harness::Parameters parameters = harness::make_parameters(
      kernel.config, test.problem, o,
      {number_of(o.a.data()), number_of(o.b.data()), number_of(o.out.data())},
      estoc::emulator::encode_tiled);
  const harness::Geometry geometry = harness::make_geometry(kernel.config, test.problem);
  estoc::emulator::Options options;
  options.kernel_name = kernel.name;
  options.schedule = schedule;
  options.cluster = geometry.cluster;
  options.memory = {{o.a.data(), o.a.extent(), "A", false},
                    {o.b.data(), o.b.extent(), "B", false},
                    {o.out.data(), o.out.extent(), "out", true, false}};
  void* arguments[] = {harness::address_of(parameters)};
  const auto report = estoc::emulator::launch(kernel.entry, geometry.grid, geometry.threads,
                                              geometry.shared_bytes, arguments, options);
  const std::byte* out = o.out.data();
  test.expected.assign(out, out + o.out.size());
  std::string wrong = harness::difference(o.out, out, o.out.encoded().data());
  if (!wrong.empty()) wrong += " from the product\n";
  return wrong + report.text();
}

CardSide::CardSide(const Cases& cases) : cases_(cases) {
  std::string problem;
  card_ = Card::open(problem);
  if (card_ == nullptr) throw std::runtime_error(problem);
}

std::string CardSide::name() const {
  return card_->name();
}

bool CardSide::load(const std::string& unit) {
  const std::string& cubin = cases_.cubins.at(unit);
  if (cubin.empty()) return false;
  if (loaded_.insert(unit).second) card_->load(unit, cubin);
  return true;
}

std::string CardSide::run(std::size_t i) {
  if (i >= cases_.instructions.size()) {
    const GemmCase& test = cases_.gemms[i - cases_.instructions.size()];
    return load(test.kernel->name) ? run_gemm_on(*card_, test) : "it was not compiled";
  }
  const Case& test = cases_.instructions[i];
  if (!load(test.unit)) return "it was not compiled";
  if (test.stops) return run_and_spend(*card_, test, cases_.symbols[i]);
  return run_case_on(*card_, test, cases_.symbols[i], cases_.expected[i]);
}

std::string Rehearsal::run(std::size_t i) const {
  const Schedule other = Schedule::eager;
  const bool gemm = i >= cases_.instructions.size();
  const std::string name =
      gemm ? cases_.gemms[i - cases_.instructions.size()].name : cases_.instructions[i].name;
  const bool planted = name == name_;
  if (planted && kind_ == "breaks") throw std::runtime_error("planted: the device is broken");
  if (planted && kind_ == "dies") std::abort();
  if (planted && kind_ == "hangs") {
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (gemm) {
    GemmCase test = cases_.gemms[i - cases_.instructions.size()];
    std::vector<std::byte> want;
    want.swap(test.expected);
    std::string wrong = run_gemm(test, other);
    if (!wrong.empty()) return wrong;
    if (planted) test.expected[0] ^= std::byte{1};
    return compare_words(want, test.expected);
  }
  const Case& test = cases_.instructions[i];
  Expected got = run_on_emulator(test, other);
  if (test.stops) throw Spent{got.findings.empty() ? "it did not stop" : ""};
  if (!got.findings.empty()) return got.findings;
  if (planted) got.out[0] ^= std::byte{0x40};
  return judge(test, cases_.expected[i], got.out);
}

}  // namespace conformance
