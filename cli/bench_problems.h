// The problems that `estoc bench` is given: a text, or a file with one a line; lists are expanded.
#pragma once

#include <string>
#include <vector>

#include "problem_files.h"

namespace estoc::cli {

/// Every text that choosing one alternative of each list gives, the last list changing fastest:
/// "m={1,2} k={3,4}" stands for four. Braces between double quotes, and commas between brackets,
/// are as they stand. A range of an extent is a list too: "m=64:256:64", "k=1:4096:*2". Throws
/// Failure{usage} for braces that do not match, lists in lists, malformed ranges, more than 10000
/// texts.
std::vector<std::string> expand_lists(const std::string& text);

/// One problem to time, and the text that stands for it in results.
struct NamedProblem {
  FilledProblem filled;
  std::string text;
};

/// The problems of a text or "@FILE", each complete, each once. Throws Failure that names the line.
std::vector<NamedProblem> read_problems(const std::string& argument);

}  // namespace estoc::cli
