# Compiles the files of products and epilogues once for each instruction set, each copy with Eigen's namespace and its
# own renamed, so that the linker cannot put one copy's inline functions in another's place.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

# With sanitizers a file takes a minute: they get one variant, for the machine that builds.
set(estoc_cpu_level 3)
if(ESTOC_SANITIZE)
  set(ESTOC_CPU_VARIANTS native)
  set(estoc_cpu_level 2)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(ESTOC_CPU_VARIANTS v2 v3 v4)
else()
  set(ESTOC_CPU_VARIANTS generic)
endif()
list(LENGTH ESTOC_CPU_VARIANTS estoc_cpu_variants)
if(estoc_cpu_variants EQUAL 1)
  target_compile_definitions(estoc_providers_cpu PUBLIC ESTOC_CPU_ONLY=${ESTOC_CPU_VARIANTS})
endif()
foreach(variant IN LISTS ESTOC_CPU_VARIANTS)
foreach(file product epilogue)
  set(target estoc_cpu_${file}_${variant})
  add_library(${target} OBJECT ${CMAKE_CURRENT_LIST_DIR}/variants/${file}.cpp)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE estoc_build Eigen3::Eigen)
  # Always optimised: unoptimised, functions meant to be inlined would become symbols. GCC 12 takes
  # its own _mm512_undefined_pd for a use of an uninitialised variable.
  target_compile_options(${target} PRIVATE -O${estoc_cpu_level} -fno-math-errno
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(variant STREQUAL "native")
    target_compile_options(${target} PRIVATE -march=native)
  elseif(NOT variant STREQUAL "generic")
    target_compile_options(${target} PRIVATE -march=x86-64-${variant})
  endif()
  target_compile_definitions(${target} PRIVATE
    Eigen=Eigen_${variant} ESTOC_VARIANT=${variant}
    EIGEN_MPL2_ONLY EIGEN_DONT_PARALLELIZE EIGEN_NO_DEBUG)
  set_property(GLOBAL APPEND PROPERTY ESTOC_FOLDERS ${target})
  target_sources(estoc_providers_cpu PRIVATE $<TARGET_OBJECTS:${target}>)
  list(APPEND estoc_cpu_objects "${variant}=$<TARGET_OBJECTS:${target}>")
endforeach()
endforeach()

# For the test of the symbols.
list(JOIN estoc_cpu_objects ":" estoc_cpu_objects)
target_compile_definitions(estoc_providers_cpu INTERFACE
  ESTOC_CPU_OBJECTS="${estoc_cpu_objects}")
