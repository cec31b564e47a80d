// How the emulator calls a kernel.
#pragma once

#include <type_traits>
#include <utility>

namespace estoc::emulator {

/// Calls a kernel with arguments given as cuLaunchKernel takes them: a pointer to each.
using Entry = void (*)(void** arguments);

namespace detail {

template <typename... Arguments, std::size_t... index>
void call(void (*kernel)(Arguments...), void** arguments, std::index_sequence<index...>) {
  kernel(*static_cast<std::remove_cvref_t<Arguments>*>(arguments[index])...);
}

template <typename... Arguments>
void call(void (*kernel)(Arguments...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Arguments...>{});
}

template <typename... Arguments>
const unsigned* sizes(void (*)(Arguments...)) {
  static const unsigned all[] = {static_cast<unsigned>(sizeof(Arguments))..., 0};
  return all;
}

}  // namespace detail

/// The Entry of a __global__ function.
template <auto kernel>
void entry(void** arguments) {
  detail::call(kernel, arguments);
}

/// Bytes of each of its parameters; 0 behind the last.
template <auto kernel>
const unsigned* parameter_sizes() {
  return detail::sizes(kernel);
}

}  // namespace estoc::emulator
