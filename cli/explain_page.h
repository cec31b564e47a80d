// Why a kernel is the one to use, as an HTML page.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "prediction.h"

namespace estoc::cli {

/// A class's explanation, with what its first kernel's prediction is made of.
struct ExplainedClass {
  Explanation explanation;
  std::vector<PredictionPart> parts;
};

/// What is explained.
struct ExplainedQuery {
  std::string problem;
  std::string target;
};

/// The predicted speed of the best kernel of each class, what its time is made of, the first of all
/// kernels, and why the other classes do not fit.
std::string explain_page(const ExplainedQuery& query, std::span<const ExplainedClass> classes,
                         const KernelList& kernels);

}  // namespace estoc::cli
