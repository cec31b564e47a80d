# Sets nvrtc to the NVRTC that tests compile with, nvrtc_environment to what makes the library load it,
# and nvrtc_suffix to what the names of tests that need it end in where there is none.
# The places where the library looks for it, and the folder of scripts/fetch_nvrtc.sh.
set(places "$ENV{ESTOC_NVRTC}" /usr/lib/x86_64-linux-gnu/libnvrtc.so.1[23])
foreach(prefix ${PROJECT_SOURCE_DIR}/build/nvrtc "$ENV{VIRTUAL_ENV}" "$ENV{CONDA_PREFIX}"
    "$ENV{HOME}/.local" /usr/local /usr)
  list(APPEND places ${prefix}/lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so.1[23])
endforeach()
foreach(prefix "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}" /usr/local/cuda* /opt/cuda*)
  list(APPEND places ${prefix}/lib64/libnvrtc.so.1[23])
endforeach()
file(GLOB nvrtc ${places})

set(nvrtc_suffix)
set(nvrtc_environment)
if(nvrtc)
  list(GET nvrtc 0 nvrtc)
  set(nvrtc_environment ESTOC_NVRTC=${nvrtc})
else()
  set(nvrtc_suffix _skipped_for_want_of_nvrtc)
endif()
