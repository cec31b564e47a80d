// Random epilogues as problem text, for tests on every kind of target, and problems with data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/problem.hpp"

namespace estoc::testing_support {

/// What random epilogues are like.
struct RandomEpilogueOptions {
  int inputs = 8;   ///< at most
  int outputs = 8;  ///< at most, D included
  int depth = 12;   ///< operations on the way from an input to an output, at most
  bool reductions = true;
  bool dropout = true;
  /// One of these is drawn: the accumulators that the epilogue has.
  std::vector<AccumulatorPairs> pairs{AccumulatorPairs::none};
};

/// Adds an epilogue and its operands to a problem that has extents, dtypes and layouts. The same
/// seed gives the same epilogue. Functions whose domain is not the whole line get what is in it.
Problem with_random_epilogue(Problem problem, std::uint64_t seed,
                             const RandomEpilogueOptions& options = {});

/// The arguments of a problem on memory of the host, inputs random and outputs poisoned.
class HostArguments {
 public:
  HostArguments(Problem problem, std::uint64_t seed);

  const GemmArguments& arguments() const { return *arguments_; }
  /// The bytes of out or of an operand of the epilogue; none for scalars given by value.
  std::vector<std::byte>& bytes(const std::string& name);

 private:
  TensorView allocate(Dtype dtype, const std::vector<std::int64_t>& shape,
                      const std::vector<std::int64_t>& strides, const std::string& name);

  struct Buffer {
    std::string name;
    std::unique_ptr<std::vector<std::byte>> bytes;
  };
  std::vector<Buffer> buffers_;
  std::unique_ptr<GemmArguments> arguments_;
};

}  // namespace estoc::testing_support
