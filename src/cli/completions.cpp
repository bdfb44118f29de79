// Completions of commands and options for bash, zsh and fish; values are completed as file names.
#include <fmt/core.h>

#include "base/text.h"
#include "cli/command_text.h"
#include "cli/shell.h"

namespace assay::cli {

namespace {

std::vector<std::string> flags_of(const CommandText& command) {
  std::vector<std::string> flags;
  for (const OptionText& option : command.options) {
    if (option.is_positional) continue;
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  }
  return flags;
}

std::vector<std::string> names_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.name);
  return names;
}

// What may follow a command: its subcommands and flags. `path` is "", "zoo" or "zoo
// export".
std::string bash_cases(const CommandText& command, const std::string& path) {
  auto words = names_of(command.commands);
  const auto flags = flags_of(command);
  words.insert(words.end(), flags.begin(), flags.end());
  std::string cases =
      fmt::format("    {}) words={} ;;\n", shell_quoted(path), shell_quoted(join(words, " ")));
  for (const CommandText& inner : command.commands) {
    cases += bash_cases(inner, path.empty() ? inner.name : path + " " + inner.name);
  }
  return cases;
}

void add_paths(const CommandText& command, const std::string& path,
               std::vector<std::string>& paths) {
  for (const CommandText& inner : command.commands) {
    paths.push_back(path.empty() ? inner.name : path + " " + inner.name);
    add_paths(inner, paths.back(), paths);
  }
}

// Names of files are offered for values that may be some.
bool may_be_a_file(const OptionText& option) {
  for (const char* kind : {"FILE", "FOLDER", "DATA", "SHAPE"}) {
    if (option.value_name.find(kind) != std::string::npos) return true;
  }
  return false;
}

std::string zsh_value(const OptionText& option) {
  return fmt::format(":{}:{}", option.value_name, may_be_a_file(option) ? "_files" : "");
}

// An _arguments specification: colons and brackets of the text are escaped.
std::string zsh_argument(const std::string& flag, const OptionText& option) {
  std::string text;
  for (const char c : option.description) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return shell_quoted(
      fmt::format("{}[{}]{}", flag, text, option.takes_value ? zsh_value(option) : ""));
}

std::string zsh_arguments(const CommandText& command) {
  std::string arguments = "_arguments";
  for (const OptionText& option : command.options) {
    if (option.is_positional) continue;
    for (const std::string& name : option.names) {
      arguments += " \\\n        " + zsh_argument(name, option);
    }
  }
  return arguments + " \\\n        '*:argument:_files'";
}

std::string zsh_commands(const std::vector<CommandText>& commands) {
  std::string list;
  for (const CommandText& command : commands) {
    list += "    " + shell_quoted(command.name + ":" + command.description) + "\n";
  }
  return list;
}

// Flags of a subcommand are offered together with those of its parent.
CommandText with_inner_options(CommandText command) {
  for (const CommandText& inner : command.commands) {
    command.options.insert(command.options.end(), inner.options.begin(), inner.options.end());
  }
  return command;
}

std::string fish_option(const std::string& condition, const OptionText& option) {
  std::string line = "complete -c assay -n " + shell_quoted(condition);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value) line += may_be_a_file(option) ? " -r" : " -x";
  return line + " -d " + shell_quoted(option.description) + "\n";
}

std::string fish_options(const CommandText& command, const std::string& condition) {
  std::string lines;
  for (const OptionText& option : command.options) {
    if (!option.is_positional) lines += fish_option(condition, option);
  }
  return lines;
}

std::string fish_command(const CommandText& command, const std::string& condition) {
  return fmt::format("complete -c assay -f -n {} -a {} -d {}\n", shell_quoted(condition),
                     command.name, shell_quoted(command.description));
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  std::vector<std::string> paths;
  add_paths(program, "", paths);
  for (std::string& path : paths) path = shell_quoted(path);
  return fmt::format(R"(# bash completion for assay
_assay() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command='' words='' word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{command:+$command }}$word" in
      {}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command" in
{}  esac
  if [[ $current == -* || -z $command ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _assay assay
)",
                     join(paths, "|"), bash_cases(program, ""));
}

std::string zsh_completion(const CommandText& program) {
  std::string cases;
  for (const CommandText& command : program.commands) {
    cases += fmt::format("    {})\n      {} ;;\n", command.name,
                         zsh_arguments(with_inner_options(command)));
  }
  return fmt::format(R"(#compdef assay
local -a commands
commands=(
{})
if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
  _describe command commands
  return
fi
shift words
(( CURRENT-- ))
case $words[1] in
{}    *)
      {} ;;
esac
)",
                     zsh_commands(program.commands), cases, zsh_arguments(program));
}

std::string fish_completion(const CommandText& program) {
  const std::string first = "__fish_use_subcommand";
  std::string lines = "# fish completion for assay\n" + fish_options(program, first);
  for (const CommandText& command : program.commands) lines += fish_command(command, first);
  for (const CommandText& command : program.commands) {
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    for (const CommandText& inner : command.commands) lines += fish_command(inner, seen);
    lines += fish_options(with_inner_options(command), seen);
  }
  return lines;
}

}  // namespace assay::cli
