// The object of a kernel class that is written in Python, as classes of the library call it.
#include "author.h"

#include <utility>

#include "errors.h"

namespace estoc::python {
namespace {

std::string text_attribute(nb::handle author, const char* name) {
  const nb::object value = author.attr(name);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  fail_type("kernel class " + class_name(author) + ": expected text as " + name + ", got " +
            class_name(value));
}

std::vector<Target> targets_of(nb::handle author) {
  std::vector<Target> targets;
  const nb::object given = author.attr("targets");
  if (given.is_none()) return targets;
  for (const nb::handle name : given) {
    const auto target = Target::parse(nb::cast<std::string>(nb::str(name)));
    if (!target) {
      fail_value("kernel class " + class_name(author) +
                 ": expected targets such as \"sm_90a\", got " + shown_repr(name));
    }
    targets.push_back(*target);
  }
  return targets;
}

Operation operation_of(nb::handle author) {
  const std::string name = text_attribute(author, "operation");
  if (const auto operation = parse_operation(name)) return *operation;
  fail_value("kernel class " + class_name(author) +
             ": expected gemm, elementwise or grouped_gemm as operation, got " + name);
}

}  // namespace

nb::object workspace_tensor(const Workspace& workspace, Device device) {
  if (workspace.data == nullptr) return nb::none();
  Tensor tensor;
  tensor.source = nb::none();
  tensor.view = TensorView::row_major(workspace.data, Dtype::u8,
                                      {static_cast<std::int64_t>(workspace.bytes)}, device);
  return nb::cast(tensor);
}

std::string summary_of(const std::exception& error) {
  const auto* raised = dynamic_cast<const nb::python_error*>(&error);
  if (raised == nullptr) return error.what();
  return class_name(raised->value()) + ": " + shown_text(raised->value());
}

void drop(nb::object& object) {
  if (Py_IsInitialized() == 0) {
    object.release();
    return;
  }
  const nb::gil_scoped_acquire locked;
  object.reset();
}

Author::Author(nb::object author)
    : name_(text_attribute(author, "name")),
      abi_(text_attribute(author, "abi")),
      operation_(operation_of(author)),
      targets_(targets_of(author)),
      configurations_(author.attr("configurations")()),
      author_(std::move(author)) {
  const nb::object base = nb::module_::import_("estoc.cuda").attr("CudaKernelClass");
  auto own = [&](const char* method) {
    const nb::object given = nb::getattr(author_.type(), method, nb::none());
    return !given.is_none() && !given.is(base.attr(method));
  };
  supports_ = own("supports");
  takes_epilogues_ = own("supports_epilogue");
  predicts_ = own("predict");
  needs_workspace_ = own("workspace_size");
}

Author::~Author() {
  if (Py_IsInitialized() == 0) {
    configurations_.leak();
    author_.release();
    return;
  }
  const nb::gil_scoped_acquire locked;
  configurations_ = Configurations();
  author_.reset();
}

Status Author::status_of(const char* method, const std::function<nb::object()>& call) const {
  const nb::gil_scoped_acquire locked;
  try {
    const nb::object given = call();
    Status* status = nullptr;
    if (nb::try_cast(given, status, false) && status != nullptr) return *status;
    fail_type(std::string("expected an estoc.Status of ") + method + ", got " + class_name(given));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::value, summary_of(error));
  }
}

Status Author::supports(const DesignPoint& point, const RuntimeArguments& arguments,
                        Target target) const {
  if (!supports_) return Status::success();
  return status_of("supports", [&] {
    return author_.attr("supports")(at(point), arguments_of(arguments), target.name());
  });
}

Status Author::supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                                 Target target) const {
  return status_of("supports_epilogue", [&] {
    return author_.attr("supports_epilogue")(at(point), epilogue, target.name());
  });
}

std::optional<Prediction> Author::predict(const DesignPoint& point,
                                          const RuntimeArguments& arguments, Target target) const {
  if (!predicts_) return std::nullopt;
  const nb::gil_scoped_acquire locked;
  return guarded<std::optional<Prediction>>("predict", ErrorKind::value, [&] {
    const nb::object seconds =
        author_.attr("predict")(at(point), arguments_of(arguments), target.name());
    if (seconds.is_none()) return std::optional<Prediction>();
    double number = 0;
    if (nb::try_cast(seconds, number)) return std::optional(Prediction{number, {}});
    fail_type("expected a number of seconds or None, got " + class_name(seconds));
  });
}

std::size_t Author::workspace_size(const DesignPoint& point,
                                   const RuntimeArguments& arguments) const {
  if (!needs_workspace_) return 0;
  const nb::gil_scoped_acquire locked;
  return guarded<std::size_t>("workspace_size", ErrorKind::value, [&] {
    return nb::cast<std::size_t>(
        author_.attr("workspace_size")(at(point), arguments_of(arguments)));
  });
}

}  // namespace estoc::python
