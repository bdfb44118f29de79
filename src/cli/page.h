// --html: the result of a command as a page.
#pragma once

#include <memory>
#include <string>

#include "base/atomic_file.h"
#include "cli/command.h"

namespace assay::cli {

void add_page_option(Command& command, std::string& file);

// The words this process was started with.
std::string own_command();

// Opened before anything runs, so that errors show at once. Without a path it does nothing.
class PageFile {
 public:
  explicit PageFile(const std::string& path);

  // `name` is what the result's file would be called; `json` makes the result as --json prints it.
  template <typename MakeJson>
  void write(const std::string& name, MakeJson json) {
    if (file_) put(name, json());
  }

 private:
  void put(const std::string& name, std::string json);

  std::unique_ptr<AtomicFile> file_;
};

}  // namespace assay::cli
