// KernelMetadata, TensorAttributes, operands and design as Python classes.
#include "metadata.h"

#include <string>

#include "dtypes.h"
#include "errors.h"
#include "numbers.h"

namespace estoc::python {
namespace {

/// (0, 0, 1) for t, (0, 1, 0) for n, None for any.
nb::object stride_of(LayoutConstraint layout) {
  switch (layout) {
    case LayoutConstraint::t:
      return nb::make_tuple(0, 0, 1);
    case LayoutConstraint::n:
      return nb::make_tuple(0, 1, 0);
    default:
      return nb::none();
  }
}

/// The layout of strides of which the contiguous mode's is 1, or of a letter.
LayoutConstraint layout_of(nb::handle stride) {
  if (stride.is_none()) return LayoutConstraint::any;
  if (nb::isinstance<nb::str>(stride)) {
    const auto letter = nb::cast<std::string>(stride);
    if (letter == "t" || letter == "T") return LayoutConstraint::t;
    if (letter == "n" || letter == "N") return LayoutConstraint::n;
    if (letter == "x") return LayoutConstraint::any;
    fail_value("stride: expected \"t\", \"n\" or \"x\", got \"" + letter + "\"");
  }
  std::vector<std::int64_t> steps;
  for (const nb::object& step : items_of(stride, "stride"))
    steps.push_back(whole_number(step, "stride"));
  if (!steps.empty() && steps.back() == 1) return LayoutConstraint::t;
  if (steps.size() >= 2 && steps[steps.size() - 2] == 1) return LayoutConstraint::n;
  return LayoutConstraint::any;
}

TensorAttributes make_attributes(nb::handle dtype, nb::handle stride, nb::handle divisor) {
  const int divisibility = whole_int(divisor, "divisibility");
  if (divisibility < 1) {
    fail_value("divisibility: expected at least 1, got " + std::to_string(divisibility));
  }
  const Dtype type = to_dtype(dtype, "dtype");
  const int bits = divisibility * dtype_bits(type);
  return {type, layout_of(stride), bits < 8 ? 1 : bits / 8};
}

std::string text_of(const TensorAttributes& self) {
  return std::string(dtype_name(self.dtype)) + ":" + static_cast<char>(self.layout) + "@" +
         std::to_string(self.alignment);
}

template <typename T>
bool same(const T& self, nb::handle other) {
  T* given = nullptr;
  return nb::try_cast(other, given, false) && given != nullptr && self == *given;
}

nb::object shape_tuple(const Shape3& shape) {
  return nb::make_tuple(shape.m, shape.n, shape.k);
}

Shape3 to_shape(nb::handle object, const char* what) {
  std::vector<int> numbers;
  for (const nb::object& item : items_of(object, what))
    numbers.push_back(whole_int(item, what));
  if (numbers.size() == 2) numbers.push_back(1);
  if (numbers.size() != 3) {
    fail_value(std::string(what) + ": expected two or three numbers, got " +
               std::to_string(numbers.size()));
  }
  return {numbers[0], numbers[1], numbers[2]};
}

DesignMetadata make_design(nb::handle tile, nb::handle cluster, nb::handle instruction, int stages,
                           std::string schedule, int split) {
  DesignMetadata design;
  design.stages = stages;
  design.schedule = std::move(schedule);
  design.split = split;
  design.tile = to_shape(tile, "tile_shape");
  if (!cluster.is_none()) design.cluster = to_shape(cluster, "cluster_shape");
  if (!instruction.is_none()) design.instruction = to_shape(instruction, "instruction_shape");
  return design;
}

std::string describe_design(const PyDesign& self, const char* name) {
  std::string text = std::string(name) + "(";
  auto add = [&](const char* key, const Shape3& shape) {
    text += std::string(key) + "=(" + std::to_string(shape.m) + ", " + std::to_string(shape.n) +
            ", " + std::to_string(shape.k) + "), ";
  };
  if (self.native.tile) add("tile_shape", *self.native.tile);
  if (self.native.tile) add("cluster_shape", self.native.cluster);
  text += "stages=" + std::to_string(self.native.stages);
  if (!self.native.schedule.empty()) text += ", schedule='" + self.native.schedule + "'";
  return text + ")";
}

nb::object design_object(const DesignMetadata& design) {
  if (!design.tile) return nb::cast(PyDesign{design});
  return nb::cast(PyBlasDesign{{design}});
}

/// Kernels that need compute capability 10.x are those of tcgen05, whose clusters consist of pairs
/// of CTAs that share an instruction, and outputs of 16 bytes' alignment leave by TMA.
nb::object sm100_design_object(const KernelMetadata& kernel) {
  const GemmOperandsMetadata* const gemm = kernel.gemm();
  return nb::cast(PySm100Design{{{kernel.design}},
                                kernel.design.cluster.m * kernel.design.cluster.n % 2 == 0,
                                gemm != nullptr && gemm->out.alignment >= 16});
}

nb::object design_of(const PyKernelMetadata& self) {
  if (self.design.is_valid()) return self.design;
  if (self.native.min_cc / 10 == 10) return sm100_design_object(self.native);
  return design_object(self.native.design);
}

void adopt_operands(PyKernelMetadata& self) {
  GemmOperandsMetadata* gemm = nullptr;
  ElementwiseOperandsMetadata* elementwise = nullptr;
  if (nb::try_cast(self.operands, gemm, false) && gemm != nullptr) {
    self.native.operands = *gemm;
  } else if (nb::try_cast(self.operands, elementwise, false) && elementwise != nullptr) {
    self.native.operands = *elementwise;
    self.native.operation = Operation::elementwise;
  }
  PyDesign* design = nullptr;
  if (nb::try_cast(self.design, design, false) && design != nullptr) {
    self.native.design = design->native;
  }
}

void init_metadata(PyKernelMetadata* self, std::string name, nb::object kernel_class, int min_cc,
                   nb::object operands, nb::object design, nb::object epilogue) {
  if (!PyType_Check(kernel_class.ptr())) {
    fail_type("kernel_class: expected a class, got " + class_name(kernel_class));
  }
  new (self) PyKernelMetadata;
  self->native.name = std::move(name);
  self->native.kernel_class = nb::cast<std::string>(kernel_class.attr("__name__"));
  self->native.min_cc = min_cc;
  self->kernel_class = std::move(kernel_class);
  self->operands = std::move(operands);
  self->design = std::move(design);
  self->epilogue = std::move(epilogue);
  adopt_operands(*self);
}

/// "sm90_gemm" as "Sm90GemmKernel".
std::string type_name_of_class(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char letter : name) {
    if (letter != '_') text += upper ? static_cast<char>(std::toupper(letter)) : letter;
    upper = letter == '_';
  }
  return text + "Kernel";
}

void bind_attributes(nb::module_& module) {
  nb::class_<TensorAttributes>(
      module, "TensorAttributes",
      "What a kernel expects of one operand.\n\n"
      "Parameters\n----------\n"
      "dtype : dtype\n"
      "stride : sequence of int, \"t\", \"n\" or None\n"
      "    1 at the mode that must be contiguous: (0, 0, 1) for the last (t), (0, 1, 0) for the\n"
      "    next to last (n); None for any.\n"
      "divisibility : int\n    Elements that address and strides must be multiples of.")
      .def(nb::new_(&make_attributes), nb::arg("dtype").none(), nb::arg("stride").none(),
           nb::arg("divisibility").none() = 1)
      .def_prop_ro("dtype", [](const TensorAttributes& self) { return dtype_object(self.dtype); })
      .def_prop_ro("stride", [](const TensorAttributes& self) { return stride_of(self.layout); })
      .def_prop_ro(
          "layout",
          [](const TensorAttributes& self) {
            return std::string(1, static_cast<char>(self.layout));
          },
          "\"t\", \"n\", or \"x\" for any.")
      .def_prop_ro("divisibility", &TensorAttributes::divisibility, "In elements.")
      .def_ro("alignment", &TensorAttributes::alignment, "In bytes.")
      .def("__eq__", &same<TensorAttributes>, nb::arg("other").none())
      .def("__hash__",
           [](const TensorAttributes& self) { return nb::hash(nb::cast(text_of(self))); })
      .def("__reduce__",
           [](nb::handle_t<TensorAttributes> self) {
             const auto& native = nb::cast<const TensorAttributes&>(self);
             return nb::make_tuple(
                 self.type(), nb::make_tuple(dtype_object(native.dtype), stride_of(native.layout),
                                             native.divisibility()));
           })
      .def("__repr__",
           [](const TensorAttributes& self) { return "TensorAttributes(" + text_of(self) + ")"; });
}

template <typename Operands>
void bind_a_b_out(nb::class_<Operands>& type) {
  type.def_prop_ro("A", [](const Operands& self) { return self.a; })
      .def_prop_ro("B", [](const Operands& self) { return self.b; })
      .def_prop_ro("out", [](const Operands& self) { return self.out; })
      .def("__eq__", &same<Operands>, nb::arg("other").none())
      .def("__hash__", [](const Operands& self) {
        return nb::hash(nb::make_tuple(text_of(self.a), text_of(self.b), text_of(self.out)));
      });
}

void bind_operands(nb::module_& module) {
  nb::class_<GemmOperandsMetadata> gemm(module, "GemmOperandsMetadata",
                                        "Operands of a GEMM kernel: A, B, out, accumulator_type.");
  gemm.def(
          "__init__",
          [](GemmOperandsMetadata* self, const TensorAttributes& a, const TensorAttributes& b,
             const TensorAttributes& out, nb::handle accumulator_type) {
            new (self)
                GemmOperandsMetadata{a, b, out, to_dtype(accumulator_type, "accumulator_type")};
          },
          nb::arg("A").none(), nb::arg("B").none(), nb::arg("out").none(),
          nb::arg("accumulator_type").none())
      .def_prop_ro(
          "accumulator_type",
          [](const GemmOperandsMetadata& self) { return dtype_object(self.accumulator_type); })
      .def("__reduce__",
           [](nb::handle_t<GemmOperandsMetadata> self) {
             const auto& native = nb::cast<const GemmOperandsMetadata&>(self);
             return nb::make_tuple(self.type(),
                                   nb::make_tuple(native.a, native.b, native.out,
                                                  dtype_object(native.accumulator_type)));
           })
      .def("__repr__", [](const GemmOperandsMetadata& self) {
        return "GemmOperandsMetadata(A=" + text_of(self.a) + ", B=" + text_of(self.b) +
               ", out=" + text_of(self.out) +
               ", accumulator_type=" + std::string(dtype_name(self.accumulator_type)) + ")";
      });
  bind_a_b_out(gemm);
  nb::class_<ElementwiseOperandsMetadata> elementwise(
      module, "ElementwiseOperandsMetadata", "Operands of an elementwise kernel: A, B, out, op.");
  elementwise
      .def(
          "__init__",
          [](ElementwiseOperandsMetadata* self, const TensorAttributes& a,
             const TensorAttributes& b, const TensorAttributes& out, const std::string& op) {
            const auto parsed = parse_elementwise_op(op);
            if (!parsed) fail_value("op: expected an elementwise operation, got \"" + op + "\"");
            new (self) ElementwiseOperandsMetadata{a, b, out, *parsed};
          },
          nb::arg("A").none(), nb::arg("B").none(), nb::arg("out").none(), nb::arg("op"))
      .def_prop_ro(
          "op",
          [](const ElementwiseOperandsMetadata& self) { return elementwise_op_name(self.op); })
      .def("__reduce__",
           [](nb::handle_t<ElementwiseOperandsMetadata> self) {
             const auto& native = nb::cast<const ElementwiseOperandsMetadata&>(self);
             return nb::make_tuple(self.type(), nb::make_tuple(native.a, native.b, native.out,
                                                               elementwise_op_name(native.op)));
           })
      .def("__repr__", [](const ElementwiseOperandsMetadata& self) {
        return "ElementwiseOperandsMetadata(A=" + text_of(self.a) + ", B=" + text_of(self.b) +
               ", out=" + text_of(self.out) + ", op=" + std::string(elementwise_op_name(self.op)) +
               ")";
      });
  bind_a_b_out(elementwise);
}

nb::object instruction_of(const PyDesign& self) {
  return self.native.instruction ? shape_tuple(*self.native.instruction) : nb::none();
}

nb::tuple blas_arguments(const PyBlasDesign& self) {
  return nb::make_tuple(shape_tuple(*self.native.tile), shape_tuple(self.native.cluster),
                        instruction_of(self), self.native.stages, self.native.schedule,
                        self.native.split);
}

void bind_designs(nb::module_& module) {
  nb::class_<PyDesign>(module, "DesignMetadata", "How a kernel is built.")
      .def("__init__", [](PyDesign* self) { new (self) PyDesign; })
      .def_prop_ro(
          "stages", [](const PyDesign& self) { return self.native.stages; },
          "Depth of the shared-memory pipeline.")
      .def_prop_ro(
          "schedule", [](const PyDesign& self) { return self.native.schedule; },
          "\"pingpong\", \"cooperative\"; empty where there is only one way.")
      .def_prop_ro(
          "split", [](const PyDesign& self) { return self.native.split; },
          "Parts that K is divided into.")
      .def_prop_ro("instruction_shape", &instruction_of,
                   "(M, N, K) of the tensor-core instruction, or None.")
      .def(
          "__eq__",
          [](const PyDesign& self, nb::handle other) {
            PyDesign* given = nullptr;
            return nb::try_cast(other, given, false) && given != nullptr &&
                   self.native == given->native;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyDesign& self) { return nb::hash(nb::cast(describe_design(self, ""))); })
      .def(
          "__reduce__",
          [](nb::handle_t<PyDesign> self) { return nb::make_tuple(self.type(), nb::make_tuple()); })
      .def("__repr__",
           [](const PyDesign& self) { return describe_design(self, "DesignMetadata"); });
  nb::class_<PyBlasDesign, PyDesign>(
      module, "BLASDesignMetadata",
      "Design of a tiled kernel.\n\n"
      "Parameters\n----------\n"
      "tile_shape : (M, N, K) of out and K that a CTA works on at a time\n"
      "cluster_shape : (M, N, K) CTAs of a cluster\n"
      "instruction_shape : optional, of the tensor-core instruction\n"
      "stages, schedule, split : optional")
      .def(
          "__init__",
          [](PyBlasDesign* self, nb::handle tile, nb::handle cluster, nb::handle instruction,
             int stages, std::string schedule, int split) {
            new (self) PyBlasDesign{
                {make_design(tile, cluster, instruction, stages, std::move(schedule), split)}};
          },
          nb::arg("tile_shape"), nb::arg("cluster_shape") = nb::none(),
          nb::arg("instruction_shape") = nb::none(), nb::arg("stages") = 1,
          nb::arg("schedule") = "", nb::arg("split") = 1)
      .def_prop_ro("tile_shape",
                   [](const PyBlasDesign& self) { return shape_tuple(*self.native.tile); })
      .def_prop_ro("cluster_shape",
                   [](const PyBlasDesign& self) { return shape_tuple(self.native.cluster); })
      .def("__reduce__",
           [](nb::handle_t<PyBlasDesign> self) {
             return nb::make_tuple(self.type(),
                                   blas_arguments(nb::cast<const PyBlasDesign&>(self)));
           })
      .def("__repr__",
           [](const PyBlasDesign& self) { return describe_design(self, "BLASDesignMetadata"); });
  nb::class_<PySm100Design, PyBlasDesign>(module, "Sm100DesignMetadata",
                                          "Design of a kernel for Blackwell's tensor cores.")
      .def(
          "__init__",
          [](PySm100Design* self, nb::handle tile, nb::handle cluster, bool two_cta,
             bool tma_store) {
            new (self) PySm100Design{
                {{make_design(tile, cluster, nb::none(), 1, "", 1)}}, two_cta, tma_store};
          },
          nb::arg("tile_shape"), nb::arg("cluster_shape") = nb::none(),
          nb::arg("use_2cta_mma") = false, nb::arg("use_tma_store") = false)
      .def_ro("use_2cta_mma", &PySm100Design::two_cta_mma, "Two CTAs share an instruction.")
      .def_ro("use_tma_store", &PySm100Design::tma_store, "out is written by TMA.")
      .def("__reduce__",
           [](nb::handle_t<PySm100Design> self) {
             const auto& native = nb::cast<const PySm100Design&>(self);
             return nb::make_tuple(
                 self.type(), nb::make_tuple(shape_tuple(*native.native.tile),
                                             shape_tuple(native.native.cluster), native.two_cta_mma,
                                             native.tma_store));
           })
      .def("__repr__",
           [](const PySm100Design& self) { return describe_design(self, "Sm100DesignMetadata"); });
}

void bind_kernel_metadata(nb::module_& module) {
  nb::class_<PyKernelMetadata>(
      module, "KernelMetadata",
      "All that a filter reads of a kernel; its name is unique and stable.\n\n"
      "Parameters\n----------\n"
      "kernel_name : str\nkernel_class : type\n    A subclass of estoc.Kernel.\n"
      "min_cc : int\n    Ten times the smallest compute capability; 0 for any device.\n"
      "operands : GemmOperandsMetadata, ElementwiseOperandsMetadata or an object of the author's\n"
      "design : DesignMetadata or an object of the author's, optional\nepilogue : optional")
      .def("__init__", &init_metadata, nb::arg("kernel_name"), nb::arg("kernel_class").none(),
           nb::arg("min_cc") = 0, nb::arg("operands").none() = nb::none(),
           nb::arg("design") = nb::none(), nb::arg("epilogue") = nb::none())
      .def_prop_ro("kernel_name", [](const PyKernelMetadata& self) { return self.native.name; })
      .def_prop_ro(
          "kernel_class",
          [](const PyKernelMetadata& self) {
            return self.kernel_class.is_valid() ? self.kernel_class
                                                : kernel_type(self.native.kernel_class);
          },
          "The Python type, from which and this metadata the kernel can be made again.")
      .def_prop_ro(
          "class_name", [](const PyKernelMetadata& self) { return self.native.kernel_class; },
          "The class as kernel names have it.")
      .def_prop_ro(
          "provider", [](const PyKernelMetadata& self) { return self.native.provider; },
          "Name of the provider; empty for metadata that a program made.")
      .def_prop_ro("min_cc", [](const PyKernelMetadata& self) { return self.native.min_cc; })
      .def_prop_ro(
          "targets",
          [](const PyKernelMetadata& self) {
            nb::list names;
            for (const Target& target : self.native.targets)
              names.append(target.name());
            return nb::tuple(names);
          },
          "What it can be compiled for: \"cpu\", \"sm_90a\".")
      .def_prop_ro("operands", &operands_of)
      .def_prop_ro("design", &design_of)
      .def_prop_ro("epilogue",
                   [](const PyKernelMetadata& self) -> nb::object {
                     if (self.epilogue.is_valid()) return self.epilogue;
                     return self.native.epilogue.empty()
                                ? nb::none()
                                : nb::object(nb::cast(self.native.epilogue));
                   })
      .def(
          "__eq__",
          [](const PyKernelMetadata& self, nb::handle other) {
            PyKernelMetadata* given = nullptr;
            return nb::try_cast(other, given, false) && given != nullptr &&
                   self.native.name == given->native.name &&
                   self.native.kernel_class == given->native.kernel_class;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyKernelMetadata& self) { return nb::hash(nb::cast(self.native.name)); })
      .def("__repr__", [](const PyKernelMetadata& self) {
        return "KernelMetadata(kernel_name='" + self.native.name +
               "', kernel_class=" + self.native.kernel_class +
               ", min_cc=" + std::to_string(self.native.min_cc) + ")";
      });
}

/// The types of kernel classes by their names.
nb::dict known_types() {
  return nb::borrow<nb::dict>(nb::module_::import_("estoc._estoc").attr("_kernel_types"));
}

}  // namespace

