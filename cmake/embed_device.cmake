# Writes a C++ file holding every .cuh below a folder: cmake -DROOT=.. -DOUTPUT=.. -P this file.
# -DNAMESPACE and -DFUNCTION say which function gives them.
# Each text becomes several raw strings, since a compiler may refuse literals over 64 KiB.
file(GLOB_RECURSE paths RELATIVE ${ROOT} ${ROOT}/*.cuh)
list(SORT paths)
if(NOT DEFINED FUNCTION)
  set(NAMESPACE estoc::jit)
  set(FUNCTION embedded_device_sources)
endif()
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
  string(APPEND entries "    {\"${path}\",\n${literals}    },\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated: sources that NVRTC compiles.
#include <array>

#include \"jit/device_sources.h\"

namespace ${NAMESPACE} {

std::span<const estoc::jit::HeaderText> ${FUNCTION}();

std::span<const estoc::jit::HeaderText> ${FUNCTION}() {
  static constexpr estoc::jit::HeaderText kSources[] = {
${entries}  };
  return kSources;
}

}  // namespace ${NAMESPACE}
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
