// The manual page, in the man macros of roff.
#include <fmt/core.h>

#include "assay/version.h"
#include "base/text.h"
#include "cli/command_text.h"

namespace assay::cli {

namespace {

std::string escaped(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  return roff;
}

// A line that begins with one of these would be a request.
std::string escaped_line(const std::string& text) {
  const bool is_request = !text.empty() && (text[0] == '.' || text[0] == '\'');
  return (is_request ? "\\&" : "") + escaped(text);
}

std::string option_entry(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + escaped(name) + "\\fR");
  const bool shows_value = option.takes_value && !option.is_positional;
  const std::string value = shows_value ? " \\fI" + escaped(option.value_name) + "\\fR" : "";
  return fmt::format(".TP\n{}{}\n{}\n", join(names, ", "), value, escaped_line(option.description));
}

std::string verbatim(const std::string& text) {
  if (text.empty()) return "";
  std::string roff = ".PP\n.nf\n";
  for (const std::string& line : split(text, '\n')) roff += escaped_line(line) + "\n";
  return roff + ".fi\n";
}

std::string section(const CommandText& command, const std::string& path) {
  std::string roff = fmt::format(".SS {}\n{}\n", escaped(path), escaped_line(command.description));
  for (const OptionText& option : command.options) roff += option_entry(option);
  roff += verbatim(command.footer);
  for (const CommandText& inner : command.commands) roff += section(inner, path + " " + inner.name);
  return roff;
}

}  // namespace

std::string manual_page(const CommandText& program) {
  std::string roff = fmt::format(
      ".TH ASSAY 1 \"\" \"assay {0}\" \"User Commands\"\n"
      ".SH NAME\nassay \\- tells what a neural network costs on a machine\n"
      ".SH SYNOPSIS\n\\fBassay\\fR [\\fIoption\\fR] \\fIcommand\\fR [\\fIargument\\fR ...]\n"
      ".SH DESCRIPTION\n{1}\n.SH OPTIONS\n",
      version(), escaped_line(program.description));
  for (const OptionText& option : program.options) roff += option_entry(option);
  roff += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    roff += section(command, program.name + " " + command.name);
  }
  return roff + ".SH EXAMPLES\n" + verbatim(program.footer);
}

}  // namespace assay::cli
