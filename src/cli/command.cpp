#include "cli/command.h"

#include <CLI/CLI.hpp>

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

bool is_hidden(const CLI::App& app) {
  return app.get_group().empty();
}

}  // namespace

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::needs(Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::hide() {
  option_->group("");
  return this;
}

Option* Option::one_value_each() {
  option_->allow_extra_args(false);
  return this;
}

Command::Command(std::string name, const std::string& description)
    : owned_(std::make_unique<CLI::App>(description, std::move(name))), app_(owned_.get()) {}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Option* Command::keep(CLI::Option* option) {
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

Option* Command::add_option(const std::string& names, std::string& value, const std::string& help) {
  return keep(app_->add_option(names, value, help));
}

Option* Command::add_option(const std::string& names, std::vector<std::string>& values,
                            const std::string& help) {
  return keep(app_->add_option(names, values, help));
}

Option* Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(app_->add_flag(names, value, help));
}

Command* Command::add_subcommand(const std::string& name, const std::string& description) {
  CLI::App* app = app_->add_subcommand(name, description);
  return subcommands_.emplace_back(std::unique_ptr<Command>(new Command(app))).get();
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::hide() {
  app_->group("");
}

void Command::callback(std::function<void()> when_chosen) {
  app_->callback(std::move(when_chosen));
}

void Command::require_subcommand() {
  app_->require_subcommand(1);
}

void Command::version(const std::string& text) {
  app_->set_version_flag("--version", text);
}

void Command::inherit_options() {
  app_->fallthrough();
}

bool Command::was_chosen() const {
  return app_->parsed();
}

bool Command::chose_subcommand() const {
  return !app_->get_subcommands().empty();
}

std::vector<std::string> Command::subcommand_names() const {
  std::vector<std::string> names;
  for (const auto& command : subcommands_) {
    if (!is_hidden(*command->app_)) names.push_back(command->app_->get_name());
  }
  return names;
}

CommandText Command::text() const {
  CommandText text = {.name = app_->get_name(),
                      .description = app_->get_description(),
                      .footer = app_->get_footer()};
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    const bool is_hidden_option = option->get_group().empty();
    if (!is_hidden_option) text.options.push_back(option_text(*option));
  }
  for (const auto& command : subcommands_) {
    if (!is_hidden(*command->app_)) text.commands.push_back(command->text());
  }
  return text;
}

bool Command::parse(int count, char** words) try {
  app_->parse(count, words);
  return true;
} catch (const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) throw UsageError(error.what());
  app_->exit(error);  // prints the text of --help or --version
  return false;
}

}  // namespace assay::cli
