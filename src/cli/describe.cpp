// assay describe, a hidden command that the build runs: writes the manual page and the shell
// completions.
#include <map>
#include <memory>

#include "base/fail.h"
#include "cli/command_text.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace assay::cli {

void add_describe(CommandLine& program) {
  using Writer = std::string (*)(const CommandText&);
  static const std::map<std::string, Writer> kWriters = {{"man", manual_page},
                                                         {"bash", bash_completion},
                                                         {"zsh", zsh_completion},
                                                         {"fish", fish_completion}};
  auto form = std::make_shared<std::string>();
  Command* describe = program.app.add_subcommand("describe", "Write a manual page or completions");
  describe->hide();
  describe->add_option("FORM", *form, "man, bash, zsh or fish")->required();
  describe->callback([&program, form] {
    program.chosen = [&program, form] {
      const auto writer = kWriters.find(*form);
      if (writer == kWriters.end()) fail_usage("{}: expected man, bash, zsh or fish", *form);
      print_data(writer->second(program.app.text()));
      return Exit::Fine;
    };
  });
}

}  // namespace assay::cli
