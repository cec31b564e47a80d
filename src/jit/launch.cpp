// What a launch consists of: driver nodes, started in order on a stream and nothing else.
#include "jit/launch.h"

#include <cstring>
#include <new>

namespace estoc::jit {
namespace {

constexpr std::align_val_t kParameterAlignment{64};

CUresult start_kernel(const DriverTable& table, const KernelNode& node, CUstream stream) {
  const Geometry& g = node.geometry;
  std::array<CUlaunchAttribute, 2> attributes;
  unsigned count = 0;
  if (g.cluster != std::array<unsigned, 3>{1, 1, 1}) {
    attributes[count].id = kLaunchAttributeClusterDimension;
    attributes[count++].value.cluster = {g.cluster[0], g.cluster[1], g.cluster[2]};
  }
  if (g.programmatic) {
    attributes[count].id = kLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].value.programmatic_serialization = 1;
  }
  const CUlaunchConfig config{.grid_x = g.grid[0],
                              .grid_y = g.grid[1],
                              .grid_z = g.grid[2],
                              .block_x = g.threads,
                              .block_y = 1,
                              .block_z = 1,
                              .shared_bytes = g.shared_bytes,
                              .stream = stream,
                              .attributes = attributes.data(),
                              .attribute_count = count};
  void* parameters[] = {node.parameters.data()};
  return table.launch_kernel_ex(&config, node.kernel->handle(), parameters, nullptr);
}

CUresult start_fill(const DriverTable& table, const FillNode& node, CUstream stream) {
  if (node.bytes == 0) return kCudaSuccess;
  return table.memset_d8_async(node.address, node.value, node.bytes, stream);
}

}  // namespace

ParameterBlock::ParameterBlock(std::span<const std::byte> bytes)
    : storage_(static_cast<std::byte*>(::operator new(bytes.size(), kParameterAlignment))) {
  std::memcpy(storage_.get(), bytes.data(), bytes.size());
}

void ParameterBlock::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, kParameterAlignment);
}

DeviceLaunch::DeviceLaunch(int device, std::vector<LaunchNode> nodes)
    : table_(driver()), nodes_(std::move(nodes)) {
  const ContextScope scope(device);
  context_ = scope.context();
  for (const LaunchNode& node : nodes_) {
    if (const auto* kernel = std::get_if<KernelNode>(&node)) {
      kernel->kernel->prepare(device, static_cast<int>(kernel->geometry.shared_bytes));
    }
  }
}

void DeviceLaunch::launch(void* stream) {
  const auto target = static_cast<CUstream>(stream);
  CUcontext current = nullptr;
  table_.check(table_.ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == context_) {
    start(target);
    return;
  }
  const ContextScope scope(context_);
  start(target);
}

void DeviceLaunch::start(CUstream stream) const {
  for (const LaunchNode& node : nodes_) {
    if (const auto* kernel = std::get_if<KernelNode>(&node)) {
      table_.check(start_kernel(table_, *kernel, stream), "cuLaunchKernelEx");
    } else {
      table_.check(start_fill(table_, std::get<FillNode>(node), stream), "cuMemsetD8Async");
    }
  }
}

}  // namespace estoc::jit
