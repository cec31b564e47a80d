// The untyped program of an epilogue, and the builder that the parser and the C++ interface share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epilogue/graph_cache.h"
#include "estoc/epilogue.hpp"

namespace estoc::epilogue {

/// Longest name of an operand.
inline constexpr std::size_t kLongestName = 64;

/// Nodes are in the order in which they were made. Those of EpilogueOp::tensor stand for an input,
/// `slot` being its number; a literal's type is i32 when it was written as an integer.
struct Program {
  std::vector<EpilogueNode> nodes;
  std::vector<std::string> inputs;
  std::vector<EpilogueAssignment> assignments;
  std::vector<std::uint16_t> assigned_nodes;  ///< of each assignment
  AccumulatorPairs pairs = AccumulatorPairs::none;
  bool atomic = false;
  std::string text;
  mutable GraphCache graphs;

  bool operator==(const Program& other) const;
};

/// Collects nodes, each of them once.
class ProgramBuilder {
 public:
  ProgramBuilder();

  /// Throws Error{value} in a program that has accumulators of another kind. Accumulators in pairs
  /// are the first or the second of an element.
  int accumulator(AccumulatorPairs pairs = AccumulatorPairs::none, bool second = false);
  /// Throws as EpilogueBuilder::input does.
  int input(std::string_view name);
  int literal(double value, bool is_integer);
  /// The inputs must be as many as the operation takes. Throws Error{value} past kNodes.
  int operation(EpilogueOp op, std::span<const int> inputs);
  int cast(int input, Dtype dtype);

  void assign(std::string_view name, int node, std::optional<EpilogueReduction> reduction);
  void allow_atomic() { program_.atomic = true; }

  bool is_assigned(std::string_view name) const { return find_assignment(name) >= 0; }
  /// The number of the assignment of that name; -1 when there is none.
  int find_assignment(std::string_view name) const;
  const Program& program() const { return program_; }
  /// Throws Error{value} when D is not assigned.
  Program finish() const;

 private:
  static constexpr std::size_t kBuckets = 512;  ///< twice EpilogueLimits::kNodes

  int add(const EpilogueNode& node);

  Program program_;
  bool has_accumulator_ = false;
  std::array<std::int16_t, kBuckets> buckets_;  ///< nodes by hash; -1: none
};

/// Empty when `name` may be an operand or temporary, else what is wrong with it.
std::string_view check_name(std::string_view name);

/// Writes a program that was not text.
std::string print_program(const Program& program);

std::uint64_t hash_node(const EpilogueNode& node);

/// The function of accum that gives the first or second accumulator of a pair: "left".
std::string_view accumulator_function(AccumulatorPairs pairs, bool second);

}  // namespace estoc::epilogue