PyKernelMetadata wrap_metadata(const KernelMetadata& metadata) {
  PyKernelMetadata result;
  result.native = metadata;
  return result;
}

nb::object operands_of(const PyKernelMetadata& metadata) {
  if (metadata.operands.is_valid()) return metadata.operands;
  return std::visit([](const auto& operands) { return nb::cast(operands); },
                    metadata.native.operands);
}

nb::object kernel_type(const std::string& kernel_class) {
  nb::dict types = known_types();
  nb::object found = types.attr("get")(kernel_class);
  if (!found.is_none()) return found;
  const nb::object base = nb::module_::import_("estoc._estoc").attr("Kernel");
  nb::dict contents;
  contents["__module__"] = "estoc.kernels";
  contents["__doc__"] =
      "Kernels of the class " + kernel_class + ", of which get_kernels gives instances.";
  contents["class_name"] = kernel_class;
  contents["__slots__"] = nb::make_tuple();
  nb::object made = base.type()(type_name_of_class(kernel_class), nb::make_tuple(base), contents);
  types[kernel_class.c_str()] = made;
  return made;
}

void set_type_of_author(const std::string& kernel_class, nb::object type) {
  known_types()[kernel_class.c_str()] = std::move(type);
}

void forget_type(const std::string& kernel_class) {
  known_types().attr("pop")(kernel_class, nb::none());
}

bool is_type_of_author(const std::string& kernel_class) {
  const nb::object found = known_types().attr("get")(kernel_class);
  return !found.is_none() && !nb::hasattr(found, "class_name");
}

void bind_metadata(nb::module_& module) {
  module.attr("_kernel_types") = nb::dict();
  bind_attributes(module);
  bind_operands(module);
  bind_designs(module);
  bind_kernel_metadata(module);
}

}  // namespace estoc::python
