# Build settings shared by every target, and functions that declare a source folder or a test.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

add_library(estoc_build INTERFACE)
target_compile_options(estoc_build INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wformat=2 $<$<BOOL:${ESTOC_WERROR}>:-Werror>)
# Optimising, GCC 12 sees an overlap in its own operator+(const char*, std::string&&) (PR105651).
target_compile_options(estoc_build INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)

# fmt, of which src/core/fmt.cpp compiles once what header-only use would compile into every object.
# The namespace of its own keeps that apart from the fmt that a user's program may link.
add_library(estoc_fmt INTERFACE)
target_include_directories(estoc_fmt SYSTEM INTERFACE
  $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(estoc_fmt INTERFACE
  "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace in_estoc {" "FMT_END_NAMESPACE=}}")

# A source of a unity build is no header, though GCC takes it for one.
target_compile_options(estoc_build INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)

# Device code has a compiler of its own to warn about it, which knows `#pragma unroll`; tensor maps
# are passed by value, and its short names of types, such as i32, are those of enumerators. To be
# linked after estoc_build, whose options these take back.
add_library(estoc_device_code INTERFACE)
target_compile_options(estoc_device_code INTERFACE
  -Wno-unknown-pragmas -Wno-conversion -Wno-sign-conversion -Wno-psabi -Wno-shadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

if(ESTOC_SANITIZE)
  target_compile_options(estoc_build INTERFACE
    -fsanitize=${ESTOC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(estoc_build INTERFACE -fsanitize=${ESTOC_SANITIZE})
  # Clang is told what GCC defines by itself.
  foreach(kind ADDRESS THREAD)
    string(TOLOWER ${kind} lower)
    if(ESTOC_SANITIZE MATCHES ${lower})
      target_compile_definitions(estoc_build INTERFACE
        $<$<CXX_COMPILER_ID:Clang>:__SANITIZE_${kind}__=1>)
    endif()
  endforeach()
endif()

# estoc_seldom_run(TARGET) spares the optimiser on code in which no time is spent.
function(estoc_seldom_run target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# estoc_precompile(TARGET ...) precompiles headers of third parties, never our own: those
# must name what they use. clang-tidy and editors want a build folder without. GCC 12 forgets that
# a precompiled std::string is the system's, and gives the warnings about it that are wrong.
function(estoc_precompile target)
  if(ESTOC_PRECOMPILE)
    target_precompile_headers(${target} ${ARGN})
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>)
  endif()
endfunction()

# estoc_folder(NAME [NESTED] [DEPENDS folder...] [LIBRARIES library...]) declares the folder src/NAME;
# with NESTED its sub-folders belong to it.
# Each folder is an archive of its own, so that a test links no more than it tests; the folders
# together make the library `estoc`.
function(estoc_folder name)
  cmake_parse_arguments(ARG "NESTED" "" "DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target estoc_${name})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(ARG_NESTED)
    file(GLOB nested CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*/*.cpp)
    list(APPEND sources ${nested})
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE estoc_build PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  foreach(dependency IN LISTS ARG_DEPENDS)
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} PUBLIC estoc_${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE estoc_fmt ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY ESTOC_FOLDERS ${target})
endfunction()

# estoc_quick_to_sanitize(FOLDER...) compiles folders without optimisation for sanitizers, whose tests
# spend no time there. Checks, float formats and the emulator would take three to ten times as long.
function(estoc_quick_to_sanitize)
  if(NOT ESTOC_SANITIZE)
    return()
  endif()
  foreach(folder IN LISTS ARGN)
    string(REPLACE "/" "_" target estoc_${folder})
    target_compile_options(${target} PRIVATE -O0)
  endforeach()
endfunction()

# estoc_test(NAME SOURCES source... [LIBRARIES library...] [PROPERTIES property value...] [OPTIMISED])
# declares a GoogleTest executable whose every case becomes a ctest. What was tuned on the machine must
# not decide what tests find. Compilers take a third less for tests that are not OPTIMISED; those are
# that spend much time in code of their own.
function(estoc_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "" "SOURCES;LIBRARIES;DEFINITIONS;PROPERTIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE estoc_build ${ARG_LIBRARIES} estoc_fmt
    GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_OPTIMISED)
    estoc_seldom_run(${name})
  else()
    target_compile_options(${name} PRIVATE -O0)
    estoc_precompile(${name} REUSE_FROM estoc_test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE
    ESTOC_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${ARG_DEFINITIONS})
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300
    ENVIRONMENT ESTOC_TUNED=off ${ARG_PROPERTIES})
endfunction()
