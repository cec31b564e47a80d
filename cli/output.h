// Results on standard output: checked writes, colour where it is wanted.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace estoc::cli {

/// The reader of standard output has gone (`estoc list | head`); the command ends quietly.
class BrokenPipe : public std::exception {};

enum class Style : std::uint8_t { plain, bold, good, bad, dim };

/// Standard output. Nothing else of the command writes there.
class Output {
 public:
  /// Colour is used on a terminal, unless `no_color`.
  explicit Output(bool no_color);

  bool is_terminal() const { return terminal_; }
  bool has_color() const { return color_; }

  /// Throws BrokenPipe, or Failure{file} when the text cannot be written (disk full).
  void print(std::string_view text);
  /// To be called when all is printed: what the system still held back may fail, too.
  void finish();

  /// `text` in a style, or as it is where there is no colour.
  std::string styled(std::string_view text, Style style) const;

 private:
  bool terminal_;
  bool color_;
};

}  // namespace estoc::cli
