#include <string>
#include <vector>

#include "assay/idx.h"
#include "base/fail.h"
#include "base/text.h"
#include "data/find_dataset.h"

namespace assay::data {

namespace {

// Some unpacking programs turn the last dash into a dot, and some files are compressed again.
std::vector<std::string> usual_names(std::string_view what, std::string_view kind) {
  std::vector<std::string> names;
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      names.push_back(fmt::format("{}{}{}{}", what, separator, kind, suffix));
    }
  }
  return names;
}

std::filesystem::path find_file(const std::filesystem::path& folder, std::string_view what,
                                std::string_view kind) {
  const auto names = usual_names(what, kind);
  for (const std::string& name : names) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  fail_bad_input("{}: has none of the files {}", folder.string(), join(names, ", "));
}

}  // namespace

Labelled read_idx_folder(const std::filesystem::path& folder, Split split) {
  const std::string part = split == Split::Train ? "train" : "t10k";
  const auto samples = find_file(folder, part + "-images", "idx3-ubyte");
  const auto labels = find_file(folder, part + "-labels", "idx1-ubyte");
  return {.samples = read_idx(samples),
          .samples_at = samples.string(),
          .labels = read_idx(labels),
          .labels_at = labels.string()};
}

}  // namespace assay::data
