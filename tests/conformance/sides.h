// Cases on the emulator, and on the GPU or what stands for it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu.h"  // before case.h, whose global i32 the enumerator of Dtype would shadow

#include "case.h"
#include "support/isolated.h"

namespace conformance {

using estoc::emulator::Schedule;

/// What both sides know: the cases, what the emulator made of them, and what was compiled.
struct Cases {
  std::vector<Case> instructions;
  std::vector<Expected> expected;
  std::vector<std::string> symbols;  ///< of the cases' kernels
  std::map<std::string, std::string> cubins;
};

/// The GPU, in the process that it is opened in.
class CardSide {
 public:
  /// Throws where there is no GPU.
  explicit CardSide(const Cases& cases);
  std::string name() const;
  /// Compares case `i`. Throws what Job may.
  std::string run(std::size_t i);

 private:
  bool load(const std::string& unit);

  const Cases& cases_;
  std::unique_ptr<Gpu> gpu_;
  std::set<std::string> loaded_;
};

/// The emulator in the GPU's place, in another order of events, with a fault planted at one case.
class Rehearsal {
 public:
  /// `planted` is KIND:NAME; kinds: differs, breaks, dies, hangs. Or empty.
  Rehearsal(const Cases& cases, const std::string& planted)
      : cases_(cases),
        kind_(planted.substr(0, planted.find(':'))),
        name_(planted.empty() ? "" : planted.substr(planted.find(':') + 1)) {}
  std::string run(std::size_t i) const;

 private:
  const Cases& cases_;
  std::string kind_;
  std::string name_;
};

}  // namespace conformance
