// What the functions of the C interface share: errors, handles, structs that grow, conversions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c_api/objects.h"
#include "estoc/status.hpp"

namespace estoc::c_api {

estoc_status status_of(ErrorKind kind);
estoc_reason reason_of(Reason reason);

/// Keeps the thread's error and gives its status.
estoc_status failed(estoc_status status, const char* message, const char* log = "",
                    const char* source = "") noexcept;

/// Nothing that C++ throws may pass into C.
template <typename Work>
estoc_status guarded(const Work& work) noexcept {
  try {
    work();
    return ESTOC_OK;
  } catch (const CompileError& error) {
    return failed(ESTOC_ERROR_COMPILE, error.what(), error.log().c_str(), error.source().c_str());
  } catch (const Error& error) {
    return failed(status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ESTOC_ERROR_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(ESTOC_ERROR_OTHER, error.what());
  } catch (...) {
    return failed(ESTOC_ERROR_OTHER, "an exception that is no std::exception");
  }
}

[[noreturn]] void refuse_null(std::string_view what);
[[noreturn]] void refuse_handle(std::string_view what);
[[noreturn]] void refuse_index(std::string_view what, std::size_t index, std::size_t count);
[[noreturn]] void refuse_size(std::string_view what, std::size_t expected, std::size_t size);
[[noreturn]] void refuse_newer(std::string_view what, std::size_t known, std::size_t size);

/// What a pointer of the caller's points to.
template <typename Object>
Object& required(Object* object, std::string_view what) {
  if (object == nullptr) refuse_null(what);
  return *object;
}

/// The value that a handle stands for.
template <typename Object>
auto& value_of(Object* object, std::string_view what) {
  if (!required(object, what).intact()) refuse_handle(what);
  return object->value;
}

const RuntimeArguments& arguments_of(const estoc_arguments* arguments,
                                     std::string_view what = "arguments");

template <typename Object>
void destroy(Object* object) noexcept {
  if (object != nullptr && object->intact()) delete object;
}

/// Makes an object and hands it out; where to is checked before anything is made.
template <typename Object, typename Make>
void give(Object** to, std::string_view what, const Make& make) {
  Object*& place = required(to, what);
  place = new Object(make());
}

/// Hands out a text that estoc_string_destroy() takes.
template <typename Make>
void give_text(char** to, std::string_view what, const Make& make) {
  char*& place = required(to, what);
  const std::string text = make();
  char* const copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  place = copy;
}

template <typename List>
const auto& element(const List& list, std::size_t index, std::string_view what) {
  if (index >= list.size()) refuse_index(what, index, list.size());
  return list[index];
}

/// Number of elements of an object that holds a list; 0 for NULL.
template <typename Object>
std::size_t count_of(const Object* object) noexcept {
  return object != nullptr && object->intact() ? object->value.size() : 0;
}

/// The text that `give_name` returns a reference to, of an object that lives on; "" for NULL.
template <typename Object, typename GiveName>
const char* name_of(const Object* object, const GiveName& give_name) noexcept {
  try {
    if (object != nullptr && object->intact()) return give_name(object->value);
  } catch (...) {
    // A name is not worth an error.
  }
  return "";
}

/// Sizes of structs are multiples of their alignment; another one would cut a field in two.
template <typename Struct>
void check_size(std::size_t size, std::string_view what) {
  if (size == 0 || size % alignof(Struct) != 0) refuse_size(what, sizeof(Struct), size);
}

/// The caller's struct, what it does not have at 0. Its header may be newer than this library: then
/// fields that are unknown here must be 0.
template <typename Struct>
Struct read_struct(const Struct* given, std::string_view what) {
  const std::size_t size = required(given, what).struct_size;
  check_size<Struct>(size, what);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t known = std::min(size, sizeof(Struct));
  if (std::any_of(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    refuse_newer(what, sizeof(Struct), size);
  }
  Struct copy{};
  std::memcpy(&copy, given, known);
  return copy;
}

/// All 0 where there is none.
template <typename Struct>
Struct read_optional(const Struct* given, std::string_view what) {
  return given != nullptr ? read_struct(given, what) : Struct{};
}

/// Element `index` of the caller's array, whose elements are as far apart as the first is large.
template <typename Struct>
Struct read_element(const Struct* array, std::size_t index, const std::string& what) {
  const std::size_t size = required(array, what).struct_size;
  check_size<Struct>(size, what);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(array) + index * size;
  const auto* const given = reinterpret_cast<const Struct*>(bytes);
  const std::string name = what + "[" + std::to_string(index) + "]";
  if (given->struct_size != size) refuse_size(name, size, given->struct_size);
  return read_struct(given, name);
}

/// Fills the caller's struct, as much of it as both sides know; the rest becomes 0.
template <typename Struct>
void write_struct(Struct* to, Struct filled, std::string_view what) {
  const std::size_t size = required(to, what).struct_size;
  check_size<Struct>(size, what);
  filled.struct_size = size;
  const std::size_t known = std::min(size, sizeof(Struct));
  std::memcpy(to, &filled, known);
  std::memset(reinterpret_cast<unsigned char*>(to) + known, 0, size - known);
}

KernelQuery query_of(const estoc_query* given);
PerformanceControls controls_of(const estoc_controls* given);
RunOptions run_options(const estoc_run_options* given);
/// Operands of an epilogue; `what` is the array's name in messages.
std::vector<EpilogueOperand> epilogue_operands(const estoc_operand* operands, std::size_t count,
                                               const std::string& what);
/// Those of the epilogue that the gemm has.
std::vector<EpilogueOperand> gemm_operands(const estoc_gemm& gemm);
const GemmArguments& product_of(const estoc_arguments* arguments);

/// "bf16", "sm_90a": with the null character that C wants, and for as long as the process lives.
const char* name_of_dtype(Dtype dtype);
const char* name_of_target(Target target);

Dtype dtype_of(const char* name, const std::string& what);
/// nullopt for NULL.
std::optional<Target> target_of(const char* name);
Target required_target(const char* name);
Device device_of(int device, const std::string& what);
/// Not the host.
Device cuda_device(int device);
/// A tensor without scale factors.
TensorView view_of(const estoc_tensor* tensor, const std::string& what);
/// A tensor, with its scale factors where it has them.
Operand operand_of(const estoc_tensor* tensor, const std::string& what);
/// The other way: its shape and strides are those of `view`.
estoc_tensor tensor_of(const TensorView& view);

estoc_knobs knobs_struct(const Knobs& knobs);

/// The kernels of the caller's array.
std::vector<Kernel> kernels_of(const estoc_kernel* const* kernels, std::size_t count);

}  // namespace estoc::c_api
