// The object of a kernel class that is written in Python, as classes of the library call it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "configurations.h"
#include "estoc/kernel_class.hpp"

namespace estoc::python {

/// Workspace as bytes, or None.
nb::object workspace_tensor(const Workspace& workspace, Device device);

/// "ZeroDivisionError: division by zero", where an exception of Python's own text is a traceback.
std::string summary_of(const std::exception& error);

/// Releases an object, from any thread; keeps it when the interpreter is gone.
void drop(nb::object& object);

/// The attributes name, abi, operation and targets and the configurations, read once, and the
/// methods supports, supports_epilogue, predict and workspace_size. Made with the GIL held; used
/// and destroyed by any thread, without it.
class Author {
 public:
  /// Throws Error{value | type} naming the attribute.
  explicit Author(nb::object author);
  ~Author();
  Author(const Author&) = delete;
  Author& operator=(const Author&) = delete;

  const std::string& name() const { return name_; }
  const std::string& abi() const { return abi_; }
  Operation operation() const { return operation_; }
  /// Empty where the author names none.
  std::span<const Target> targets() const { return targets_; }
  const std::shared_ptr<const DesignSpace>& space() const { return configurations_.space(); }
  /// With the GIL held: the dict of a point, and the object itself.
  nb::object at(const DesignPoint& point) const { return configurations_.at(point); }
  const nb::object& object() const { return author_; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments, Target target) const;
  bool takes_epilogues() const { return takes_epilogues_; }
  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const;
  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const;
  std::size_t workspace_size(const DesignPoint& point, const RuntimeArguments& arguments) const;

  /// What `call` returns; what it throws as an Error of the library's, which may be kept or shown
  /// to several threads. With the GIL held.
  template <typename Result>
  Result guarded(const char* method, ErrorKind kind, const std::function<Result()>& call) const {
    try {
      return call();
    } catch (const std::exception& error) {
      throw Error(kind, "kernel class " + name_ + ", " + method + ": " + summary_of(error));
    }
  }

 private:
  std::string name_;
  std::string abi_;
  Operation operation_;
  std::vector<Target> targets_;
  Configurations configurations_;
  nb::object author_;
  /// What `call` returns, which is to be an estoc.Status.
  Status status_of(const char* method, const std::function<nb::object()>& call) const;

  bool supports_ = false;
  bool takes_epilogues_ = false;
  bool predicts_ = false;
  bool needs_workspace_ = false;
};

}  // namespace estoc::python
