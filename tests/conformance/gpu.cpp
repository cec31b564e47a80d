// Compiling for the GPU, and running on it.
#include "gpu.h"

#include <fmt/core.h>

#include <atomic>
#include <mutex>
#include <span>
#include <thread>

#include "estoc/device.hpp"
#include "jit/device_sources.h"
#include "jit/nvrtc.h"

namespace conformance {

// Of the texts of this folder, generated.
std::span<const estoc::jit::HeaderText> conformance_sources();

namespace {

namespace jit = estoc::jit;

std::string compile_unit(const UnitText& unit, std::string& cubin) {
  std::vector<jit::HeaderText> headers(jit::device_sources().headers.begin(),
                                       jit::device_sources().headers.end());
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const jit::HeaderText& header : conformance_sources())
      names.push_back("conformance/" + std::string(header.name));
    return names;
  }();
  for (std::size_t i = 0; i < kNames.size(); ++i)
    headers.push_back({kNames[i], conformance_sources()[i].text});
  try {
    cubin = jit::nvrtc_compile({.file_name = unit.name,
                                .source = unit.source,
                                .headers = headers,
                                .options = {"--gpu-architecture=sm_90a", "--std=c++20"}})
                .cubin;
    return {};
  } catch (const estoc::CompileError& error) {
    return error.log().substr(0, 2000);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::map<std::string, std::string> Gpu::compile(const std::vector<UnitText>& units,
                                                std::map<std::string, std::string>& cubins,
                                                int threads) {
  std::map<std::string, std::string> failures;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < units.size(); at = next++) {
        std::string cubin;
        std::string problem = compile_unit(units[at], cubin);
        const std::lock_guard lock(mutex);
        if (!problem.empty()) failures[units[at].name] = std::move(problem);
        cubins[units[at].name] = std::move(cubin);
      }
    });
  }
  for (std::thread& worker : workers)
    worker.join();
  return failures;
}

std::unique_ptr<Gpu> Gpu::open(std::string& problem) {
  const auto& devices = estoc::cuda_devices();
  if (devices.empty()) {
    problem = "this machine has no GPU that kernels can run on; " + jit::driver_state().problem;
    return nullptr;
  }
  int major = 0;
  jit::CUdevice device = 0;
  const jit::DriverTable& table = jit::driver();
  table.check(table.device_get(&device, 0), "cuDeviceGet");
  table.check(table.device_get_attribute(&major, jit::kComputeCapabilityMajor, device),
              "cuDeviceGetAttribute");
  if (major != 9) {
    problem = fmt::format("the GPU is of compute capability {}.x, the kernels are for 9.0", major);
    return nullptr;
  }
  return std::unique_ptr<Gpu>(new Gpu());
}

Gpu::Gpu() : table_(jit::driver()), context_(0) {
  std::array<char, 256> name{};
  table_.check(table_.device_get_name(name.data(), static_cast<int>(name.size()), 0),
               "cuDeviceGetName");
  name_ = name.data();
}

Gpu::~Gpu() {
  for (const auto& [name, library] : libraries_)
    table_.library_unload(library);
  for (const Memory& memory : buffers_)
    if (memory.address != 0) table_.mem_free(memory.address);
}

void Gpu::load(const std::string& unit, const std::string& cubin) {
  jit::CUlibrary library = nullptr;
  table_.check(
      table_.library_load_data(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cuLibraryLoadData");
  libraries_[unit] = library;
}

unsigned long long Gpu::buffer(std::size_t index, std::size_t bytes) {
  Memory& memory = buffers_[index];
  if (memory.bytes < bytes) {
    if (memory.address != 0) table_.check(table_.mem_free(memory.address), "cuMemFree");
    memory = {};
    table_.check(table_.mem_alloc(&memory.address, 2 * bytes + 1024), "cuMemAlloc");
    memory.bytes = 2 * bytes;
  }
  return (memory.address + 1023) / 1024 * 1024;
}

void Gpu::write(unsigned long long address, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  table_.check(table_.memcpy_htod(address, from, bytes), "cuMemcpyHtoD");
}

void Gpu::poison(unsigned long long address, std::size_t bytes) {
  table_.check(table_.memset_d8_async(address, 0xa5, bytes, nullptr), "cuMemsetD8Async");
}

std::vector<std::byte> Gpu::read(unsigned long long address, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  table_.check(table_.memcpy_dtoh(all.data(), address, bytes), "cuMemcpyDtoH");
  return all;
}

void Gpu::run(const std::string& unit, const std::string& kernel, const LaunchShape& shape,
              void* parameter) {
  jit::CUkernel handle = nullptr;
  table_.check(table_.library_get_kernel(&handle, libraries_.at(unit), kernel.c_str()),
               "cuLibraryGetKernel");
  table_.check(table_.kernel_set_attribute(jit::kFunctionMaxDynamicSharedSizeBytes,
                                           static_cast<int>(shape.shared_bytes), handle, 0),
               "cuKernelSetAttribute");
  jit::CUlaunchAttribute attribute{};
  attribute.id = jit::kLaunchAttributeClusterDimension;
  attribute.value.cluster = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  const bool clusters = shape.cluster != std::array<unsigned, 3>{1, 1, 1};
  const jit::CUlaunchConfig config{.grid_x = shape.grid[0],
                                   .grid_y = shape.grid[1],
                                   .grid_z = shape.grid[2],
                                   .block_x = shape.threads,
                                   .block_y = 1,
                                   .block_z = 1,
                                   .shared_bytes = shape.shared_bytes,
                                   .stream = nullptr,
                                   .attributes = &attribute,
                                   .attribute_count = clusters ? 1u : 0u};
  void* parameters[] = {parameter};
  table_.check(table_.launch_kernel_ex(&config, handle, parameters, nullptr), "cuLaunchKernelEx");
  table_.check(table_.ctx_synchronize(), "cuCtxSynchronize");
}

}  // namespace conformance
