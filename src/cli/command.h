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

// Options without another heading.
inline constexpr const char* kOptionsHeading = "Other";

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  Option* excludes(Option* other);
  Option* needs(Option* other);
  Option* hide();            // from the help text
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

  // Options that are added from now on are listed under this heading.
  void heading(const std::string& title);

  // `names` as "-o,--output FILE", where FILE stands for the value in the help text; a name without
  // dashes is a positional argument.
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
  Option* keep(CLI::Option* option, const std::string& value_name);
  // "; did you mean 'scaling'?", or all there are; empty for a command without subcommands.
  std::string suggested_subcommand(const std::string& word) const;
  std::string unexpected() const;  // what is wrong with words that no option takes
  const Command& innermost() const;
  std::string path() const;  // "assay zoo export"

  std::unique_ptr<CLI::App> owned_;  // only of the program; a subcommand belongs to its parent
  CLI::App* app_ = nullptr;
  std::string heading_ = kOptionsHeading;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> subcommands_;
};

}  // namespace assay::cli
