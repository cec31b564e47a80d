// Which headers a text includes, directly and through other headers, and a hash of them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "jit/nvrtc.h"

namespace estoc::jit {

/// The includes among a set of headers. Immutable; the headers' texts outlive it.
class IncludeGraph {
 public:
  /// Of headers in folders that a compiler searches in this order.
  explicit IncludeGraph(std::span<const std::span<const HeaderText>> folders);

  /// Hash of the names and texts of the headers that `text` includes, directly or through others.
  /// Of two headers with one name only the first folder's counts, and a name that no folder has
  /// counts for nothing. Where the name of an include is not in the text itself, but in a macro for
  /// instance, all headers count.
  core::Hash128 hash(std::string_view text) const;

  /// The names of those headers.
  std::set<std::string_view> names(std::string_view text) const;

 private:
  using Marks = std::vector<bool>;  // one for each header

  Marks included(std::string_view text) const;

  /// Marks the headers that a text in `folder`, which ends with '/' or is empty, names.
  void mark_named(std::string_view text, std::string_view folder, Marks& marks) const;

  std::map<std::string_view, std::size_t, std::less<>> index_;  // by name
  std::vector<core::Hash128> hashes_;                           // of name and text of each header
  std::vector<Marks> closures_;                                 // of each header, itself included
};

}  // namespace estoc::jit
