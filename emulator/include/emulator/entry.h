// How the emulator calls a kernel.
#pragma once

namespace estoc::emulator {

/// Calls a kernel with arguments given as cuLaunchKernel takes them: a pointer to each.
using Entry = void (*)(void** arguments);

namespace detail {

/// Takes the arguments of the parameters `Left`, one after the other, and then calls.
template <typename... Left>
struct Caller {
  template <typename Kernel, typename... Taken>
  static void call(Kernel kernel, void**, Taken&... taken) {
    kernel(taken...);
  }
};

template <typename First, typename... Left>
struct Caller<First, Left...> {
  template <typename Kernel, typename... Taken>
  static void call(Kernel kernel, void** arguments, Taken&... taken) {
    Caller<Left...>::call(kernel, arguments + 1, taken..., *static_cast<First*>(*arguments));
  }
};

template <typename... Arguments>
void call(void (*kernel)(Arguments...), void** arguments) {
  Caller<Arguments...>::call(kernel, arguments);
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
