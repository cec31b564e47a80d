// Writes the elements of an HTML page.
#include "page.h"

#include <fmt/format.h>

#include "svg.h"

namespace estoc::cli {
namespace {

constexpr const char* kPageStyle =
    "body{font:15px sans-serif;color:#222;margin:2em auto;max-width:75em;padding:0 1em}"
    "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:2em}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse}"
    "th,td{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}"
    ".number{text-align:right;white-space:nowrap}";

std::string page_cell(const char* element, const Page::Column& column, std::string_view text) {
  return fmt::format("<{0}{1}>{2}</{0}>", element, column.number ? " class=\"number\"" : "",
                     escaped(text));
}

}  // namespace

Page::Page(std::string_view title) : title_(escaped(title)) {}

void Page::heading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", escaped(text));
}

void Page::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escaped(text));
}

void Page::picture(std::string_view svg) {
  body_ += fmt::format("<div class=\"wide\">\n{}</div>\n", svg);
}

void Page::table(const std::vector<Column>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  body_ += "<div class=\"wide\"><table>\n<tr>";
  for (const Column& column : columns)
    body_ += page_cell("th", column, column.name);
  body_ += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    body_ += "<tr>";
    for (std::size_t place = 0; place < row.size(); ++place)
      body_ += page_cell("td", columns[place], row[place]);
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

std::string Page::take() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n"
      "</html>\n",
      title_, kPageStyle, body_);
}

}  // namespace estoc::cli
