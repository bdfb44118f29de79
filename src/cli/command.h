// A command with its options and subcommands: a thin interface over CLI11.
//
// command.cpp is the only file that includes CLI11, whose header takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command_text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::cli {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  Option* excludes(Option* other);
  Option* needs(Option* other);
  Option* type_name(const std::string& name);  // in the help text, instead of TEXT
  Option* hide();                              // from the help text
  Option* one_value_each();  // for lists: `--dim a=1 --dim b=2`, not `--dim a=1 b=2`

 private:
  CLI::Option* option_ = nullptr;
};

// The command line is invalid.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Command {
 public:
  Command(std::string name, const std::string& description);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // `names` as "-o,--output"; a name without dashes is a positional argument.
  Option* add_option(const std::string& names, std::string& value, const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::string>& values,
                     const std::string& help);
  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  Command* add_subcommand(const std::string& name, const std::string& description);

  void footer(const std::string& text);
  void hide();  // from the help text
  void callback(std::function<void()> when_chosen);
  void require_subcommand();
  void version(const std::string& text);
  // Options of this command may also follow its subcommands.
  void inherit_options();

  bool was_chosen() const;
  bool chose_subcommand() const;                      // one of this command's own
  std::vector<std::string> subcommand_names() const;  // without the hidden ones
  CommandText text() const;

  // Sets every option and calls the callbacks. False after --help or --version, whose text it has
  // printed; throws UsageError.
  bool parse(int count, char** words);

 private:
  explicit Command(CLI::App* app);
  Option* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> owned_;  // only of the program; a subcommand belongs to its parent
  CLI::App* app_ = nullptr;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> subcommands_;
};

}  // namespace assay::cli
