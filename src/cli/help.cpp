// The help text of a command: what it does, its options under their headings, examples.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/command.h"
#include "cli/command_text.h"

namespace assay::cli {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kDescriptionColumn = 26;

// Lines of at most `kWidth` columns; the first begins at column `begun`, the others at `indent`.
std::string wrapped_at(std::string_view text, std::size_t begun, std::size_t indent) {
  std::string lines;
  std::string line;
  std::size_t start = begun;
  for (const std::string& word : split(text, ' ')) {
    const bool fits = start + display_width(line) + 1 + display_width(word) <= kWidth;
    if (!line.empty() && !fits) {
      lines += std::exchange(line, "") + "\n" + std::string(indent, ' ');
      start = indent;
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string entry(const std::string& name, const std::string& description) {
  const std::string begin = "  " + name;
  const bool is_short = display_width(begin) + 2 <= kDescriptionColumn;
  const std::size_t gap = is_short ? kDescriptionColumn - display_width(begin) : 0;
  const std::string margin =
      is_short ? std::string(gap, ' ') : "\n" + std::string(kDescriptionColumn, ' ');
  return begin + margin + wrapped_at(description, kDescriptionColumn, kDescriptionColumn);
}

std::string option_line(const OptionText& option) {
  std::string name = join(option.names, ", ");
  if (option.is_positional && option.is_list) name += "...";
  if (!option.is_positional && !option.value_name.empty()) name += " " + option.value_name;
  const bool is_required_option = option.is_required && !option.is_positional;
  return entry(name, option.description + (is_required_option ? " (required)" : ""));
}

std::string usage(const CommandText& command, const std::string& path) {
  std::string text = "Usage: " + path + " [OPTIONS]";
  for (const OptionText& option : command.options) {
    if (!option.is_positional) continue;
    const std::string name = option.names.front() + (option.is_list ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text + (command.commands.empty() ? "" : " [COMMAND]") + "\n";
}

std::string positionals(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (option.is_positional) text += option_line(option);
  }
  return text.empty() ? "" : "\n" + text;
}

// In the order in which they were added, those without a heading of their own last.
std::vector<std::string> headings_of(const CommandText& command) {
  std::vector<std::string> headings;
  for (const OptionText& option : command.options) {
    const bool is_new = std::ranges::find(headings, option.heading) == headings.end();
    if (is_new && !option.is_positional && option.heading != kOptionsHeading) {
      headings.push_back(option.heading);
    }
  }
  headings.emplace_back(kOptionsHeading);
  return headings;
}

std::string options_under(const std::string& heading, const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (!option.is_positional && option.heading == heading) text += option_line(option);
  }
  return text.empty() ? "" : "\n" + heading + ":\n" + text;
}

std::string commands_text(const CommandText& command) {
  if (command.commands.empty()) return "";
  std::string text = "\nCommands:\n";
  for (const CommandText& inner : command.commands) text += entry(inner.name, inner.description);
  return text;
}

// --- the examples

// "  assay count m.onnx   what it does": where the description begins, if there is one.
std::size_t description_in(const std::string& line) {
  const auto gap = line.find("  ", line.find_first_not_of(' '));
  return gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
}

// A command that is too long goes on in the next line, as a shell takes it.
std::string command_lines(const std::string& command) {
  if (display_width(command) <= kWidth) return command + "\n";
  const auto cut = command.rfind(" --", kWidth - 2);
  if (cut == std::string::npos || cut < 4) return command + "\n";
  return command.substr(0, cut) + " \\\n" + command_lines("     " + command.substr(cut));
}

std::string example(const std::string& line) {
  if (display_width(line) <= kWidth) return line + "\n";
  const auto first = line.find_first_not_of(' ');
  if (first > 6) return std::string(6, ' ') + wrapped_at(line.substr(first), 6, 6);
  const auto at = description_in(line);
  if (at == std::string::npos) return command_lines(line);
  const std::string command = line.substr(0, line.find_last_not_of(' ', at - 1) + 1);
  return command_lines(command) + "      " + wrapped_at(line.substr(at), 6, 6);
}

std::string footer_text(const std::string& footer) {
  std::string text;
  std::string prose;
  const auto end_prose = [&] {
    if (!prose.empty()) text += wrapped_at(std::exchange(prose, ""), 0, 0);
  };
  for (const std::string& line : split(footer, '\n')) {
    const bool is_prose = !line.empty() && line[0] != ' ' && !line.ends_with(":");
    if (is_prose) {
      prose += (prose.empty() ? "" : " ") + line;
      continue;
    }
    end_prose();
    text += example(line);
  }
  end_prose();
  return text;
}

}  // namespace

std::string help_text(const CommandText& command, const std::string& path) {
  std::string text = wrapped_at(command.description, 0, 0) + "\n" + usage(command, path) +
                     positionals(command) + commands_text(command);
  for (const std::string& heading : headings_of(command)) text += options_under(heading, command);
  return command.footer.empty() ? text : text + "\n" + footer_text(command.footer);
}

}  // namespace assay::cli
