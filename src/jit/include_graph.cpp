// Which headers a text includes, directly and through other headers, and a hash of them.
#include "jit/include_graph.h"

#include <algorithm>
#include <string>

namespace estoc::jit {
namespace {

constexpr std::string_view kInclude = "include";
constexpr std::string_view kBlanks = " \t";

/// The rest of a line from `begin` on.
std::string_view rest_of_line(std::string_view text, std::size_t begin) {
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

/// The name in `<name>` or `"name"` at the front of `rest`; empty where there is none.
std::string_view quoted_name(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  if (rest.empty() || (rest.front() != '<' && rest.front() != '"')) return {};
  const std::size_t end = rest.find(rest.front() == '<' ? '>' : '"', 1);
  return end == std::string_view::npos ? std::string_view{} : rest.substr(1, end - 1);
}

/// Whether the line that holds position `at` has a '#' before it.
bool is_directive(std::string_view text, std::size_t at) {
  const std::size_t hash = text.rfind('#', at);
  return hash != std::string_view::npos && text.find('\n', hash) > at;
}

/// Calls found(name) for each name that `text` may include, with an empty name for an include that
/// is not spelled `include <name>` or `include "name"`. What stands in comments counts too.
template <typename Found>
void for_each_include(std::string_view text, const Found& found) {
  for (std::size_t at = 0; (at = text.find(kInclude, at)) != std::string_view::npos;) {
    const std::size_t end = at + kInclude.size();
    const std::string_view name = quoted_name(rest_of_line(text, end));
    if (!name.empty() || is_directive(text, at)) found(name);
    at = end;
  }
}

std::string_view folder_of(std::string_view name) {
  return name.substr(0, name.rfind('/') + 1);
}

}  // namespace

IncludeGraph::IncludeGraph(std::span<const std::span<const HeaderText>> folders) {
  std::vector<const HeaderText*> headers;
  for (const auto& folder : folders) {
    for (const HeaderText& header : folder) {
      if (!index_.emplace(header.name, headers.size()).second) continue;
      headers.push_back(&header);
      hashes_.push_back(core::Hasher().field(header.name).field(header.text).digest());
    }
  }
  std::vector<Marks> direct(headers.size(), Marks(headers.size()));
  for (std::size_t i = 0; i < headers.size(); ++i)
    mark_named(headers[i]->text, folder_of(headers[i]->name), direct[i]);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    Marks& closure = closures_.emplace_back(headers.size());
    std::vector<std::size_t> left{i};
    while (!left.empty()) {
      const std::size_t header = left.back();
      left.pop_back();
      if (closure[header]) continue;
      closure[header] = true;
      for (std::size_t other = 0; other < headers.size(); ++other) {
        if (direct[header][other]) left.push_back(other);
      }
    }
  }
}

void IncludeGraph::mark_named(std::string_view text, std::string_view folder, Marks& marks) const {
  for_each_include(text, [&](std::string_view name) {
    if (name.empty() || name.find("..") != std::string_view::npos) {
      marks.assign(marks.size(), true);
      return;
    }
    // The compiler looks beside the including file first; whichever there are count.
    for (const std::string& path : {std::string(folder).append(name), std::string(name)}) {
      if (const auto found = index_.find(path); found != index_.end()) marks[found->second] = true;
    }
  });
}

IncludeGraph::Marks IncludeGraph::included(std::string_view text) const {
  Marks direct(hashes_.size());
  mark_named(text, "", direct);
  Marks included(hashes_.size());
  for (std::size_t i = 0; i < direct.size(); ++i) {
    if (!direct[i] || included[i]) continue;
    for (std::size_t j = 0; j < included.size(); ++j)
      included[j] = included[j] || closures_[i][j];
  }
  return included;
}

core::Hash128 IncludeGraph::hash(std::string_view text) const {
  const Marks marks = included(text);
  core::Hasher hasher;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) hasher.update(std::as_bytes(std::span(&hashes_[i], 1)));
  }
  return hasher.digest();
}

std::set<std::string_view> IncludeGraph::names(std::string_view text) const {
  const Marks marks = included(text);
  std::set<std::string_view> names;
  for (const auto& [name, number] : index_) {
    if (marks[number]) names.insert(name);
  }
  return names;
}

}  // namespace estoc::jit
