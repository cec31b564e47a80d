// Kernels written in Python that run by means of their own, as classes of the library: so that the
// command line has them.
#include <memory>
#include <utility>

#include "addresses.h"
#include "author.h"

namespace estoc::python {
namespace {

/// An estoc.BoundKernel.
class ListedLaunch final : public Launch {
 public:
  explicit ListedLaunch(nb::object bound, bool on_device, const Author& author)
      : bound_(std::move(bound)), on_device_(on_device), author_(author) {}
  ~ListedLaunch() override {
    const nb::gil_scoped_acquire locked;
    bound_.reset();
  }
  ListedLaunch(const ListedLaunch&) = delete;
  ListedLaunch& operator=(const ListedLaunch&) = delete;

  void launch(void* stream) override {
    const nb::gil_scoped_acquire locked;
    author_.guarded<void>("_run", ErrorKind::unsupported, [&] {
      bound_.attr("launch")(on_device_ ? nb::object(nb::int_(address_of(stream))) : nb::none());
    });
  }

 private:
  nb::object bound_;
  bool on_device_;
  const Author& author_;  // of the class, which outlives what it has bound
};

class ListedClass final : public Authored<KernelClass> {
 public:
  using Authored::Authored;

  std::span<const Target> targets() const override { return author().targets(); }

  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& options) const override {
    const nb::gil_scoped_acquire locked;
    nb::object bound = author().guarded<nb::object>("compile", ErrorKind::compile, [&] {
      return author().object().attr("bind")(
          author().at(point), arguments_of(arguments),
          workspace_tensor(options.workspace, arguments.device()));
    });
    return std::make_unique<ListedLaunch>(std::move(bound), arguments.device().is_cuda(), author());
  }
};

}  // namespace

void bind_listed_classes(nb::module_& module) {
  module.def("_list_class", [](const std::string& provider, nb::object author) {
    register_kernel_class(provider, std::make_shared<ListedClass>(std::move(author)));
  });
}

}  // namespace estoc::python
