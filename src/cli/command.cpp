#include "cli/command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"

namespace assay::cli {

namespace {

OptionText option_text(const CLI::Option& option) {
  OptionText text = {
      .description = option.get_description(),
      .value_name = option.get_items_expected_max() > 0 ? option.get_type_name() : "",
      .heading = option.get_group(),
      .takes_value = option.get_items_expected_max() > 0,
      .is_positional = option.get_positional(),
      .is_required = option.get_required(),
      .is_list = option.get_positional() && option.get_items_expected_max() > 1};
  if (text.is_positional) text.names.push_back(option.get_name(true, false));
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  return text;
}

// "-o,--output FILE": the names, and what stands for the value.
std::pair<std::string, std::string> names_and_value(const std::string& text) {
  const auto space = text.find(' ');
  if (space == std::string::npos) return {text, ""};
  return {text.substr(0, space), text.substr(space + 1)};
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

Option* Option::hide() {
  option_->group("");
  return this;
}

Option* Option::one_value_each() {
  option_->allow_extra_args(false);
  return this;
}

Command::Command(std::string name, const std::string& description)
    : owned_(std::make_unique<CLI::App>(description, std::move(name))), app_(owned_.get()) {
  app_->set_help_flag("-h,--help", "show this help");
}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

void Command::heading(const std::string& title) {
  heading_ = title;
}

Option* Command::keep(CLI::Option* option, const std::string& value_name) {
  option->group(heading_);
  option->type_name(value_name);
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

Option* Command::add_option(const std::string& names, std::string& value, const std::string& help) {
  const auto [flags, value_name] = names_and_value(names);
  return keep(app_->add_option(flags, value, help), value_name);
}

Option* Command::add_option(const std::string& names, std::vector<std::string>& values,
                            const std::string& help) {
  const auto [flags, value_name] = names_and_value(names);
  return keep(app_->add_option(flags, values, help), value_name);
}

Option* Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(app_->add_flag(names, value, help), "");
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

const Command& Command::innermost() const {
  for (const auto& command : subcommands_) {
    if (command->was_chosen()) return command->innermost();
  }
  return *this;
}

std::string Command::path() const {
  std::string words = app_->get_name();
  for (const CLI::App* app = app_->get_parent(); app != nullptr; app = app->get_parent()) {
    words = app->get_name() + " " + words;
  }
  return words;
}

std::string Command::suggested_subcommand(const std::string& word) const {
  const std::vector<std::string> known = subcommand_names();
  const auto options = text().options;
  if (known.empty() || std::ranges::any_of(options, &OptionText::is_positional)) return "";
  const auto near = nearest(word, known);
  return near ? fmt::format("; did you mean '{}'?", *near) : "; there are: " + join(known, ", ");
}

std::string Command::unexpected() const {
  const std::vector<std::string> words = app_->remaining(true);
  const auto is_flag = [](const std::string& word) { return word.starts_with("-"); };
  const auto flag = std::ranges::find_if(words, is_flag);
  if (flag == words.end()) {
    return words.empty() ? "an argument was not expected"
                         : fmt::format("'{}' was not expected{}", words.front(),
                                       innermost().suggested_subcommand(words.front()));
  }
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> known;
  for (const OptionText& option : innermost().text().options) {
    if (!option.is_positional) known.insert(known.end(), option.names.begin(), option.names.end());
  }
  const auto near = nearest(name, known);
  return fmt::format("there is no option '{}'{}", name,
                     near ? fmt::format("; did you mean '{}'?", *near) : "");
}

namespace {

// CLI11 says "--depth: At Most 1 required but received 2", "--depth: 1 required N missing".
std::string argument_mismatch(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  if (name == text) return text;
  const bool has_too_many = text.find("At Most") != std::string::npos;
  return name + (has_too_many ? " is given more than once" : " needs a value");
}

}  // namespace

bool Command::parse(int count, char** words) try {
  app_->parse(count, words);
  return true;
} catch (const CLI::CallForHelp&) {
  const Command& asked = innermost();
  fmt::print("{}", help_text(asked.text(), asked.path()));
  return false;
} catch (const CLI::ExtrasError&) {
  throw UsageError(unexpected());
} catch (const CLI::ArgumentMismatch& error) {
  throw UsageError(argument_mismatch(error.what()));
} catch (const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) throw UsageError(error.what());
  app_->exit(error);  // prints the text of --version
  return false;
}

}  // namespace assay::cli
