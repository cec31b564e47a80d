// Random operands on a device, in enough copies that no launch finds them in the L2 cache.
#include "tune/operand_sets.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "estoc/numeric.hpp"
#include "jit/driver.h"

namespace estoc::tuning {
namespace {

// Random values before they repeat; odd, so that rows of a power of two differ.
constexpr std::int64_t kPeriod = (std::int64_t{1} << 22) + 7;
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// What keeps the GPU as busy as real data does.
std::vector<std::byte> random_elements(Dtype dtype, std::int64_t elements, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(storage_bytes(dtype, elements)));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> integer(dtype == Dtype::u8 ? 0 : -128,
                                             dtype == Dtype::u8 ? 255 : 127);
  for (std::int64_t i = 0; i < elements; ++i) {
    double value = is_float(dtype) ? normal(random) : integer(random);
    if (dtype == Dtype::e8m0) value = std::exp2(std::round(value));
    store_element(dtype, bytes.data(), i, value);
  }
  return bytes;
}

std::size_t span_bytes(const TensorView& view) {
  return static_cast<std::size_t>(view.span_bytes());
}

OperandPool::Use use_of(const NamedOperand& operand) {
  return operand.role == OperandRole::output  ? OperandPool::Use::outputs
         : operand.role == OperandRole::index ? OperandPool::Use::indices
                                              : OperandPool::Use::inputs;
}

/// Bytes that all copies of the operands take of each kind of memory.
class Demand {
 public:
  using Key = std::pair<OperandPool::Use, Dtype>;

  void add(OperandPool::Use use, const TensorView& view) {
    bytes_[{use, view.dtype()}] += aligned(span_bytes(view));
  }
  void add(const RuntimeArguments& arguments) {
    for (const NamedOperand& operand : arguments.operands()) {
      operand_with(operand, [&](const TensorView& view) {
        add(use_of(operand), view);
        return view;
      });
    }
    for (const EpilogueOperand& operand : arguments.epilogue().operands())
      if (operand.tensor() != nullptr) add(OperandPool::Use::epilogue, *operand.tensor());
  }
  const std::map<Key, std::size_t>& bytes() const { return bytes_; }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& [key, bytes] : bytes_)
      sum += bytes;
    return sum;
  }

 private:
  std::map<Key, std::size_t> bytes_;
};

/// Places copy after copy in the pool's memory.
class Placer {
 public:
  Placer(OperandPool& pool, const Demand& one_set, int sets, std::size_t number)
      : device_(pool.device()) {
    for (const auto& [key, bytes] : one_set.bytes()) {
      next_[key] = static_cast<std::byte*>(
          pool.take(key.first, key.second, bytes * static_cast<std::size_t>(sets), number));
    }
  }

  std::unique_ptr<RuntimeArguments> place(const RuntimeArguments& like, const Problem& problem) {
    std::vector<Operand> operands;
    for (const NamedOperand& operand : like.operands()) {
      operands.push_back(operand_with(
          operand, [&](const TensorView& view) { return place(use_of(operand), view); }));
      if (operand.role == OperandRole::index) {
        upload_index(problem, operands.back().tensor(), operand.name);
      }
    }
    std::vector<EpilogueOperand> epilogue;
    for (const EpilogueOperand& operand : like.epilogue().operands()) {
      if (operand.tensor() == nullptr) {
        epilogue.push_back(operand);
      } else {
        epilogue.emplace_back(operand.name, place(OperandPool::Use::epilogue, *operand.tensor()));
      }
    }
    return like.with_operands(operands, std::move(epilogue));
  }

 private:
  TensorView place(OperandPool::Use use, const TensorView& like) {
    std::byte*& next = next_.at({use, like.dtype()});
    void* const address = next;
    next += aligned(span_bytes(like));
    return TensorView(address, like.dtype(), like.shape(), like.strides(), device_);
  }

  void upload_index(const Problem& problem, const TensorView& view, const char* name) const {
    std::vector<std::int32_t> values(static_cast<std::size_t>(view.elements()));
    problem.fill_index(TensorView::row_major(values.data(), view.dtype(), view.shape()), name);
    const jit::ContextScope scope(device_.index);
    jit::driver().check(
        jit::driver().memcpy_htod(reinterpret_cast<jit::CUdeviceptr>(view.data()), values.data(),
                                  values.size() * sizeof(std::int32_t)),
        "cuMemcpyHtoD");
  }

  Device device_;
  std::map<Demand::Key, std::byte*> next_;
};

}  // namespace

void OperandPool::fill(DeviceMemory& memory, Dtype dtype) {
  std::vector<std::byte>& block = blocks_[dtype];
  const auto wanted = std::min<std::int64_t>(
      kPeriod, static_cast<std::int64_t>(memory.bytes()) * 8 / dtype_bits(dtype));
  if (block.size() < static_cast<std::size_t>(storage_bytes(dtype, wanted))) {
    block = random_elements(dtype, wanted, seed_ + static_cast<std::uint64_t>(dtype));
  }
  const jit::ContextScope scope(device_.index);
  std::size_t done = std::min(block.size(), memory.bytes());
  memory.upload(block.data(), done);
  const auto begin = reinterpret_cast<jit::CUdeviceptr>(memory.data());
  while (done < memory.bytes()) {
    const std::size_t more = std::min(done, memory.bytes() - done);
    jit::driver().check(jit::driver().memcpy_dtod_async(begin + done, begin, more, nullptr),
                        "cuMemcpyDtoDAsync");
    done += more;
  }
}

void* OperandPool::take(Use use, Dtype dtype, std::size_t bytes, std::size_t problem) {
  DeviceMemory& memory = memory_[{use, dtype, use == Use::indices ? problem : 0}];
  if (memory.bytes() < bytes) {
    memory = {};
    memory = DeviceMemory(bytes + bytes / 4, device_);
    if (use == Use::outputs) {
      memory.fill(0xff);
    } else {
      fill(memory, dtype);
    }
    synchronize(device_);
  }
  return memory.data();
}

OperandSets::OperandSets(const Problem& problem, OperandPool& pool, std::size_t most,
                         std::size_t number) {
  const auto described = problem.arguments(Device::cpu());
  Demand one_set;
  one_set.add(*described);
  const DeviceInfo& info = cuda_devices().at(static_cast<std::size_t>(pool.device().index));
  const std::size_t wanted =
      2 * static_cast<std::size_t>(info.l2_bytes) / std::max<std::size_t>(one_set.total(), 1) + 1;
  const int sets = static_cast<int>(std::clamp<std::size_t>(wanted, 2, most));
  Placer placer(pool, one_set, sets, number);
  for (int set = 0; set < sets; ++set)
    arguments_.push_back(placer.place(*described, problem));
}

}  // namespace estoc::tuning
