// The objects behind the handles of the C interface, and what finds out that a handle is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "estoc/background_tuner.hpp"
#include "estoc/bundle.hpp"
#include "estoc/compile_all.hpp"
#include "estoc/discovery.hpp"
#include "estoc/estoc.h"
#include "estoc/tensor_file.hpp"

namespace estoc::c_api {

/// Begins each object with a word that tells its kind, so that a handle of another kind is refused,
/// and one of a destroyed object as long as nothing else lies in its memory. Kinds that one file
/// alone knows stand there: 13 to 16 in device.cpp, 17 and 18 in process.cpp, 19 to 21 in
/// check.cpp, 22 in tune.cpp, 100 in plan.cpp, 101 in moe.cpp.
template <std::uint32_t kind>
class Tagged {
 public:
  Tagged(const Tagged&) = delete;
  Tagged& operator=(const Tagged&) = delete;
  bool intact() const { return tag_ == kTag; }

 protected:
  Tagged() = default;
  ~Tagged() { const_cast<volatile std::uint32_t&>(tag_) = 0; }

 private:
  static constexpr std::uint32_t kTag = 0xE570C000U + kind;
  std::uint32_t tag_ = kTag;
};

/// An object that is one value of the C++ interface.
template <std::uint32_t kind, typename Value>
struct Holder : Tagged<kind> {
  explicit Holder(Value held) : value(std::move(held)) {}
  Value value;
};

/// Compiled kernels of a dispatch as handles, by the address of what they are copies of.
struct DispatchTable {
  Dispatch dispatch;
  std::vector<std::pair<const Artifact*, std::unique_ptr<estoc_artifact>>> handles;
};

/// A bound kernel, and the product that it was bound to where it was one.
struct BoundLaunch {
  BoundKernel bound;
  std::optional<GemmArguments> product;
};

/// A file, and the texts of its rules' problems.
struct OpenBundle {
  Bundle bundle;
  std::vector<std::string> problems;
};

}  // namespace estoc::c_api

struct estoc_strings : estoc::c_api::Holder<1, std::vector<std::string>> {
  using Holder::Holder;
};
struct estoc_tensor_file : estoc::c_api::Holder<2, estoc::FileTensor> {
  using Holder::Holder;
};
struct estoc_arguments : estoc::c_api::Holder<3, std::unique_ptr<estoc::RuntimeArguments>> {
  using Holder::Holder;
};
struct estoc_kernel : estoc::c_api::Holder<4, estoc::Kernel> {
  using Holder::Holder;
};
struct estoc_kernels
    : estoc::c_api::Holder<5, std::variant<estoc::KernelList, estoc::KernelSequence>> {
  using Holder::Holder;
};
struct estoc_prediction : estoc::c_api::Holder<6, std::vector<estoc::PredictionPart>> {
  using Holder::Holder;
};
struct estoc_explanations : estoc::c_api::Holder<7, std::vector<estoc::Explanation>> {
  using Holder::Holder;
};
struct estoc_artifact : estoc::c_api::Holder<8, estoc::Artifact> {
  using Holder::Holder;
};
struct estoc_outcomes : estoc::c_api::Holder<9, std::vector<estoc::CompileOutcome>> {
  using Holder::Holder;
};
struct estoc_bundle : estoc::c_api::Holder<10, estoc::c_api::OpenBundle> {
  using Holder::Holder;
};
struct estoc_dispatch : estoc::c_api::Holder<11, estoc::c_api::DispatchTable> {
  using Holder::Holder;
};
struct estoc_tuner : estoc::c_api::Holder<23, std::unique_ptr<estoc::BackgroundTuner>> {
  using Holder::Holder;
};
struct estoc_launch : estoc::c_api::Holder<12, estoc::c_api::BoundLaunch> {
  using Holder::Holder;
};
