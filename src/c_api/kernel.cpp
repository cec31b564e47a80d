// The C interface to discovery: searches, kernels by name, what kernels are.
#include <limits>

#include "c_api/support.h"
#include "estoc/metadata.hpp"

namespace estoc::c_api {

std::optional<Target> target_of(const char* name) {
  if (name == nullptr) return std::nullopt;
  return required_target(name);
}

Target required_target(const char* name) {
  const std::string_view text = &required(name, "target");
  if (const auto target = Target::parse(text)) return *target;
  throw Error(ErrorKind::value, "target: there is none of the name '" + std::string(text) + "'");
}

std::vector<Kernel> kernels_of(const estoc_kernel* const* kernels, std::size_t count) {
  std::vector<Kernel> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(value_of((&required(kernels, "kernels"))[i], "kernels"));
  return values;
}

KernelQuery query_of(const estoc_query* given) {
  const estoc_query q = read_optional(given, "query");
  KernelQuery query;
  if (q.filter != nullptr) query.filter = MetadataFilter::parse(q.filter);
  query.target = target_of(q.target);
  query.portable = q.portable != 0;
  for (std::size_t i = 0; i < q.provider_count; ++i) {
    const char* const name = (&required(q.providers, "query.providers"))[i];
    query.providers.emplace_back(&required(name, "query.providers"));
  }
  return query;
}

namespace {

const std::vector<DiscoveryFailure>& failures_of(const estoc_kernels* kernels) {
  return std::visit(
      [](const auto& found) -> const auto& { return found.failures(); },
      value_of(kernels, "kernels"));
}

/// The reason why not is there before the error is thrown.
void require_supported(const Kernel& kernel, const RuntimeArguments& arguments, const char* target,
                       estoc_reason* reason = nullptr) {
  const Status status = kernel.supports(arguments, target_of(target));
  if (reason != nullptr) *reason = reason_of(status.reason());
  if (!status) throw Error(ErrorKind::unsupported, status.error());
}

void write_shape(const Shape3& shape, int (&to)[3]) {
  to[0] = shape.m;
  to[1] = shape.n;
  to[2] = shape.k;
}

estoc_kernel_info info_of(const Kernel& kernel) {
  const KernelMetadata& metadata = kernel.metadata();
  estoc_kernel_info info{};
  info.name = metadata.name.c_str();
  info.kernel_class = metadata.kernel_class.c_str();
  info.provider = metadata.provider.c_str();
  info.operation = operation_name(metadata.operation).data();  // literals, here and below
  if (const auto* elementwise = metadata.elementwise())
    info.op = elementwise_op_name(elementwise->op).data();
  if (const auto* gemm = metadata.gemm()) info.accumulator = name_of_dtype(gemm->accumulator_type);
  info.epilogue = metadata.epilogue.c_str();
  info.schedule = metadata.design.schedule.c_str();
  info.min_cc = metadata.min_cc;
  if (metadata.design.tile) write_shape(*metadata.design.tile, info.tile);
  write_shape(metadata.design.cluster, info.cluster);
  if (metadata.design.instruction) write_shape(*metadata.design.instruction, info.instruction);
  info.stages = metadata.design.stages;
  info.split = metadata.design.split;
  info.predicted_seconds = kernel.predicted_seconds().value_or(0);
  info.tuned_seconds = kernel.tuned_seconds().value_or(0);
  return info;
}

const char* layout_name(LayoutConstraint layout) {
  if (layout == LayoutConstraint::any) return "x";
  return layout == LayoutConstraint::t ? "t" : "n";
}

estoc_kernel_operand operand_of(const char* name, const TensorAttributes& attributes) {
  estoc_kernel_operand operand{};
  operand.name = name;
  operand.dtype = name_of_dtype(attributes.dtype);
  operand.layout = layout_name(attributes.layout);
  operand.alignment = attributes.alignment;
  return operand;
}

std::vector<estoc_kernel_operand> operands_of(const KernelMetadata& metadata) {
  if (const auto* gemm = metadata.gemm())
    return {operand_of("A", gemm->a), operand_of("B", gemm->b), operand_of("out", gemm->out)};
  const auto* elementwise = metadata.elementwise();
  if (elementwise == nullptr) return {};
  std::vector<estoc_kernel_operand> operands{operand_of("A", elementwise->a)};
  if (is_binary(elementwise->op)) operands.push_back(operand_of("B", elementwise->b));
  operands.push_back(operand_of("out", elementwise->out));
  return operands;
}

std::int16_t knob(int value, const char* what) {
  if (value >= 1 && value <= std::numeric_limits<std::int16_t>::max())
    return static_cast<std::int16_t>(value);
  throw Error(ErrorKind::value,
              std::string(what) + ": expected 1 to 32767, got " + std::to_string(value));
}

Knobs knobs_of(const estoc_knobs* given) {
  const estoc_knobs k = read_struct(given, "knobs");
  Knobs knobs;
  knobs.raster = k.raster_along_n != 0 ? Knobs::Raster::along_n : Knobs::Raster::along_m;
  knobs.swizzle = knob(k.swizzle, "knobs.swizzle");
  knobs.split = knob(k.split, "knobs.split");
  if (k.split_tiles < 0) {
    throw Error(ErrorKind::value,
                "knobs.split_tiles: expected 0 or more, got " + std::to_string(k.split_tiles));
  }
  knobs.split_tiles = k.split_tiles;
  knobs.zigzag = k.zigzag != 0;
  return knobs;
}

}  // namespace

estoc_knobs knobs_struct(const Knobs& knobs) {
  return {sizeof(estoc_knobs),  knobs.raster == Knobs::Raster::along_n ? 1 : 0,
          knobs.swizzle,        knobs.split,
          knobs.zigzag ? 1 : 0, knobs.split_tiles};
}

namespace {

static_assert(static_cast<int>(PredictionPart::Unit::seconds) == ESTOC_UNIT_SECONDS &&
              static_cast<int>(PredictionPart::Unit::count) == ESTOC_UNIT_COUNT &&
              static_cast<int>(PredictionPart::Unit::factor) == ESTOC_UNIT_FACTOR);

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::give;
using c_api::guarded;
using c_api::required;
using c_api::value_of;

estoc_status estoc_kernel_find(const estoc_arguments* arguments, const estoc_query* query,
                               estoc_kernel** kernel) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(kernel, "kernel",
         [&] { return estoc::get_kernels(given, c_api::query_of(query)).front(); });
  });
}

