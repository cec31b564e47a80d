// Everything of Estoc in one include, in the order in which a problem passes through it.
#pragma once

// clang-format off
#include "estoc/dtype.hpp"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"
#include "estoc/target.hpp"
#include "estoc/log.hpp"
#include "estoc/tensor.hpp"
#include "estoc/device.hpp"
#include "estoc/arguments.hpp"
#include "estoc/problem.hpp"
#include "estoc/metadata.hpp"
#include "estoc/design_space.hpp"
#include "estoc/kernel_class.hpp"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/kernel.hpp"
#include "estoc/discovery.hpp"
#include "estoc/compile_all.hpp"
#include "estoc/bundle.hpp"
#include "estoc/kernel_cache.hpp"
#include "estoc/tensor_file.hpp"
#include "estoc/text_file.hpp"
#include "estoc/interrupt.hpp"
#include "estoc/check.hpp"
#include "estoc/measure.hpp"
// clang-format on
