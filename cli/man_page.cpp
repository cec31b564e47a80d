// Writes the manual page.
#include "man_page.h"

#include <fmt/format.h>

#include <string_view>

namespace estoc::cli {
namespace {

/// Text of which no character and no line means anything to man.
std::string roff(std::string_view text) {
  std::string page;
  for (const char c : text) {
    const bool begins = page.empty() || page.back() == '\n';
    if (begins && (c == '.' || c == '\'')) page += "\\&";
    if (c == '-') {
      page += "\\-";
    } else if (c == '\\') {
      page += "\\e";
    } else {
      page += c;
    }
  }
  return page;
}

std::string paragraph_of(const CLI::Option& option) {
  const bool positional = option.get_positional();
  const std::string names = positional ? "" : option.get_name(false, true);
  const std::string type = option.get_type_name();
  const std::string gap = names.empty() || type.empty() ? "" : " ";
  return fmt::format(".TP\n\\fB{}\\fR{}\\fI{}\\fR\n{}\n", roff(names), gap, roff(type),
                     roff(option.get_description()));
}

std::string lines_as_they_are(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

std::string section_of(const CLI::App& command) {
  std::string page =
      fmt::format(".SS estoc {}\n{}\n", roff(command.get_name()), roff(command.get_description()));
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_lnames() != std::vector<std::string>{"help"}) page += paragraph_of(*option);
  }
  for (const CLI::App* nested : command.get_subcommands({})) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(nested->get_name()),
                        roff(nested->get_description()));
  }
  return page + lines_as_they_are(command.get_footer());
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::string page =
      ".TH ESTOC 1 \"\" \"Estoc " ESTOC_VERSION
      "\"\n.SH NAME\nestoc \\- finds, compiles and runs the GEMM kernel that fits a problem\n"
      ".SH SYNOPSIS\n.B estoc\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
      ".SH DESCRIPTION\n" +
      roff(app.get_description()) + "\n.SH OPTIONS\n";
  for (const CLI::Option* option : app.get_options({}))
    page += paragraph_of(*option);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({}))
    page += section_of(*command);
  return page + ".SH NOTES\n" + lines_as_they_are(app.get_footer());
}

}  // namespace estoc::cli
