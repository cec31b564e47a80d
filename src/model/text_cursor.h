// Walks over text of keys and values, and words errors with the column.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace estoc::model {

/// Longest text that is read.
inline constexpr std::size_t kMaxText = std::size_t{64} * 1024;

/// `text` in single quotes for a message: cut short when long, control characters as `?`;
/// "nothing" when empty.
std::string in_quotes(std::string_view text);

/// A position in one text. `what` names the text in messages ("problem").
class TextCursor {
 public:
  /// Throws Error{value} when the text is longer than kMaxText.
  TextCursor(std::string_view text, const char* what);

  bool at_end() const { return position_ == text_.size(); }
  std::size_t position() const { return position_; }
  /// The character here; '\0' at the end.
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  void skip_blanks();
  /// Steps over `character` if it is here.
  bool accept(char character);
  /// The characters from here to the first that is blank or one of `stops`.
  std::string_view take_until(std::string_view stops);
  /// The text between double quotes that starts here; \" and \\ stand for " and \.
  std::string take_quoted();

  /// Throws Error{value}: "problem, column 7: <message>".
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;
  /// "... expected <expected>, got '<what stands there up to a blank>'".
  [[noreturn]] void fail_expected(std::size_t position, std::string_view expected) const;
  /// The same for a word already taken, with the nearest of the candidates.
  [[noreturn]] void fail_word(std::size_t position, std::string_view expected, std::string_view got,
                              std::span<const std::string_view> candidates) const;

 private:
  std::string_view text_;
  const char* what_;
  std::size_t position_ = 0;
};

}  // namespace estoc::model
