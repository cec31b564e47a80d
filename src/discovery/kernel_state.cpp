// What handles share: kernels that were found together, and what is made of one on its first use.
#include "discovery/kernel_state.h"

#include "discovery/metadata_of.h"

namespace estoc {

Kernel::State::~State() {
  delete on_demand_.load(std::memory_order_acquire);
}

// Threads that come at the same moment may each make it; the first one's is kept.
Kernel::State::OnDemand& Kernel::State::on_demand() const {
  OnDemand* known = on_demand_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<OnDemand>();
  made->metadata = discovery::metadata_of(info(), point);
  if (epilogue() != nullptr) made->metadata.epilogue = epilogue()->canonical;
  made->summation = info().kernel_class->summation(point, epilogue().get());
  made->point = point;
  made->point.set_decoded(info().kernel_class->decode(point, epilogue()));
  const bool first = on_demand_.compare_exchange_strong(
      known, made.get(), std::memory_order_acq_rel, std::memory_order_acquire);
  return first ? *made.release() : *known;
}

namespace discovery {

KernelGroup::KernelGroup(std::shared_ptr<const ClassInfo> class_info,
                         std::span<const DesignPoint> points,
                         std::shared_ptr<const EpilogueGraph> graph)
    : info(std::move(class_info)), epilogue(std::move(graph)) {
  states.reserve(points.size());
  NameKeys keys(*info);
  for (const DesignPoint& point : points)
    states.emplace_back(*this, point, keys.of(point));
}

std::shared_ptr<const KernelAccess::State> single_state(
    std::shared_ptr<const ClassInfo> info, const DesignPoint& point,
    std::shared_ptr<const EpilogueGraph> epilogue) {
  const auto group = std::make_shared<const KernelGroup>(std::move(info), std::span(&point, 1),
                                                         std::move(epilogue));
  return shared_state(group, group->states.front());
}

}  // namespace discovery
}  // namespace estoc
