/* The C interface: find, compile or open, bind and launch kernels from engines in any language. */
#ifndef ESTOC_ESTOC_H
#define ESTOC_ESTOC_H

#include "estoc/c/arguments.h"
#include "estoc/c/artifact.h"
#include "estoc/c/base.h"
#include "estoc/c/check.h"
#include "estoc/c/device.h"
#include "estoc/c/groups.h"
#include "estoc/c/kernel.h"
#include "estoc/c/moe.h"
#include "estoc/c/plan.h"
#include "estoc/c/process.h"
#include "estoc/c/run.h"
#include "estoc/c/tensor.h"
#include "estoc/c/tune.h"

#endif /* ESTOC_ESTOC_H */
