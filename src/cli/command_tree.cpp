#include "cli/command_tree.h"

namespace assay::cli {

namespace {

OptionText option_text(const CLI::Option& option) {
  OptionText text = {.description = option.get_description(),
                     .takes_value = option.get_items_expected_max() > 0,
                     .is_positional = option.get_positional()};
  if (text.is_positional) text.names.push_back(option.get_name(true, false));
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  return text;
}

}  // namespace

CommandText command_tree(const CLI::App& app) {
  CommandText text = {
      .name = app.get_name(), .description = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    const bool is_hidden = option->get_group().empty();
    if (!is_hidden) text.options.push_back(option_text(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    const bool is_hidden = command->get_group().empty();
    if (!is_hidden) text.commands.push_back(command_tree(*command));
  }
  return text;
}

}  // namespace assay::cli
