// `estoc completion SHELL`: a completion script, made from the commands themselves.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kCompletionFooter =
    "Examples:\n"
    "  source <(estoc completion bash)\n"
    "  estoc completion bash > ~/.local/share/bash-completion/completions/estoc\n"
    "  source <(estoc completion zsh)\n"
    "  estoc completion fish > ~/.config/fish/completions/estoc.fish";

constexpr std::string_view kFilterKeys =
    "name= class= provider= operation= target= min_cc= a= b= acc= out= layouts= op= tile= cluster= "
    "instruction= stages= schedule= split= align_a= align_b= align_out= epilogue=";

/// {0} the commands, {1} one case a command with its options, {2} targets, {3} filter keys, {4} the
/// options that take a file, as a pattern of case.
constexpr std::string_view kBash = R"(# {5} completion of estoc
_estoc() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} != -* ]] && command=${{COMP_WORDS[i]}} && break
  done
  case $previous in
    --target) COMPREPLY=($(compgen -W '{2}' -- "$word")); return ;;
    --filter) COMPREPLY=($(compgen -W '{3}' -- "$word"))
      compopt -o nospace 2>/dev/null; return ;;
    {4}) COMPREPLY=($(compgen -f -- "$word"))
      compopt -o filenames 2>/dev/null; return ;;
  esac
  case $command in
    '') COMPREPLY=($(compgen -W '{0} --help --version --no-color' -- "$word")) ;;
{1}  esac
}}
complete -F _estoc estoc
)";

/// zsh runs bash's script by its module bashcompinit.
constexpr std::string_view kZshStart =
    "autoload -U +X compinit && compinit\n"
    "autoload -U +X bashcompinit && bashcompinit\n";

bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.ends_with("FILE") || type == "FOLDER" || type == "OLD NEW";
}

/// What may follow a command: its options, and the commands within it.
std::string words_after(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* nested : (command.get_name() == "help" ? app : command).get_subcommands({}))
    words.push_back(nested->get_name());
  for (const CLI::Option* option : command.get_options({})) {
    for (const std::string& name : option->get_lnames())
      words.push_back("--" + name);
  }
  return join(words, " ");
}

/// Long names of all options that take a file, each once.
std::vector<std::string> file_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    for (const CLI::Option* option : command->get_options({})) {
      if (!takes_file(*option)) continue;
      for (const std::string& name : option->get_lnames())
        names.push_back("--" + name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string bash_script(const CLI::App& app, std::string_view shell) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    cases += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n",
                         command->get_name(), words_after(app, *command));
  }
  return fmt::format(kBash, join(names, " "), cases, join(target_names(), " "), kFilterKeys,
                     join(file_options(app), "|"), shell);
}

std::string zsh_script(const CLI::App& app) {
  return std::string(kZshStart) + bash_script(app, "zsh");
}

/// In single quotes, where fish knows two escapes.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return quoted + '\'';
}

/// The values of an option that has some: the arguments of fish's `complete` for them.
std::string fish_values(const CLI::Option& option) {
  if (option.get_lnames().front() == "target")
    return " -x -a " + fish_quoted(join(target_names(), " "));
  if (option.get_lnames().front() == "filter")
    return " -x -a " + fish_quoted(std::string(kFilterKeys));
  if (takes_file(option)) return " -r";
  return option.get_items_expected_max() > 0 ? " -x" : "";
}

std::string fish_command(const CLI::App& app, const CLI::App& command) {
  const std::string begin = "complete -c estoc -n ";
  const std::string name = command.get_name();
  const std::string within = begin + "'__fish_seen_subcommand_from " + name + "'";
  std::string lines = fmt::format("{}__fish_use_subcommand -f -a {} -d {}\n", begin, name,
                                  fish_quoted(command.get_description()));
  for (const CLI::App* nested : (name == "help" ? app : command).get_subcommands({}))
    lines += fmt::format("{} -f -a {} -d {}\n", within, nested->get_name(),
                         fish_quoted(nested->get_description()));
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_lnames().empty()) continue;
    lines += fmt::format("{} -l {} -d {}{}\n", within, option->get_lnames().front(),
                         fish_quoted(option->get_description()), fish_values(*option));
  }
  return lines;
}

std::string fish_script(const CLI::App& app) {
  std::string script = "# fish completion of estoc\n";
  for (const CLI::App* command : app.get_subcommands({}))
    script += fish_command(app, *command);
  return script;
}

}  // namespace

void add_completion(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("completion", "print a completion script for a shell");
  command->require_subcommand(1);
  command->footer(kCompletionFooter);
  const auto add_shell = [&](const char* name, std::string (*script)(const CLI::App&)) {
    CLI::App* shell = command->add_subcommand(name, fmt::format("the script for {}", name));
    shell->callback([&app, &invocation, script] {
      invocation.run = [&app, script](Context& context) {
        context.output.print(script(app));
        return Exit::ok;
      };
    });
  };
  add_shell("bash", [](const CLI::App& all) { return bash_script(all, "bash"); });
  add_shell("zsh", &zsh_script);
  add_shell("fish", &fish_script);
}

}  // namespace estoc::cli
