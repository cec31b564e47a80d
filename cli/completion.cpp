// `estoc completion bash`: a completion script, made from the commands themselves.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  source <(estoc completion bash)\n"
    "  estoc completion bash > ~/.local/share/bash-completion/completions/estoc";

constexpr std::string_view kFilterKeys =
    "name= class= provider= operation= target= min_cc= a= b= acc= out= layouts= op= tile= cluster= "
    "instruction= stages= schedule= split= align_a= align_b= align_out= epilogue=";

/// {0} the commands, {1} one case a command with its options, {2} targets, {3} filter keys.
constexpr std::string_view kScript = R"(# bash completion of estoc
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
    --a|--b|--out|--csv|--plot|--roofline|--resume) COMPREPLY=($(compgen -f -- "$word"))
      compopt -o filenames 2>/dev/null; return ;;
  esac
  case $command in
    '') COMPREPLY=($(compgen -W '{0} --help --version --no-color' -- "$word")) ;;
{1}  esac
}}
complete -F _estoc estoc
)";

/// What may follow a command: its options, or for `completion` the shells.
std::string words_after(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* nested : command.get_subcommands({}))
    words.push_back(nested->get_name());
  for (const CLI::Option* option : command.get_options({})) {
    for (const std::string& name : option->get_lnames())
      words.push_back("--" + name);
  }
  return join(words, " ");
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> commands, targets;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    cases += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n",
                         command->get_name(), words_after(*command));
  }
  for (const Target target : known_targets())
    targets.push_back(target.name());
  return fmt::format(kScript, join(commands, " "), cases, join(targets, " "), kFilterKeys);
}

}  // namespace

void add_completion(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("completion", "print a completion script for a shell");
  command->require_subcommand(1);
  command->footer(kFooter);
  CLI::App* bash = command->add_subcommand("bash", "the script for bash");
  bash->callback([&app, &invocation] {
    invocation.run = [&app](Context& context) {
      context.output.print(bash_script(app));
      return Exit::ok;
    };
  });
}

}  // namespace estoc::cli