estoc_status estoc_kernel_by_name(const char* name, estoc_kernel** kernel) {
  return guarded([&] {
    give(kernel, "kernel", [&] { return estoc::kernel_by_name(&required(name, "name")); });
  });
}

const char* estoc_kernel_name(const estoc_kernel* kernel) {
  return c_api::name_of(kernel, [](const auto& value) { return value.name().c_str(); });
}

estoc_status estoc_kernel_supports(const estoc_kernel* kernel, const estoc_arguments* arguments,
                                   const char* target, estoc_reason* reason) {
  return guarded([&] {
    c_api::require_supported(value_of(kernel, "kernel"), arguments_of(arguments), target, reason);
  });
}

void estoc_kernel_destroy(estoc_kernel* kernel) {
  c_api::destroy(kernel);
}

estoc_status estoc_kernels_find(const estoc_arguments* arguments, const estoc_query* query,
                                estoc_kernels** kernels) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(kernels, "kernels", [&] { return estoc::get_kernels(given, c_api::query_of(query)); });
  });
}

estoc_status estoc_kernels_enumerate(const estoc_query* query, estoc_kernels** kernels) {
  return guarded([&] {
    give(kernels, "kernels", [&] { return estoc::get_kernels(c_api::query_of(query)); });
  });
}

estoc_status estoc_kernels_count(const estoc_kernels* kernels, uint64_t* count) {
  return guarded([&] {
    uint64_t& place = required(count, "count");
    place = std::visit([](const auto& found) -> uint64_t { return found.size(); },
                       value_of(kernels, "kernels"));
  });
}

estoc_status estoc_kernels_get(const estoc_kernels* kernels, uint64_t index,
                               estoc_kernel** kernel) {
  return guarded([&] {
    give(kernel, "kernel", [&] {
      return std::visit([&](const auto& found) -> estoc::Kernel { return found[index]; },
                        value_of(kernels, "kernels"));
    });
  });
}

estoc_status estoc_kernels_why_empty(const estoc_kernels* kernels, char** text) {
  return guarded([&] {
    const auto& found = value_of(kernels, "kernels");
    const auto* const list = std::get_if<estoc::KernelList>(&found);
    c_api::give_text(text, "text", [&] { return list ? list->why_empty() : std::string(); });
  });
}

estoc_status estoc_kernels_failures(const estoc_kernels* kernels, estoc_strings** failures) {
  return guarded([&] {
    give(failures, "failures", [&] {
      std::vector<std::string> texts;
      for (const auto& [provider, kernel_class, message] : c_api::failures_of(kernels))
        texts.emplace_back(provider).append(" ").append(kernel_class).append(": ").append(message);
      return texts;
    });
  });
}

void estoc_kernels_destroy(estoc_kernels* kernels) {
  c_api::destroy(kernels);
}

estoc_status estoc_kernel_get_info(const estoc_kernel* kernel, estoc_kernel_info* info) {
  return guarded(
      [&] { c_api::write_struct(info, c_api::info_of(value_of(kernel, "kernel")), "info"); });
}

