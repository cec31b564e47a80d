// Builds an HTML page from headings, text, pictures and tables; it loads nothing from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace estoc::cli {

class Page {
 public:
  struct Column {
    std::string name;
    bool number = false;  ///< its cells end at the right
  };

  explicit Page(std::string_view title);

  void heading(std::string_view text);
  void paragraph(std::string_view text);
  /// An SVG picture, which a narrow window scrolls.
  void picture(std::string_view svg);
  void table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

  /// The whole file.
  std::string take() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace estoc::cli
