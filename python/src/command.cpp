// The command line as a function, for python -m estoc.
#include "estoc/command.hpp"

#include "binding.h"

namespace estoc::python {
namespace {

int run(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release unlocked;
  return run_command(static_cast<int>(words.size()), pointers.data());
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("_run_command", &run, nb::arg("words"));
}

}  // namespace estoc::python
