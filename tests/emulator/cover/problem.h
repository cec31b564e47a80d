// A problem that a kernel can carry out, with operands of small integers, and what must come out.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/kernel.hpp"

namespace estoc::cover {

/// Host memory of an operand; what no element covers is 0xa5.
struct HostTensor {
  std::vector<std::byte> storage;
  TensorView view;
  bool output = false;
};

/// Small and mostly ragged, some batched, with operands that serve the whole batch, some of no K or
/// one, some of more K than the kernel has stages; strides as the kernel's layouts and alignments
/// ask.
class CoverProblem {
 public:
  /// Null when a number of draws gave nothing that the kernel supports; `reason` says why the last
  /// was refused. With an epilogue, of 1 to epilogues(), the kernel is the one with it, or the one
  /// without to which it is to be added; 0 stands for none. The last is that of scales: those of
  /// rows and of whole operands, and a second level.
  static std::unique_ptr<CoverProblem> draw(const Kernel& kernel, Target target,
                                            std::mt19937_64& random, std::string& reason,
                                            std::size_t epilogue = 0);
  /// The same without what operands hold: whether there is a problem, and its epilogue.
  static std::unique_ptr<CoverProblem> describe(const Kernel& kernel, Target target,
                                                std::mt19937_64& random, std::string& reason,
                                                std::size_t epilogue = 0);
  static std::size_t epilogues();

  const RuntimeArguments& arguments() const { return *arguments_; }
  std::string text() const;
  /// Before each run: the output holds 0xa5.
  void poison();
  /// Empty when the output is what it must be, to the last bit where the arithmetic is exact.
  std::string wrong() const;

 private:
  static std::unique_ptr<CoverProblem> draw(const Kernel& kernel, Target target,
                                            std::mt19937_64& random, std::string& reason,
                                            std::size_t epilogue, bool with_data);

  std::vector<HostTensor> tensors_;  ///< A, B, out, those of the epilogue
  std::unique_ptr<RuntimeArguments> arguments_;
  std::vector<std::byte> expected_;  ///< of a GEMM without an epilogue
};

}  // namespace estoc::cover
