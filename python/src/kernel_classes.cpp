// Classes derived from estoc.Kernel, whose kernels run by means of their own, as classes of the
// library.
#include <memory>
#include <mutex>
#include <utility>

#include "addresses.h"
#include "author.h"
#include "kernels.h"

namespace estoc::python {
namespace {

/// An estoc.BoundKernel.
class PythonLaunch final : public Launch {
 public:
  PythonLaunch(nb::object bound, bool on_device, std::shared_ptr<const Author> author)
      : bound_(std::move(bound)), on_device_(on_device), author_(std::move(author)) {}
  ~PythonLaunch() override { drop(bound_); }
  PythonLaunch(const PythonLaunch&) = delete;
  PythonLaunch& operator=(const PythonLaunch&) = delete;

  void launch(void* stream) override {
    const nb::gil_scoped_acquire locked;
    author_->guarded<void>("_run", ErrorKind::unsupported, [&] {
      bound_.attr("launch")(on_device_ ? nb::object(nb::int_(address_of(stream))) : nb::none());
    });
  }

 private:
  nb::object bound_;
  bool on_device_;
  std::shared_ptr<const Author> author_;
};

/// A space without kernels, for classes that generate none.
std::shared_ptr<const DesignSpace> empty_space() {
  return DesignSpace::Builder()
      .dtypes(Role::a_dtype, {Dtype::f32})
      .require({"a"}, [](const DesignPoint&) { return false; })
      .build();
}

/// Generates the kernels when the library first needs them; again where that raised.
class PythonKernelClass final : public KernelClass {
 public:
  PythonKernelClass(std::string name, nb::object source)
      : name_(std::move(name)), source_(std::move(source)) {}
  ~PythonKernelClass() override { drop(source_); }
  PythonKernelClass(const PythonKernelClass&) = delete;
  PythonKernelClass& operator=(const PythonKernelClass&) = delete;

  std::string_view name() const override { return name_; }
  Operation operation() const override {
    const auto author = this->author();
    return author != nullptr ? author->operation() : Operation::gemm;
  }
  std::span<const Target> targets() const override {
    const auto author = this->author();
    return author != nullptr ? author->targets() : known_targets();
  }
  std::shared_ptr<const DesignSpace> space() const override {
    const auto author = this->author();
    return author != nullptr ? author->space() : empty_space();
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    return author()->supports(point, arguments, target);
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const override {
    return author()->supports_epilogue(point, epilogue, target);
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    return author()->predict(point, arguments, target);
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    return author()->workspace_size(point, arguments);
  }

  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& options) const override {
    auto author = this->author();
    const nb::gil_scoped_acquire locked;
    nb::object bound = author->guarded<nb::object>("compile", ErrorKind::compile, [&] {
      return author->object().attr("bind")(author->at(point), arguments_of(arguments),
                                           workspace_tensor(options.workspace, arguments.device()));
    });
    return std::make_unique<PythonLaunch>(std::move(bound), arguments.device().is_cuda(),
                                          std::move(author));
  }

  /// With the GIL held: what the class generated.
  nb::object kernel_at(const DesignPoint& point) const {
    const auto author = this->author();
    return author->object().attr("kernel_of")(author->at(point));
  }

 private:
  struct Generated {
    std::shared_ptr<const Author> author;  ///< null: there are no kernels
  };

  /// Null where the class has no kernels. Throws Error{value}.
  std::shared_ptr<const Author> author() const {
    {
      const std::lock_guard lock(mutex_);
      if (generated_) return generated_->author;
    }
    auto made = generate();
    const std::lock_guard lock(mutex_);
    if (!generated_) generated_ = std::move(made);
    return generated_->author;
  }

  Generated generate() const {
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object adapter =
          nb::module_::import_("estoc._adapters").attr("adapt")(name_, source_);
      if (adapter.is_none()) return {};
      return {std::make_shared<const Author>(adapter)};
    } catch (const std::exception& error) {
      throw Error(ErrorKind::value, summary_of(error));
    }
  }

  std::string name_;
  nb::object source_;
  mutable std::mutex mutex_;
  mutable std::optional<Generated> generated_;
};

/// A provider whose classes are registered one by one.
class PythonProvider final : public Provider {
 public:
  explicit PythonProvider(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override { return {}; }

 private:
  std::string name_;
};

}  // namespace

nb::object kernel_of_python(const Kernel& kernel) {
  const auto* const written = dynamic_cast<const PythonKernelClass*>(&kernel.kernel_class());
  return written != nullptr ? written->kernel_at(kernel.point()) : nb::object();
}

void bind_kernel_classes(nb::module_& module) {
  module.def("_register_kernel_class",
             [](const std::string& provider, const std::string& name, const nb::object& source) {
               register_kernel_class(provider, std::make_shared<PythonKernelClass>(name, source));
               set_type_of_author(name, source);
             });
  module.def("_unregister_kernel_class", [](const std::string& name) {
    forget_type(name);
    return unregister_kernel_class(name);
  });
  module.def("_register_provider", [](const std::string& name) {
    register_provider(std::make_shared<PythonProvider>(name));
  });
  module.def("_unregister_provider",
             [](const std::string& name) { return unregister_provider(name); });
}

}  // namespace estoc::python
