# Writes a source with the commit that is built: cmake -DSOURCE=.. -DOUTPUT=.. -P this file.
# Empty outside a clone of the repository, as in an unpacked archive or inside another project's.
find_package(Git QUIET)
set(commit "")
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-prefix WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE prefix RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND prefix STREQUAL "")
    execute_process(COMMAND ${GIT_EXECUTABLE} --no-optional-locks describe --always --dirty --exclude=* --abbrev=12
      WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()
set(text "// The commit that is built; empty when it is not known.
#include \"build_commit.h\"

const char* estoc::cli::build_commit() {
  return \"${commit}\";
}
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
