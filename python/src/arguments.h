// What Python calls RuntimeArguments: the library's arguments and the tensors they refer to.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "estoc/arguments.hpp"
#include "tensors.h"

namespace estoc::python {

/// Base of the arguments' classes. Keeps the tensors, and so their memory, alive.
class PyArguments {
 public:
  explicit PyArguments(nb::object epilogue = nb::none());
  virtual ~PyArguments() = default;
  PyArguments(const PyArguments&) = delete;
  PyArguments& operator=(const PyArguments&) = delete;

  /// The library's arguments; never null.
  virtual const RuntimeArguments* native() const = 0;
  virtual const PerformanceControls& controls() const = 0;
  virtual std::vector<std::pair<const char*, const Tensor*>> operands() const = 0;
  virtual const Tensor& first() const = 0;  ///< of the operands
  virtual const Tensor& out() const = 0;
  virtual std::string describe() const = 0;

  Device device() const { return first().view.device(); }
  const nb::object& epilogue() const { return epilogue_; }
  /// The streams that a launch has to await.
  std::span<void* const> awaited() const { return awaited_; }

  const RuntimeArguments& require_native() const { return *native(); }

 protected:
  void await(std::initializer_list<const Tensor*> tensors);

 private:
  nb::object epilogue_;
  std::vector<void*> awaited_;
};

/// The object with which the library calls a class written in Python: the caller's own where a
/// QueryScope holds it, else one with views of the caller's tensors. With the GIL held.
nb::object arguments_of(const RuntimeArguments& arguments);

/// Marks the arguments that this thread passes to the library.
class QueryScope {
 public:
  explicit QueryScope(const PyArguments& arguments);
  ~QueryScope();
  QueryScope(const QueryScope&) = delete;
  QueryScope& operator=(const QueryScope&) = delete;

 private:
  const PyArguments* outer_;
};

/// The arguments that an object is. Throws Error{type} for others.
const PyArguments& to_arguments(nb::handle object);

class PyGemmArguments final : public PyArguments {
 public:
  PyGemmArguments(nb::handle a, nb::handle b, nb::handle out, nb::handle accumulator_type,
                  nb::handle epilogue, nb::handle controls);
  /// From the library's arguments, whose tensors are views of memory that the caller keeps.
  explicit PyGemmArguments(const GemmArguments& native);

  const RuntimeArguments* native() const override { return &*native_; }
  const PerformanceControls& controls() const override { return native_->controls(); }
  std::vector<std::pair<const char*, const Tensor*>> operands() const override;
  const Tensor& first() const override { return a_; }
  const Tensor& out() const override { return out_; }
  std::string describe() const override;

  const GemmArguments& gemm() const { return *native_; }
  /// What args.A gives: an estoc.Tensor, or the estoc.ScaledTensor that came.
  nb::object a() const;
  nb::object b() const;
  /// What args.out gives, likewise.
  nb::object result() const;

 private:
  std::unique_ptr<const PyScaledTensor> scaled_a_;  // these are set while a_, b_ and out_ are made
  std::unique_ptr<const PyScaledTensor> scaled_b_;
  std::unique_ptr<const PyScaledTensor> scaled_out_;
  Tensor a_;
  Tensor b_;
  Tensor out_;
  std::optional<GemmArguments> native_;
};

class PyElementwiseArguments final : public PyArguments {
 public:
  PyElementwiseArguments(nb::handle op, nb::handle a, nb::handle b, nb::handle out,
                         nb::handle controls);
  /// out = D of the epilogue.
  PyElementwiseArguments(nb::handle a, nb::handle out, nb::handle epilogue, nb::handle controls);
  explicit PyElementwiseArguments(const ElementwiseArguments& native);

  const RuntimeArguments* native() const override { return &*native_; }
  const PerformanceControls& controls() const override { return native_->controls(); }
  std::vector<std::pair<const char*, const Tensor*>> operands() const override;
  const Tensor& first() const override { return a_; }
  const Tensor& out() const override { return out_; }
  std::string describe() const override;

  const ElementwiseArguments& elementwise() const { return *native_; }
  const Tensor& a() const { return a_; }
  const std::optional<Tensor>& b() const { return b_; }

 private:
  Tensor a_;
  std::optional<Tensor> b_;
  Tensor out_;
  std::optional<ElementwiseArguments> native_;
};

class PyGroupedGemmArguments final : public PyArguments {
 public:
  PyGroupedGemmArguments(nb::handle a, nb::handle b, nb::handle out, nb::handle accumulator_type,
                         nb::handle offsets, nb::handle zero_rest, nb::handle epilogue,
                         nb::handle controls, nb::handle layout, nb::handle rows);
  explicit PyGroupedGemmArguments(const GroupedGemmArguments& native);

  const RuntimeArguments* native() const override { return &*native_; }
  const PerformanceControls& controls() const override { return native_->controls(); }
  std::vector<std::pair<const char*, const Tensor*>> operands() const override;
  const Tensor& first() const override { return a_; }
  const Tensor& out() const override { return out_; }
  std::string describe() const override;

  const GroupedGemmArguments& grouped() const { return *native_; }
  nb::object a() const;
  nb::object b() const;
  const std::optional<Tensor>& offsets() const { return offsets_; }
  const std::optional<Tensor>& rows() const { return rows_; }

 private:
  std::unique_ptr<const PyScaledTensor> scaled_a_;  // these are set while a_ and b_ are made
  std::unique_ptr<const PyScaledTensor> scaled_b_;
  Tensor a_;
  Tensor b_;
  Tensor out_;
  std::optional<Tensor> offsets_;
  std::optional<Tensor> rows_;
  std::optional<GroupedGemmArguments> native_;
};

/// "ends", "prefix", "masked", "ranges" or "pointers".
GroupLayout to_group_layout(nb::handle name);

}  // namespace estoc::python
