// The scanner that problem text and filters share.
#include "model/text_cursor.h"

#include <fmt/format.h>

#include "core/text.h"
#include "estoc/status.hpp"

namespace estoc::model {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kLongestQuote = 40;

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7f;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  if (text.empty()) return "nothing";
  const bool cut = text.size() > kLongestQuote;
  std::string shown(text.substr(0, kLongestQuote));
  for (char& character : shown) {
    if (is_control(character)) character = '?';
  }
  return fmt::format("'{}{}'", shown, cut ? "..." : "");
}

TextCursor::TextCursor(std::string_view text, const char* what) : text_(text), what_(what) {
  if (text.size() > kMaxText) {
    fail_at(kMaxText, fmt::format("expected at most {} characters, got {}", kMaxText, text.size()));
  }
}

void TextCursor::skip_blanks() {
  while (!at_end() && kBlanks.find(text_[position_]) != std::string_view::npos)
    ++position_;
}

bool TextCursor::accept(char character) {
  if (at_end() || text_[position_] != character) return false;
  ++position_;
  return true;
}

std::string_view TextCursor::take_until(std::string_view stops) {
  const std::size_t start = position_;
  while (!at_end() && kBlanks.find(text_[position_]) == std::string_view::npos &&
         stops.find(text_[position_]) == std::string_view::npos) {
    ++position_;
  }
  return text_.substr(start, position_ - start);
}

std::string TextCursor::take_quoted() {
  const std::size_t start = position_;
  if (!accept('"')) fail_expected(start, "text in double quotes");
  std::string value;
  while (!accept('"')) {
    if (at_end()) fail_at(start, "expected a closing double quote, got the end of the text");
    char character = text_[position_++];
    if (character == '\\') {
      character = peek();
      if (character != '"' && character != '\\') {
        fail_at(position_, fmt::format(R"(expected " or \ after \, got {})",
                                       in_quotes(text_.substr(position_, 1))));
      }
      ++position_;
    }
    value += character;
  }
  return value;
}

void TextCursor::fail_at(std::size_t position, const std::string& message) const {
  throw Error(ErrorKind::value, fmt::format("{}, column {}: {}", what_, position + 1, message));
}

void TextCursor::fail_expected(std::size_t position, std::string_view expected) const {
  TextCursor rest = *this;
  rest.position_ = position;
  fail_at(position, fmt::format("expected {}, got {}", expected, in_quotes(rest.take_until(""))));
}

void TextCursor::fail_word(std::size_t position, std::string_view expected, std::string_view got,
                           std::span<const std::string_view> candidates) const {
  std::string message = fmt::format("expected {}, got {}", expected, in_quotes(got));
  if (const auto nearest = core::nearest_name(got, candidates)) {
    message += fmt::format("; did you mean {}?", *nearest);
  }
  fail_at(position, message);
}

}  // namespace estoc::model
