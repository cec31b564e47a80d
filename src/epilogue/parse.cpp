// Reads the text of epilogues; docs/epilogues.md has the grammar.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "epilogue/op_table.h"
#include "epilogue/program.h"
#include "estoc/status.hpp"
#include "model/text_cursor.h"

namespace estoc {
namespace epilogue {
namespace {

/// Deepest nesting of expressions; a bound on recursion.
constexpr int kDeepest = 300;

enum class TokenKind : std::uint8_t { end, separator, name, number, sign };

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t position = 0;
  std::string_view text;

  bool is(std::string_view sign) const { return kind == TokenKind::sign && text == sign; }
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// A value while it is read: a node, or the reduction of one.
struct Item {
  int node = 0;
  std::optional<EpilogueReduction> reduction;
  std::size_t position = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text)
      : cursor_((check_length(text), text), "epilogue"), text_(text) {
    advance();
  }

  Program parse() {
    while (token_.kind != TokenKind::end) {
      if (token_.kind == TokenKind::separator) {
        advance();
        continue;
      }
      read_statement();
    }
    if (!builder_.is_assigned("D")) {
      cursor_.fail_at(text_.size(), "expected an assignment to D such as D = accum, got none");
    }
    Program program = builder_.finish();
    program.text = std::move(normal_);
    return program;
  }

 private:
  static void check_length(std::string_view text) {
    if (text.size() <= EpilogueLimits::kTextBytes) return;
    throw Error(ErrorKind::value, fmt::format("epilogue: expected at most {} characters, got {}",
                                              EpilogueLimits::kTextBytes, text.size()));
  }

  // ------------------------------------------------------------------ tokens

  void skip_blanks() {
    while (next_ < text_.size() &&
           (text_[next_] == ' ' || text_[next_] == '\t' || text_[next_] == '\r'))
      ++next_;
  }

  void advance() {
    skip_blanks();
    token_ = {TokenKind::end, next_, {}};
    if (next_ == text_.size()) return;
    const char c = text_[next_];
    std::size_t length = 1;
    if (c == ';' || c == '\n') {
      token_.kind = TokenKind::separator;
    } else if (is_letter(c)) {
      token_.kind = TokenKind::name;
      while (next_ + length < text_.size() &&
             (is_letter(text_[next_ + length]) || is_digit(text_[next_ + length])))
        ++length;
    } else if (is_digit(c) || c == '.') {
      token_.kind = TokenKind::number;
      length = number_length();
    } else {
      token_.kind = TokenKind::sign;
      length = sign_length();
    }
    token_.text = text_.substr(next_, length);
    next_ += length;
  }

