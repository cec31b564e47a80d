# Installs the build to a folder, then configures, builds and runs the consumer project against it.
# cmake -DBUILD=... -DCONSUMER=... -DSCRATCH=... -DCC=... -DCXX=... -DBUILD_TYPE=...
#   -P test_install.cmake
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
# The installed tree must not need the one it was built from.
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
run(${CMAKE_COMMAND} -G Ninja -S ${CONSUMER} -B ${SCRATCH}/build -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_PREFIX_PATH=${SCRATCH}/moved
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/consumer)
run(${SCRATCH}/build/consumer_c)
execute_process(COMMAND ${SCRATCH}/build/consumer_command list --filter class=one_gemm
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
# Without CMake, by pkg-config.
find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/moved/lib/pkgconfig)
  foreach(language "estoc;${CC};-std=c11;consumer.c" "estoc-cpp;${CXX};-std=c++20;consumer.cpp")
    list(POP_FRONT language module compiler standard source)
    execute_process(COMMAND ${pkg_config} --cflags --libs ${module} OUTPUT_VARIABLE flags
      OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    run(${compiler} ${standard} ${CONSUMER}/${source} -o ${SCRATCH}/${module} ${flags}
      -Wl,-rpath,${SCRATCH}/moved/lib)
    run(${SCRATCH}/${module})
  endforeach()
endif()
# The emulator has all it needs but a compiler.
set(ENV{ESTOC_CACHE_DIR} ${SCRATCH}/kernels)
set(ENV{ESTOC_HOST_COMPILER} ${CXX})
run(${SCRATCH}/moved/bin/estoc run "gemm m=64 n=64 k=64 a=bf16" --device emulator --target sm_90a
  --check)
run(${SCRATCH}/build/consumer_command run "gemm m=8 n=8 k=8 a=f32" --kernel one_gemm-f32
  --device emulator)
if(NOT listed MATCHES "one_gemm-f32")
  message(FATAL_ERROR "the command does not list the kernel of its program: ${listed}")
endif()
