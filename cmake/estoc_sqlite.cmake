# SQLite as one object, of which only the functions that Estoc calls are visible, in names of its own:
# a program that uses Estoc may have another SQLite.
# Sets ESTOC_SQLITE_OBJECT and ESTOC_SQLITE_INCLUDE, a folder with `estoc_sqlite.h`.
set(functions bind_double bind_int64 bind_text busy_timeout close column_double column_int64
  column_text column_type errmsg exec extended_errcode finalize open_v2 prepare_v2 step)

# Those of binutils: with clang CMake may take LLVM's, and lld makes no object of an archive alone.
find_program(ESTOC_LD NAMES ld.bfd ld REQUIRED)
find_program(ESTOC_OBJCOPY objcopy REQUIRED)
find_library(ESTOC_SQLITE_ARCHIVE libsqlite3.a REQUIRED)
find_path(ESTOC_SQLITE_HEADERS sqlite3.h REQUIRED)
set(ESTOC_SQLITE_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/sqlite)
set(ESTOC_SQLITE_OBJECT ${ESTOC_SQLITE_INCLUDE}/estoc_sqlite.o)

set(undefined)
set(keep)
set(rename)
set(header "// SQLite's interface; its functions have names that are Estoc's own.\n#pragma once\n\n")
foreach(function IN LISTS functions)
  list(APPEND undefined -u sqlite3_${function})
  string(APPEND keep "in_estoc_sqlite3_${function}\n")
  string(APPEND rename "sqlite3_${function} in_estoc_sqlite3_${function}\n")
  string(APPEND header "#define sqlite3_${function} in_estoc_sqlite3_${function}\n")
endforeach()
# An archive of glibc 2.33 or later has no inline functions for these; cmake/old_glibc.c has.
if(ESTOC_OLD_GLIBC)
  foreach(function stat64 lstat64 fstat64)
    string(APPEND rename "${function} in_estoc_${function}\n")
  endforeach()
endif()
file(WRITE ${ESTOC_SQLITE_INCLUDE}/keep.txt "${keep}")
file(WRITE ${ESTOC_SQLITE_INCLUDE}/rename.txt "${rename}")
file(CONFIGURE OUTPUT ${ESTOC_SQLITE_INCLUDE}/estoc_sqlite.h
  CONTENT "${header}\n#include \"${ESTOC_SQLITE_HEADERS}/sqlite3.h\"\n" @ONLY)

set(members ${undefined})
if(ESTOC_LD MATCHES lld)
  set(members --whole-archive)
endif()
add_custom_command(OUTPUT ${ESTOC_SQLITE_OBJECT}
  COMMAND ${ESTOC_LD} -r ${members} -o ${ESTOC_SQLITE_OBJECT} ${ESTOC_SQLITE_ARCHIVE}
  COMMAND ${ESTOC_OBJCOPY} --redefine-syms=${ESTOC_SQLITE_INCLUDE}/rename.txt ${ESTOC_SQLITE_OBJECT}
  COMMAND ${ESTOC_OBJCOPY} --keep-global-symbols=${ESTOC_SQLITE_INCLUDE}/keep.txt
    ${ESTOC_SQLITE_OBJECT}
  DEPENDS ${ESTOC_SQLITE_ARCHIVE} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
set_source_files_properties(${ESTOC_SQLITE_OBJECT} PROPERTIES GENERATED ON EXTERNAL_OBJECT ON)