  std::size_t number_length() const {
    std::size_t end = next_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end]))
        ++end;
    };
    digits();
    if (end < text_.size() && text_[end] == '.') ++end;
    digits();
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        end = exponent;
        digits();
      }
    }
    return end - next_;
  }

  std::size_t sign_length() const {
    constexpr std::array<std::string_view, 6> kDouble{"==", "!=", "<=", ">=", "&&", "||"};
    const std::string_view two = text_.substr(next_, 2);
    if (std::ranges::find(kDouble, two) != kDouble.end()) return 2;
    constexpr std::string_view kSingle = "+-*/<>!=(),";
    if (kSingle.find(text_[next_]) == std::string_view::npos) {
      cursor_.fail_at(next_, fmt::format("expected a name, a number or an operation, got {}",
                                         model::in_quotes(text_.substr(next_, 1))));
    }
    return 1;
  }

  /// Takes the token, and writes it as it is written in normal text.
  void take(std::string_view written) {
    normal_ += written;
    advance();
  }
  void take() { take(token_.text); }

  bool accept(std::string_view sign, std::string_view written) {
    if (!token_.is(sign)) return false;
    take(written);
    return true;
  }

  void expect(std::string_view sign, std::string_view written, std::string_view expected) {
    if (!accept(sign, written)) fail_expected(expected);
  }

  [[noreturn]] void fail_expected(std::string_view expected) const {
    std::string got = model::in_quotes(token_.text);
    if (token_.kind == TokenKind::end) got = "the end";
    if (token_.text == "\n") got = "the end of the line";
    cursor_.fail_at(token_.position, fmt::format("expected {}, got {}", expected, got));
  }

  /// Puts the column before what the builder says.
  template <class Work>
  auto at(std::size_t position, const Work& work) const {
    try {
      return work();
    } catch (const Error& error) {
      constexpr std::string_view kPrefix = "epilogue: ";
      std::string_view message = error.what();
      if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
      cursor_.fail_at(position, std::string(message));
    }
  }

  // ------------------------------------------------------------------ statements

  void read_statement() {
    if (token_.kind != TokenKind::name) fail_expected("a name to assign, such as D");
    if (!normal_.empty()) normal_ += "; ";
    const Token name = token_;
    take();
    if (name.text == "atomic" && is_end_of_statement()) {
      builder_.allow_atomic();
      return;
    }
    expect("=", " = ", "= after the name");
    const Item value = read_expression();
    if (!is_end_of_statement()) fail_expected("an operation, ; or the end");
    at(name.position, [&] { builder_.assign(name.text, value.node, value.reduction); });
  }

  bool is_end_of_statement() const {
    return token_.kind == TokenKind::end || token_.kind == TokenKind::separator;
  }

  // ------------------------------------------------------------------ expressions

  Item read_expression() {
    if (++depth_ > kDeepest) {
      cursor_.fail_at(token_.position,
                      fmt::format("expected at most {} expressions inside each other", kDeepest));
    }
    const Item item = read_or();
    --depth_;
    return item;
  }

  Item read_or() {
    Item left = read_and();
    while (token_.is("||"))
      left = binary(EpilogueOp::logical_or, " || ", left, &Parser::read_and);
    return left;
  }

  Item read_and() {
    Item left = read_comparison();
    while (token_.is("&&"))
      left = binary(EpilogueOp::logical_and, " && ", left, &Parser::read_comparison);
    return left;
  }

  std::optional<EpilogueOp> comparison() const {
    if (token_.kind != TokenKind::sign) return std::nullopt;
    constexpr std::array<std::pair<std::string_view, EpilogueOp>, 6> kSigns{
        {{"==", EpilogueOp::equal},
         {"!=", EpilogueOp::not_equal},
         {"<", EpilogueOp::less},
         {"<=", EpilogueOp::less_equal},
         {">", EpilogueOp::greater},
         {">=", EpilogueOp::greater_equal}}};
    const auto* const found =
        std::ranges::find(kSigns, token_.text, &std::pair<std::string_view, EpilogueOp>::first);
    if (found == kSigns.end()) return std::nullopt;
    return found->second;
  }

  Item read_comparison() {
    const Item left = read_sum();
    const auto op = comparison();
    if (!op) return left;
    const Item result = binary(*op, fmt::format(" {} ", token_.text), left, &Parser::read_sum);
    if (comparison()) {
      cursor_.fail_at(token_.position, "expected one comparison, got a second; use && or brackets");
    }
    return result;
  }

  Item read_sum() {
    Item left = read_product();
    while (token_.is("+") || token_.is("-")) {
      left = token_.is("+") ? binary(EpilogueOp::add, " + ", left, &Parser::read_product)
                            : binary(EpilogueOp::sub, " - ", left, &Parser::read_product);
    }
    return left;
  }

  Item read_product() {
    Item left = read_unary();
    while (token_.is("*") || token_.is("/")) {
      left = token_.is("*") ? binary(EpilogueOp::mul, " * ", left, &Parser::read_unary)
                            : binary(EpilogueOp::div, " / ", left, &Parser::read_unary);
    }
    return left;
  }

  Item read_unary() {
    const std::size_t position = token_.position;
    if (!token_.is("-") && !token_.is("!")) return read_primary();
    if (++depth_ > kDeepest) {
      cursor_.fail_at(
          position,
          fmt::format("expected at most {} signs and expressions inside each other", kDeepest));
    }
    const EpilogueOp op = token_.is("-") ? EpilogueOp::neg : EpilogueOp::logical_not;
    take();
    const Item input = read_unary();
    --depth_;
    return operation(position, op, {&input, 1});
  }

  Item binary(EpilogueOp op, std::string_view written, const Item& left, Item (Parser::*read)()) {
    const std::size_t position = token_.position;
    take(written);
    const std::array<Item, 2> inputs{left, (this->*read)()};
    return operation(position, op, inputs);
  }

  Item operation(std::size_t position, EpilogueOp op, std::span<const Item> items) {
    std::array<int, 4> inputs{};
    for (std::size_t i = 0; i < items.size(); ++i)
      inputs[i] = whole_value(items[i]);
    return at(position, [&] {
      return Item{builder_.operation(op, {inputs.data(), items.size()}), {}, position};
    });
  }

  /// The node of an item that may be used in expressions.
  int whole_value(const Item& item) const {
    if (item.reduction) {
      cursor_.fail_at(item.position,
                      fmt::format("expected a value of the product's shape, got the result of {}, "
                                  "which can only be assigned to an output",
                                  epilogue_reduction_name(*item.reduction)));
    }
    return item.node;
  }

  Item read_primary() {
    const Token token = token_;
    if (token.kind == TokenKind::number) return read_number();
    if (token.is("(")) {
      take();
      const Item item = read_expression();
      expect(")", ")", ") or an operation");
      return item;
    }
    if (token.kind != TokenKind::name) fail_expected("a value");
    take();
    if (token_.is("(")) return read_call(token);
    return read_name(token);
  }

  Item read_number() {
    const Token token = token_;
    const auto value = core::parse_double(
        token.text.starts_with('.') ? "0" + std::string(token.text) : std::string(token.text));
    if (!value) fail_expected("a number");
    take();
    const bool is_integer = token.text.find_first_of(".eE") == std::string_view::npos;
    return at(token.position, [&] {
      return Item{builder_.literal(*value, is_integer), {}, token.position};
    });
  }

  Item read_name(const Token& token) {
    return at(token.position, [&] {
      if (token.text == "accum") return Item{builder_.accumulator(), {}, token.position};
      if (token.text == "inf" || token.text == "nan") {
        const auto value = core::parse_double(token.text);
        return Item{builder_.literal(*value, false), {}, token.position};
      }
      const int assigned = builder_.find_assignment(token.text);
      if (assigned < 0) return Item{builder_.input(token.text), {}, token.position};
      const auto index = static_cast<std::size_t>(assigned);
      const Program& program = builder_.program();
      return Item{program.assigned_nodes[index], program.assignments[index].reduction,
                  token.position};
    });
  }

  // ------------------------------------------------------------------ calls

  /// At the bracket after a name.
  Item read_call(const Token& name) {
    take();
    if (name.text == "quantize") return read_quantize(name);
    if (const auto which = find_accumulator(name.text)) return read_accumulator(name, *which);
    std::array<Item, 4> items;
    std::size_t count = 0;
    if (!token_.is(")")) {
      do {
        if (count == items.size()) fail_expected("at most 4 inputs");
        items[count++] = read_expression();
      } while (accept(",", ", "));
    }
    expect(")", ")", ", or ) after an input");
    return call(name, {items.data(), count});
  }

  Item call(const Token& name, std::span<const Item> items) {
    if (items.size() == 1) {
      if (const auto reduction = find_reduction(name.text)) {
        return {whole_value(items[0]), reduction, name.position};
      }
      if (const auto dtype = find_cast(name.text)) {
        const int input = whole_value(items[0]);
        return at(name.position, [&] {
          return Item{builder_.cast(input, *dtype), {}, name.position};
        });
      }
      if (name.text == "identity") return {whole_value(items[0]), {}, name.position};
    }
    if (name.text == "dequantize" && items.size() == 2) {
      return operation(name.position, EpilogueOp::mul, items);
    }
    const std::optional<EpilogueOp> op = find_function(name.text);
    if (!op) fail_call(name, items.size());
    const std::size_t most = op_info(*op).inputs;
    const std::optional<double> last = default_input(*op);
    const std::size_t least = last ? most - 1 : most;
    if (items.size() < least || items.size() > most) fail_inputs(name, least, most, items.size());
    std::array<Item, 4> inputs;
    std::ranges::copy(items, inputs.begin());
    if (items.size() < most) {
      inputs[items.size()] = at(name.position, [&] {
        return Item{builder_.literal(*last, false), {}, name.position};
      });
    }
    return operation(name.position, *op, {inputs.data(), most});
  }

  struct WhichAccumulator {
    AccumulatorPairs pairs;
    bool second;
  };

  static std::optional<WhichAccumulator> find_accumulator(std::string_view name) {
    for (const auto pairs : {AccumulatorPairs::halves, AccumulatorPairs::interleaved}) {
      for (const bool second : {false, true})
        if (accumulator_function(pairs, second) == name) return WhichAccumulator{pairs, second};
    }
    return std::nullopt;
  }

  Item read_accumulator(const Token& name, WhichAccumulator which) {
    if (token_.kind != TokenKind::name || token_.text != "accum") fail_expected("accum");
    take();
    expect(")", ")", ") after accum");
    return at(name.position, [&] {
      return Item{builder_.accumulator(which.pairs, which.second), {}, name.position};
    });
  }

  Item read_quantize(const Token& name) {
    std::array<Item, 2> items;
    items[0] = read_expression();
    expect(",", ", ", ", and a scale");
    items[1] = read_expression();
    expect(",", ", ", ", and a dtype");
    const auto dtype =
        token_.kind == TokenKind::name ? find_cast(token_.text) : std::optional<Dtype>();
    if (!dtype) fail_expected("a dtype such as e4m3");
    take();
    expect(")", ")", ") after the dtype");
    const Item quotient = operation(name.position, EpilogueOp::div, items);
    return at(name.position, [&] {
      return Item{builder_.cast(quotient.node, *dtype), {}, name.position};
    });
  }

  [[noreturn]] void fail_inputs(const Token& name, std::size_t least, std::size_t most,
                                std::size_t got) const {
    const std::string expected =
        least == most ? std::to_string(least) : fmt::format("{} or {}", least, most);
    cursor_.fail_at(name.position, fmt::format("{}: expected {} input{}, got {}", name.text,
                                               expected, most == 1 ? "" : "s", got));
  }

  [[noreturn]] void fail_call(const Token& name, std::size_t inputs) const {
    const bool one = find_reduction(name.text) || find_cast(name.text) || name.text == "identity";
    if (one) fail_inputs(name, 1, 1, inputs);
    if (name.text == "dequantize") fail_inputs(name, 2, 2, inputs);
    std::string message = fmt::format("expected an operation, got {}", model::in_quotes(name.text));
    if (const auto nearest = nearest_function(name.text)) {
      message += fmt::format("; did you mean {}?", *nearest);
    }
    cursor_.fail_at(name.position, message);
  }

  model::TextCursor cursor_;  ///< words the errors
  std::string_view text_;
  std::size_t next_ = 0;  ///< where the token after token_ begins
  Token token_;
  ProgramBuilder builder_;
  std::string normal_;
  int depth_ = 0;
};

}  // namespace
}  // namespace epilogue

EpilogueProgram EpilogueProgram::parse(std::string_view text) {
  return EpilogueProgram(std::make_shared<const epilogue::Program>(epilogue::Parser(text).parse()));
}

}  // namespace estoc
