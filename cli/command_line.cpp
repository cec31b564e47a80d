// The command `estoc` as a function: reads the command line, runs one command, and turns errors
// into exit statuses.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "estoc/command.hpp"
#include "estoc/log.hpp"
#include "failure.h"
#include "interrupt.h"
#include "man_page.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kDescription =
    "Finds, explains, runs and checks GEMM kernels.\n"
    "A problem is a text such as 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n'.";

constexpr const char* kCommandLineFooter =
    "Exit status: 0 done, 1 the output is wrong (--check), 2 bad input, 3 nothing found or not\n"
    "supported, 4 a file cannot be read or written, 5 a kernel failed to compile or run,\n"
    "6 out of memory. Ctrl-C ends it by SIGINT (130 in a shell), and leaves no partial file.\n"
    "'estoc devices --environment' lists the environment variables that it reads.\n"
    "'python -m estoc --plugin MODULE' adds kernels in Python.\n"
    "'estoc COMMAND --help' shows examples.";

constexpr std::array<std::string_view, 4> kLogLevels{"error", "warning", "info", "debug"};

/// The command of that name. Throws Failure where there is none.
const CLI::App& command_named(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  const std::string like = nearest(name, names);
  throw Failure(Exit::usage, "there is no command '" + name + "'",
                like.empty() ? "the commands are: " + join(names) : "did you mean " + like + "?");
}

void add_help(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("help", "print the commands, or the help of one");
  auto name = std::make_shared<std::string>();
  auto as_page = std::make_shared<bool>(false);
  CLI::Option* const given =
      command->add_option("command", *name, "the command")->type_name("COMMAND");
  command->add_flag("--man", *as_page, "print the manual page")->excludes(given);
  command->footer(
      "Examples:\n  estoc help\n  estoc help find\n"
      "  estoc help --man > ~/.local/share/man/man1/estoc.1");
  command->callback([&app, &invocation, name, as_page] {
    invocation.run = [&app, name, as_page](Context& context) {
      if (*as_page) {
        context.output.print(man_page(app));
        return Exit::ok;
      }
      // app.help() would be that of the command that was parsed, which is this one.
      const std::string all = app.get_formatter()->make_help(&app, app.get_name(), {});
      context.output.print(name->empty() ? all : command_named(app, *name).help(app.get_name()));
      return Exit::ok;
    };
  });
}

void add_commands(CLI::App& app, Invocation& invocation) {
  add_devices(app, invocation);
  add_list(app, invocation);
  add_find(app, invocation);
  add_explain(app, invocation);
  add_run(app, invocation);
  add_check(app, invocation);
  add_bench(app, invocation);
  add_tune(app, invocation);
  add_compile(app, invocation);
  add_cache(app, invocation);
  add_completion(app, invocation);
  add_help(app, invocation);
}

/// Kernel classes written in Python need a Python to run in.
void refuse_plugins(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--plugin" && !word.starts_with("--plugin=")) continue;
    throw Failure(Exit::usage, "this program has no Python in it to load a plugin with",
                  "pip install estoc, then 'python3 -m estoc --plugin MODULE COMMAND'");
  }
}

/// Sends the library's log to standard error, down to `level`.
void show_log(const std::string& level) {
  const auto least = std::ranges::find(kLogLevels, level) - kLogLevels.begin();
  set_log_callback([least](LogLevel of, std::string_view line) {
    const auto place = static_cast<std::ptrdiff_t>(of);
    if (place <= least) log_line(kLogLevels.at(static_cast<std::size_t>(place)), line);
  });
}

/// The words of the command line that nothing takes, and what was probably meant.
Failure too_many_words(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> words = app.remaining(true);
  std::string hint = "'estoc " + command.get_name() + " --help' shows the usage";
  if (const std::string& first = words.front(); first.starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App* owner : {&command, &app}) {
      for (const CLI::Option* option : owner->get_options())
        for (const std::string& name : option->get_lnames())
          names.push_back("--" + name);
    }
    const std::string like = nearest(first.substr(0, first.find('=')), names);
    if (!like.empty()) hint = "did you mean " + like + "?";
    return {Exit::usage, "there is no option '" + first + "'", hint};
  }
  if (words.front().find('=') != std::string::npos)
    hint = "a problem is one word, in quotes: 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n'";
  return {Exit::usage, "expected no more words, got " + join(words, " "), hint};
}

/// CLI11's message, begun with a small letter as ours are.
std::string message_of(const CLI::ParseError& error) {
  std::string text = error.what();
  if (text == "A subcommand is required") return "a command is required";
  const bool word = text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0;
  if (word) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// Parses; true when a command is to be run, false when help or the version was printed.
bool parse(CLI::App& app, Output& output, int argc, char** argv) {
  if (argc < 2) {
    output.print(app.help());
    return false;
  }
  try {
    refuse_plugins(argc, argv);
    // CLI11 would only say that an argument was not expected.
    if (argv[1][0] != '-') command_named(app, argv[1]);
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    output.print(app.help());
  } catch (const CLI::CallForVersion&) {
    output.print("estoc " ESTOC_VERSION "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    if (!app.remaining(true).empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
      throw too_many_words(app, command);
    const std::string name = chosen.empty() ? "" : command.get_name() + ' ';
    throw Failure(Exit::usage, message_of(error), "'estoc " + name + "--help' shows the usage");
  }
  return false;
}

int run(int argc, char** argv) {
  CLI::App app(kDescription, "estoc");
  app.footer(kCommandLineFooter);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "estoc " ESTOC_VERSION, "print the version");
  const std::string no_color_text = "print without colours";
  const CLI::Option* no_color = app.add_flag("--no-color", no_color_text)->envname("NO_COLOR");
  std::string log = "warning";
  app.add_option("--log", log, "print the library's log down to: error, warning, info, debug")
      ->type_name("LEVEL")
      ->envname("ESTOC_LOG")
      ->check(CLI::IsMember(std::vector<std::string>(kLogLevels.begin(), kLogLevels.end())));
  app.add_flag_callback(
         "--verbose", [&log] { log = "info"; }, "as --log info")
      ->excludes("--log")
      ->trigger_on_parse();
  Invocation invocation;
  add_commands(app, invocation);

  Output plain(true);
  if (!parse(app, plain, argc, argv)) {
    plain.finish();
    return 0;
  }
  show_log(log);
  Output output(no_color->count() > 0);
  Context context{output};
  const Exit exit = invocation.run(context);
  output.finish();
  return static_cast<int>(exit);
}

}  // namespace
}  // namespace estoc::cli

int estoc::run_command(int argc, char** argv) {
  using namespace estoc::cli;
  install_signal_handlers();
  try {
    return estoc::cli::run(argc, argv);
  } catch (const BrokenPipe&) {
    return static_cast<int>(Exit::ok);
  } catch (const std::exception& exception) {
    return report(exception);
  }
}
