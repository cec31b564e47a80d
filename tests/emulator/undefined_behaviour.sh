#!/bin/sh
# A host compiler, for ESTOC_HOST_COMPILER: kernels end the process where their behaviour is not
# defined (shifts, overflows of signed integers, indices, null pointers, alignment).
exec g++ -fsanitize=undefined -fno-sanitize-recover=undefined "$@"
