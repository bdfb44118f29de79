// The command line as plain data. The manual page and the shell completions are generated from it.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

struct OptionText {
  std::vector<std::string> names = {};  // "-o", "--output"; of a positional "MODEL"
  std::string description = "";
  std::string value_name = "";  // "FILE"; empty where it takes no value
  std::string heading = "";     // that it is listed under
  bool takes_value = false;
  bool is_positional = false;
  bool is_required = false;
  bool is_list = false;
};

struct CommandText {
  std::string name = "";  // "assay", "count"
  std::string description = "";
  std::string footer = "";  // its examples
  std::vector<OptionText> options = {};
  std::vector<CommandText> commands = {};
};

// `path` is the command as it is called: "assay zoo export". No line is longer than 80 columns.
std::string help_text(const CommandText& command, const std::string& path);
std::string manual_page(const CommandText& program);
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace assay::cli
