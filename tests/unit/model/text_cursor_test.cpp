// The scanner of problem texts and filters: words, quotes, and errors that name the column.
#include "model/text_cursor.h"

#include <array>

#include "support.h"

namespace estoc::model {
namespace {

using test::expect_error;

TEST(InQuotes, ShowsWhatStandsThereInOneShortLine) {
  EXPECT_EQ(in_quotes(""), "nothing");
  EXPECT_EQ(in_quotes("bf16"), "'bf16'");
  EXPECT_EQ(in_quotes("a\nb\x7f"), "'a?b?'");
  EXPECT_EQ(in_quotes(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(in_quotes(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

TEST(TextCursor, WalksOverWordsAndBlanks) {
  TextCursor cursor(" \t\r\nm=12, n", "problem");
  EXPECT_EQ(cursor.take_until("="), "");
  cursor.skip_blanks();
  EXPECT_EQ(cursor.position(), 4U);
  EXPECT_EQ(cursor.take_until("=,"), "m");
  EXPECT_FALSE(cursor.accept(','));
  EXPECT_TRUE(cursor.accept('='));
  EXPECT_EQ(cursor.take_until("=,"), "12");
  EXPECT_EQ(cursor.peek(), ',');
  EXPECT_TRUE(cursor.accept(','));
  cursor.skip_blanks();
  EXPECT_EQ(cursor.take_until(""), "n");
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.peek(), '\0');
  EXPECT_FALSE(cursor.accept('\0'));
  EXPECT_EQ(cursor.take_until(""), "");
}

TEST(TextCursor, TakesQuotedTextWithItsEscapes) {
  TextCursor cursor(R"("a \"b\" \\ c"rest)", "problem");
  EXPECT_EQ(cursor.take_quoted(), R"(a "b" \ c)");
  EXPECT_EQ(cursor.take_until(""), "rest");
  TextCursor empty(R"("")", "problem");
  EXPECT_EQ(empty.take_quoted(), "");
  EXPECT_TRUE(empty.at_end());
}

TEST(TextCursor, NamesTheColumnOfABadQuote) {
  const auto take = [](std::string_view text) {
    TextCursor cursor(text, "problem");
    cursor.skip_blanks();
    return cursor.take_quoted();
  };
  expect_error([&] { take("  word x"); },
               "problem, column 3: expected text in double quotes, got 'word'");
  expect_error([&] { take(" \"open"); },
               "problem, column 2: expected a closing double quote, got the end of the text");
  expect_error([&] { take(R"("a\n")"); }, R"(problem, column 4: expected " or \ after \, got 'n')");
  expect_error([&] { take("\"a\\"); },
               R"(problem, column 4: expected " or \ after \, got nothing)");
}

TEST(TextCursor, FailuresSayWhatWasExpectedAndWhatIsNear) {
  constexpr std::array<std::string_view, 2> kNames{"bf16", "e4m3"};
  const TextCursor cursor("a=bf61 b=f32", "filter");
  expect_error([&] { cursor.fail_expected(2, "a dtype"); },
               "filter, column 3: expected a dtype, got 'bf61'");
  expect_error([&] { cursor.fail_expected(12, "a dtype"); },
               "filter, column 13: expected a dtype, got nothing");
  expect_error([&] { cursor.fail_word(2, "a dtype", "bf61", kNames); },
               "filter, column 3: expected a dtype, got 'bf61'; did you mean bf16?");
  expect_error([&] { cursor.fail_word(2, "a dtype", "softmax", kNames); },
               "filter, column 3: expected a dtype, got 'softmax'");
}

TEST(TextCursor, RefusesTextBeyondTheLimit) {
  const std::string longest(kMaxText, ' ');
  TextCursor cursor(longest, "problem");
  cursor.skip_blanks();
  EXPECT_TRUE(cursor.at_end());
  expect_error([&] { TextCursor(longest + " ", "problem"); },
               "problem, column 65537: expected at most 65536 characters, got 65537");
}

}  // namespace
}  // namespace estoc::model
