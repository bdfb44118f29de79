// --html: the result of a command as a page.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/atomic_file.h"
#include "cli/command.h"

namespace assay::cli {

void add_page_option(Command& command, std::string& file);

// The words this process was started with.
std::string own_command();

// A stored result; what cannot be read is refused.
std::string result_text(const std::filesystem::path& path);

// What made the results of a folder, where 'assay sweep' wrote it down; else nothing.
std::string record_in(const std::filesystem::path& folder);

// Opened before anything runs, so that errors show at once. Without a path it does nothing.
class PageFile {
 public:
  explicit PageFile(const std::string& path);

  // `name` is what the result's file would be called; `json` makes the result as --json prints it.
  // A `folder` with the result's files may have a record of what made them.
  template <typename MakeJson>
  void write(const std::string& name, MakeJson json, const std::filesystem::path& folder = {}) {
    if (file_) put(name, json(), folder.empty() ? "" : record_in(folder));
  }

 private:
  void put(const std::string& name, std::string json, std::string record);

  std::unique_ptr<AtomicFile> file_;
};

}  // namespace assay::cli
