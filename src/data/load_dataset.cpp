#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fail.h"
#include "base/text.h"
#include "data/find_dataset.h"

namespace assay {

using namespace assay::data;

namespace {

// A data set that is known by its name.
struct Known {
  std::string_view name;
  std::string_view folder;  // where a package puts it
  std::string_view advice;  // how to get it
  std::int64_t classes = 0;
};

constexpr std::array<Known, 2> kKnown = {{
    {"fashion-mnist", "/usr/share/datasets/fashion-mnist",
     "install Debian's package dataset-fashion-mnist, or name the folder that has its four IDX "
     "files",
     10},
    {"mnist", "/usr/share/datasets/mnist", "name the folder that has its four IDX files", 10},
}};
constexpr std::string_view kSynthetic = "synthetic";

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Dataset load_known(const Known& known, const DatasetOptions& options) {
  const std::string folder = options.folder.empty() ? std::string(known.folder) : options.folder;
  if (!is_folder(folder)) {
    fail_bad_input("data set '{}': there is no folder {}; {}", known.name, folder, known.advice);
  }
  const Labelled found = read_idx_folder(folder, options.split);
  return checked_dataset(std::string(known.name), found.samples_at, found,
                         options.classes == 0 ? known.classes : options.classes);
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> names = {std::string(kSynthetic)};
  for (const Known& known : kKnown) names.emplace_back(known.name);
  const auto near = nearest(name, names);
  fail_bad_input(
      "there is no data set '{}' ({}), and no such folder, .npz file or pair x.npy,y.npy",
      without_control_characters(name),
      near ? fmt::format("did you mean '{}'?", *near) : "known are " + join(names, ", "));
}

bool is_npy_pair(std::string_view name) {
  return name.find(".npy") != std::string_view::npos;
}

Labelled read_files(std::string_view name, Split split) {
  if (is_folder(name)) return read_idx_folder(name, split);
  if (is_npy_pair(name)) return read_npy_pair(name, split);
  if (name.ends_with(".npz")) return read_npz_pair(name, split);
  fail_unknown(name);
}

Dataset load_whole(std::string_view name, const DatasetOptions& options) {
  if (name == kSynthetic) return synthetic_dataset(options);
  const auto known = std::ranges::find(kKnown, name, &Known::name);
  if (known != kKnown.end()) return load_known(*known, options);
  const Labelled found = read_files(name, options.split);
  return checked_dataset(std::string(name), found.samples_at, found, options.classes);
}

}  // namespace

Dataset load_dataset(std::string_view name, const DatasetOptions& options) {
  Dataset dataset = load_whole(name, options);
  dataset.normalisation = options.normalisation;
  if (options.subset == 0) return dataset;
  return subset(dataset, options.subset, options.seed);
}

bool has_test_part(std::string_view name) {
  if (is_folder(name)) return true;
  if (is_npy_pair(name)) return false;
  return !name.ends_with(".npz") || has_test_arrays(name);
}

}  // namespace assay
