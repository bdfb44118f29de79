#include "cli/page.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "assay/page.h"
#include "cli/origin.h"

namespace assay::cli {

void add_page_option(Command& command, std::string& file) {
  command.add_option("--html FILE", file,
                     "also write the result as a page with charts, one HTML file");
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

PageFile::PageFile(const std::string& path)
    : file_(path.empty() ? nullptr : std::make_unique<AtomicFile>(path)) {}

void PageFile::put(const std::string& name, std::string json) {
  file_->write(
      page_html({.documents = {{name, with_origin(std::move(json))}}, .command = own_command()}));
  file_->commit();
}

}  // namespace assay::cli
