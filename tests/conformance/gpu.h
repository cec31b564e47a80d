// The GPU's side: compiles texts with NVRTC and runs their kernels on the first device.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/driver.h"

namespace conformance {

/// One text and the kernels in it.
struct UnitText {
  std::string name;
  std::string source;
};

struct LaunchShape {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> cluster;
  unsigned threads;
  unsigned shared_bytes;
};

class Gpu {
 public:
  /// Null with a reason in `problem` where there is no GPU of compute capability 9.0.
  static std::unique_ptr<Gpu> open(std::string& problem);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Compiles texts on several host threads; answers what failed. Needs no GPU.
  static std::map<std::string, std::string> compile(const std::vector<UnitText>& units,
                                                    std::map<std::string, std::string>& cubins,
                                                    int threads);

  /// Loads a cubin; its kernels are found by run().
  void load(const std::string& unit, const std::string& cubin);

  /// Room for an input or an output, at a multiple of 1024.
  unsigned long long buffer(std::size_t index, std::size_t bytes);
  void write(unsigned long long address, const void* from, std::size_t bytes);
  void poison(unsigned long long address, std::size_t bytes);
  std::vector<std::byte> read(unsigned long long address, std::size_t bytes);

  /// Runs a kernel with one parameter and waits. Throws estoc::Error.
  void run(const std::string& unit, const std::string& kernel, const LaunchShape& shape,
           void* parameter);

  const std::string& name() const { return name_; }

 private:
  Gpu();

  const estoc::jit::DriverTable& table_;
  estoc::jit::ContextScope context_;
  std::string name_;
  std::map<std::string, estoc::jit::CUlibrary> libraries_;
  struct Memory {
    estoc::jit::CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };
  std::array<Memory, 3> buffers_{};
};

}  // namespace conformance
