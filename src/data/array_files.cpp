#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/npy.h"
#include "base/fail.h"
#include "base/text.h"
#include "data/find_dataset.h"
#include "data/npz_archive.h"

namespace assay::data {

namespace {

// Common names of samples and labels.
constexpr std::array<std::pair<const char*, const char*>, 6> kArrayNames = {{
    {"x", "y"},
    {"X", "y"},
    {"X", "Y"},
    {"images", "labels"},
    {"data", "targets"},
    {"data", "labels"},
}};

struct NamePair {
  std::string samples = {};
  std::string labels = {};
};

// The first pair of which both are there.
std::optional<NamePair> find_pair(const std::vector<std::string>& present,
                                  const std::string& prefix, const std::string& suffix) {
  const auto is_there = [&](const std::string& name) {
    return std::ranges::find(present, name) != present.end();
  };
  for (const auto& [samples, labels] : kArrayNames) {
    NamePair pair = {prefix + samples + suffix, prefix + labels + suffix};
    if (is_there(pair.samples) && is_there(pair.labels)) return pair;
  }
  return std::nullopt;
}

std::string listed(std::vector<std::string> names) {
  if (names.empty()) return "none";
  for (std::string& name : names) name = without_control_characters(name);
  return join(names, ", ");
}

[[noreturn]] void fail_without_test_part(std::string_view where) {
  fail_bad_input(
      "{}: has no test part of its own; load it to train and split a part off, or save a "
      ".npz file with x_test and y_test too",
      where);
}

// x_train and y_train, or train_x and train_y.
std::optional<NamePair> find_part(const std::vector<std::string>& present, Split split) {
  const std::string part = part_name(split);
  const auto found = find_pair(present, "", "_" + part);
  return found ? found : find_pair(present, part + "_", "");
}

// Arrays of the requested part. Arrays of no part are for training: if they were also used for
// testing, a network would be tested on its training data.
NamePair choose_arrays(const NpzArchive& archive, const std::string& file, Split split) {
  const auto present = archive.names();
  const std::string part = part_name(split);
  if (const auto found = find_part(present, split)) return *found;
  const auto whole = find_pair(present, "", "");
  if (whole && split == Split::Train) return *whole;
  if (whole) fail_without_test_part(file);
  fail_bad_input(
      "{}: no samples and labels to {} with among its arrays ({}); call them x and y, or "
      "x_{} and y_{}",
      file, part, listed(present), part, part);
}

}  // namespace

Labelled read_npz_pair(const std::filesystem::path& path, Split split) {
  const NpzArchive archive(path);
  const NamePair names = choose_arrays(archive, path.string(), split);
  const auto place = [&](const std::string& name) {
    return fmt::format("{}, '{}'", path.string(), name);
  };
  return {.samples = archive.read(names.samples),
          .samples_at = place(names.samples),
          .labels = archive.read(names.labels),
          .labels_at = place(names.labels)};
}

bool has_test_arrays(const std::filesystem::path& path) {
  return find_part(NpzArchive(path).names(), Split::Test).has_value();
}

Labelled read_npy_pair(std::string_view paths, Split split) {
  const auto files = assay::split(paths, ',');
  if (files.size() != 2) {
    fail_bad_input("'{}' should be two files, samples and labels, as in x.npy,y.npy", paths);
  }
  if (split == Split::Test) fail_without_test_part(paths);
  return {.samples = read_npy(files[0]),
          .samples_at = files[0],
          .labels = read_npy(files[1]),
          .labels_at = files[1]};
}

}  // namespace assay::data
