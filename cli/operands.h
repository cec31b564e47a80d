// Operands in memory for one problem: from files, or random; and an output that is poisoned first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "estoc/tensor.hpp"
#include "problem_files.h"

namespace estoc::cli {

/// Pages of the host, zeroed by the system and given back at the end.
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Throws Failure{memory} that says what the bytes were for.
  HostBuffer(std::int64_t bytes, const char* what);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What outputs are filled with: bytes that make a NaN, or 0xCD where the dtype has none.
std::uint8_t poison_byte(Dtype dtype);

/// Arguments with data. Files stay mapped; nothing is copied.
class HostProblem {
 public:
  /// Operands without a file get random data: A from `seed`, B from the next one, those of the
  /// epilogue from the ones after that, then scales.
  HostProblem(FilledProblem filled, std::uint64_t seed);

  const RuntimeArguments& arguments() const { return *arguments_; }
  const Problem& problem() const { return filled_.problem; }
  const TensorView& out() const { return out_; }
  /// The scales of a quantised out; else an empty view.
  const TensorView& out_scale() const { return out_scale_; }
  const FilledProblem& filled() const { return filled_; }
  /// Of filled().operands; empty views for scalars given by value.
  const std::vector<TensorView>& tensors() const { return tensors_; }

  /// Fills outputs with poison_byte: what a kernel forgets to write does not pass for a result.
  void poison();

 private:
  void make_tensor(const FilledOperand& operand);
  /// The operand that the problem says; an empty view where it has none of this name.
  TensorView make_index(const char* name, HostBuffer& buffer) const;
  TensorView operand(const OperandSpec& spec, const std::vector<std::int64_t>& shape,
                     const std::optional<FileOperand>& file, HostBuffer& buffer, const char* what);

  /// Out, with scales to write where the spec has some.
  Operand quantised(const OperandSpec& spec, const TensorView& data);
  /// The operand with the file's scales, or random ones where the spec has some.
  Operand scaled(const OperandSpec& spec, const TensorView& data,
                 const std::optional<FileOperand>& file, int k_from_end, std::uint64_t seed,
                 const char* what);

  FilledProblem filled_;
  HostBuffer a_buffer_, b_buffer_, out_buffer_, offsets_buffer_, rows_buffer_;
  std::vector<HostBuffer> buffers_;
  std::vector<HostBuffer> scales_;
  std::vector<TensorView> tensors_;
  TensorView a_, b_, out_, out_scale_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

}  // namespace estoc::cli
