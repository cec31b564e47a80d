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

}  // namespace detail

/// The Entry of a __global__ function.
template <auto kernel>
void entry(void** arguments) {
  detail::call(kernel, arguments);
}

}  // namespace estoc::emulator
