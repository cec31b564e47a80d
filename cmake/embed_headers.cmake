# Writes a C++ file with a function that gives every header below a folder:
# cmake -DROOT=.. -DOUTPUT=.. -DNAMESPACE=.. -DFUNCTION=.. -P this file.
# Each text becomes several raw strings, since a compiler may refuse literals over 64 KiB.
file(GLOB_RECURSE paths RELATIVE ${ROOT} ${ROOT}/*.cuh ${ROOT}/*.h ${ROOT}/*.def)
list(SORT paths)
set(entries "")
foreach(path IN LISTS paths)
  file(READ ${ROOT}/${path} text)
  string(LENGTH "${text}" length)
  set(literals "")
  set(offset 0)
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 8000 part)
    string(APPEND literals "R\"estoc_text(${part})estoc_text\"\n")
    math(EXPR offset "${offset} + 8000")
  endwhile()
  # The suffix spares the compiler to count the characters, which clang gives up on.
  string(APPEND entries "    {\"${path}\",\n${literals}\"\"sv},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated: the headers that kernels are compiled with.
#include <array>

#include \"jit/device_sources.h\"

namespace ${NAMESPACE} {

using std::string_view_literals::operator\"\"sv;

std::span<const ::estoc::jit::HeaderText> ${FUNCTION}();

std::span<const ::estoc::jit::HeaderText> ${FUNCTION}() {
  static constexpr ::estoc::jit::HeaderText kSources[] = {
${entries}  };
  return kSources;
}

}  // namespace ${NAMESPACE}
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