estoc_status estoc_kernel_get_operand(const estoc_kernel* kernel, size_t index,
                                      estoc_kernel_operand* operand) {
  return guarded([&] {
    const auto operands = c_api::operands_of(value_of(kernel, "kernel").metadata());
    c_api::write_struct(operand, c_api::element(operands, index, "operand"), "operand");
  });
}

estoc_status estoc_kernel_targets(const estoc_kernel* kernel, estoc_strings** targets) {
  return guarded([&] {
    give(targets, "targets", [&] {
      std::vector<std::string> names;
      for (const estoc::Target target : value_of(kernel, "kernel").metadata().targets)
        names.push_back(target.name());
      return names;
    });
  });
}

estoc_status estoc_kernel_get_knobs(const estoc_kernel* kernel, estoc_knobs* knobs) {
  return guarded([&] {
    const estoc::Knobs& given = value_of(kernel, "kernel").knobs();
    c_api::write_struct(knobs, c_api::knobs_struct(given), "knobs");
  });
}

estoc_status estoc_kernel_with_knobs(const estoc_kernel* kernel, const estoc_knobs* knobs,
                                     estoc_kernel** other) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    give(other, "other", [&] { return value.with_knobs(c_api::knobs_of(knobs)); });
  });
}

estoc_status estoc_kernel_with_epilogue(const estoc_kernel* kernel, const char* canonical,
                                        estoc_kernel** other) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    give(other, "other", [&] {
      return value.with_epilogue(canonical != nullptr ? estoc::parse_epilogue_graph(canonical)
                                                      : nullptr);
    });
  });
}

int estoc_kernel_equal(const estoc_kernel* one, const estoc_kernel* other) {
  int equal = 0;
  (void)guarded([&] { equal = int{value_of(one, "one") == value_of(other, "other")}; });
  return equal;
}

estoc_status estoc_kernel_workspace_size(const estoc_kernel* kernel,
                                         const estoc_arguments* arguments, size_t* bytes) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    size_t& place = required(bytes, "bytes");
    c_api::require_supported(value, given, nullptr);
    place = value.workspace_size(given);
  });
}

estoc_status estoc_kernel_workspace_bound(const estoc_kernel* kernel,
                                          const estoc_arguments* largest, size_t* bytes) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    const estoc::RuntimeArguments& given = arguments_of(largest, "largest");
    size_t& place = required(bytes, "bytes");
    c_api::require_supported(value, given, nullptr);
    place = value.workspace_bound(given);
  });
}

estoc_status estoc_kernel_predict(const estoc_kernel* kernel, const estoc_arguments* arguments,
                                  const char* target, estoc_prediction** prediction) {
  return guarded([&] {
    const estoc::Kernel& value = value_of(kernel, "kernel");
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(prediction, "prediction",
         [&] { return value.prediction_parts(given, c_api::target_of(target)); });
  });
}

size_t estoc_prediction_count(const estoc_prediction* prediction) {
  return c_api::count_of(prediction);
}

estoc_status estoc_prediction_get(const estoc_prediction* prediction, size_t index,
                                  estoc_prediction_part* part) {
  return guarded([&] {
    const auto& found = c_api::element(value_of(prediction, "prediction"), index, "part");
    const estoc_prediction_part filled = {sizeof(estoc_prediction_part), found.name.c_str(),
                                          found.value, static_cast<estoc_unit>(found.unit)};
    c_api::write_struct(part, filled, "part");
  });
}

void estoc_prediction_destroy(estoc_prediction* prediction) {
  c_api::destroy(prediction);
}

estoc_status estoc_explain(const estoc_arguments* arguments, const estoc_query* query,
                           estoc_explanations** explanations) {
  return guarded([&] {
    const estoc::RuntimeArguments& given = arguments_of(arguments);
    give(explanations, "explanations",
         [&] { return estoc::explain(given, c_api::query_of(query)); });
  });
}

size_t estoc_explanations_count(const estoc_explanations* explanations) {
  return c_api::count_of(explanations);
}

estoc_status estoc_explanations_get(const estoc_explanations* explanations, size_t index,
                                    estoc_explanation* explanation) {
  return guarded([&] {
    const auto& found =
        c_api::element(value_of(explanations, "explanations"), index, "explanation");
    const estoc_explanation filled = {sizeof(estoc_explanation),
                                      found.provider.c_str(),
                                      found.kernel_class.c_str(),
                                      found.described,
                                      found.supported,
                                      c_api::reason_of(found.status.reason()),
                                      found.status.error().c_str(),
                                      found.first ? found.first->name().c_str() : ""};
    c_api::write_struct(explanation, filled, "explanation");
  });
}

void estoc_explanations_destroy(estoc_explanations* explanations) {
  c_api::destroy(explanations);
}

estoc_status estoc_clear_discovery_cache(void) {
  return guarded([] { estoc::clear_discovery_cache(); });
}
