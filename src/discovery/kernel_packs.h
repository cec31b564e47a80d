// Compiled kernels that come out of packs instead of the compiler.
#pragma once

#include <memory>
#include <string>

#include "estoc/kernel_class.hpp"

namespace estoc::discovery {

/// The request's kernel, of that name, as a pack of this machine holds it; null where none does. A
/// pack that cannot be used counts as absent, and the log says why. For requests with the default
/// options only.
std::shared_ptr<const CompiledObject> packed_object(const KernelClass& kernel_class,
                                                    const std::string& kernel,
                                                    const CompileRequest& request);

/// Opens packs again when they are needed next.
void forget_packs();

}  // namespace estoc::discovery
