// Reads problems from the command line and from files.
#include "bench_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "failure.h"
#include "options.h"

namespace estoc::cli {
namespace {

constexpr std::size_t kMaxTexts = 10'000;
constexpr const char* kListHint = "a list reads: gemm m={1,16,64} n=512 k=512 a={f16,bf16}:t";
constexpr const char* kRangeHint =
    "a range reads m=64:512:64 (in steps of 64), m=1:4096:*2 (each twice the one before)";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// The line without its comment and the blanks around it. A '#' inside quotes is no comment.
std::string strip(std::string line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) line.resize(i);
  }
  while (!line.empty() && is_blank(line.back()))
    line.pop_back();
  const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
  return {first, line.end()};
}

/// Where the first of `wanted` stands outside quotes; npos when nowhere.
std::size_t find_outside_quotes(std::string_view text, std::string_view wanted) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && wanted.find(text[i]) != std::string_view::npos) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// The alternatives of "1,16,[2,1]".
std::vector<std::string> alternatives(std::string_view list) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

/// A text in parts: what stands outside lists has one alternative.
std::vector<std::vector<std::string>> parts_in(std::string_view text) {
  std::vector<std::vector<std::string>> parts;
  std::string_view rest = text;
  while (true) {
    const std::size_t open = find_outside_quotes(rest, "{}");
    parts.push_back({std::string(rest.substr(0, open))});
    if (open == std::string_view::npos) return parts;
    rest.remove_prefix(open);
    const std::size_t close = rest.find_first_of("{}", 1);
    if (rest[0] == '}' || close == std::string_view::npos || rest[close] == '{') {
      const auto column = static_cast<std::size_t>(rest.data() - text.data()) + 1;
      const char* what = rest[0] == '}' ? "expected no '}' without a '{' before it"
                         : close == std::string_view::npos ? "expected a '}' after this '{'"
                                                           : "expected no list within a list";
      throw Failure(Exit::usage, fmt::format("problem, column {}: {}", column, what), kListHint);
    }
    parts.push_back(alternatives(rest.substr(1, close - 1)));
    rest.remove_prefix(close + 1);
  }
}

[[noreturn]] void fail_with_too_many() {
  throw Failure(Exit::usage,
                fmt::format("problem: expected lists that stand for at most {} problems, got more",
                            kMaxTexts),
                kListHint);
}

/// The range that a word such as "m=1:4096:*2" gives for an extent.
struct Range {
  std::int64_t low = 0, high = 0, step = 1;
  bool is_factor = false;

  bool valid() const { return low >= 0 && low <= high && step >= 1 && (!is_factor || step > 1); }
  /// Whether a value within the range has one after it.
  bool has_next(std::int64_t value) const {
    return is_factor ? value > 0 && value <= high / step : value <= high - step;
  }
  std::int64_t next(std::int64_t value) const { return is_factor ? value * step : value + step; }
};

/// Reads the number at the start of `text` and removes it; false where there is none.
bool take_number(std::string_view& text, std::int64_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

/// The extents of "m=LOW:HIGH[:[*]STEP]".
std::vector<std::string> extents_of(std::string_view word) {
  Range range;
  std::string_view rest = word.substr(2);
  bool read = take_number(rest, range.low) && take(rest, ':') && take_number(rest, range.high);
  if (read && take(rest, ':')) {
    range.is_factor = take(rest, '*');
    read = take_number(rest, range.step);
  }
  if (!read || !rest.empty() || !range.valid()) {
    throw Failure(Exit::usage,
                  fmt::format("problem: expected LOW:HIGH, LOW:HIGH:STEP or LOW:HIGH:*FACTOR, "
                              "got '{}'",
                              word),
                  kRangeHint);
  }
  std::vector<std::string> extents{std::to_string(range.low)};
  for (std::int64_t value = range.low; range.has_next(value);) {
    value = range.next(value);
    extents.push_back(std::to_string(value));
    if (extents.size() > kMaxTexts) fail_with_too_many();
  }
  return extents;
}

bool is_range(std::string_view word) {
  return word.size() > 2 && word[1] == '=' &&
         std::string_view("mnkl").find(word[0]) != std::string_view::npos &&
         word.find(':') != std::string_view::npos;
}

/// The parts of a text without lists, in which a range of extents is a list.
std::vector<std::vector<std::string>> split_ranges(std::string_view text) {
  std::vector<std::vector<std::string>> parts{{""}};
  while (!text.empty()) {
    const std::size_t blank = std::min(find_outside_quotes(text, " \t"), text.size());
    const std::string_view word = text.substr(0, blank);
    if (is_range(word)) {
      parts.back().front() += word.substr(0, 2);
      parts.push_back(extents_of(word));
      parts.push_back({""});
    } else {
      parts.back().front() += word;
    }
    const std::size_t end = std::min(blank + 1, text.size());
    parts.back().front() += text.substr(blank, end - blank);
    text.remove_prefix(end);
  }
  return parts;
}

/// All parts of a text: those of its lists and ranges, and what stands between them.
std::vector<std::vector<std::string>> all_parts_of(std::string_view text) {
  std::vector<std::vector<std::string>> parts;
  for (std::vector<std::string>& part : parts_in(text)) {
    if (part.size() > 1) {
      parts.push_back(std::move(part));
      continue;
    }
    for (std::vector<std::string>& each : split_ranges(part.front()))
      parts.push_back(std::move(each));
  }
  return parts;
}

/// Adds problems as they come, each once.
class Collection {
 public:
  void add(const std::string& text) {
    for (const std::string& one : expand_lists(text)) {
      FilledProblem filled = fill_problem(parse_problem(one), "", "");
      std::string name = text_of(filled, *describe_arguments(filled, Device::cpu()));
      if (!names_.insert(name).second) continue;
      problems_.push_back({std::move(filled), std::move(name)});
    }
  }

  std::vector<NamedProblem> take() { return std::move(problems_); }

 private:
  std::set<std::string> names_;
  std::vector<NamedProblem> problems_;
};

[[noreturn]] void fail_to_read(const std::string& path) {
  throw Failure(Exit::file,
                fmt::format("cannot read '{}': {}", path, std::generic_category().message(errno)));
}

std::vector<NamedProblem> read_problem_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail_to_read(path);
  Collection collection;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string text = strip(line);
    if (text.empty()) continue;
    const auto place = [&](const char* what) {
      return fmt::format("{}:{}: {}", path, number, what);
    };
    try {
      collection.add(text);
    } catch (const Failure& failure) {
      throw Failure(failure.exit(), place(failure.what()), failure.hint());
    } catch (const Error& error) {
      throw Failure(exit_for(error.kind()), place(error.what()));
    }
  }
  if (file.bad()) fail_to_read(path);
  std::vector<NamedProblem> problems = collection.take();
  if (problems.empty()) throw Failure(Exit::usage, path + ": there is no problem in it");
  return problems;
}

}  // namespace

std::vector<std::string> expand_lists(const std::string& text) {
  std::vector<std::string> texts{""};
  for (const std::vector<std::string>& part : all_parts_of(text)) {
    if (texts.size() * part.size() > kMaxTexts) fail_with_too_many();
    std::vector<std::string> longer;
    for (const std::string& begin : texts) {
      for (const std::string& end : part)
        longer.push_back(begin + end);
    }
    texts = std::move(longer);
  }
  return texts;
}

std::vector<NamedProblem> read_problems(const std::string& argument) {
  if (argument.starts_with('@')) return read_problem_file(argument.substr(1));
  Collection collection;
  collection.add(argument);
  return collection.take();
}

}  // namespace estoc::cli
