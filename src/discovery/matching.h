// Which kernels of one class fit a query.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discovery/registry.h"
#include "estoc/discovery.hpp"

namespace estoc::discovery {

/// Arguments with everything about them that does not depend on the kernel class.
struct ClassQuery {
  const RuntimeArguments& arguments;
  Signature signature;
  Target target;
  std::shared_ptr<const EpilogueGraph> epilogue = arguments.epilogue_graph();
  /// The order of summation that kernels must have (summation.h).
  std::optional<std::string> summation{};
};

/// The target of a query with arguments: the one it names, else that of the operands' device.
/// Throws Error{driver} when that device is not there.
Target query_target(const RuntimeArguments& arguments, std::optional<Target> target);

/// The kernels whose dtypes, layouts, alignments and op fit, and that can have the arguments'
/// epilogue, in the order of the space. Remembered for each signature and epilogue. Passes on what
/// the class throws.
Candidates fitting_kernels(const ClassEntry& entry, const ClassQuery& class_query);

/// True when the class is of the operation, can be compiled for the target, and has the device that
/// it needs. Passes on what the class throws.
bool applies_to(const KernelClass& kernel_class, const ClassQuery& class_query);

/// Those of the classes that may have kernels for the query. A class that throws is left out and
/// adds a failure.
ClassEntries classes_for(ClassEntries classes, const ClassQuery& class_query,
                         const KernelQuery& query, std::vector<DiscoveryFailure>& failures);

/// A kernel that carries out the arguments, and what its class predicts.
struct Candidate {
  const KernelAccess::State* state;
  std::optional<Prediction> prediction;
};

/// The result of a query of one class.
struct ClassCandidates {
  Candidates kernels;                 ///< those that fit, the candidates among them
  std::vector<Candidate> candidates;  ///< in the order of the space
  std::uint64_t filtered_out = 0;     ///< supported, but the filter does not accept them
  std::optional<Status> rejection;    ///< of the first kernel that fits and is not supported
};

/// The kernels of one class, for which applies_to() holds, that carry out the arguments and pass
/// the filter. When the class throws, adds a failure and gives no candidates; what the filter
/// throws is passed on.
ClassCandidates query_class(const ClassEntry& entry, const ClassQuery& class_query,
                            const MetadataFilter& filter, std::vector<DiscoveryFailure>& failures);

}  // namespace estoc::discovery
