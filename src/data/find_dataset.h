// The sources that data sets come from, one small file each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "assay/dataset.h"
#include "data/labelled.h"

namespace assay::data {

inline std::string part_name(Split split) {
  return split == Split::Train ? "train" : "test";
}

// Four IDX files under the names that MNIST's have, plain or compressed.
Labelled read_idx_folder(const std::filesystem::path& folder, Split split);
// Two arrays of a .npz file, known by their names.
Labelled read_npz_pair(const std::filesystem::path& path, Split split);
// Whether it has arrays that are there to test only.
bool has_test_arrays(const std::filesystem::path& path);
// "x.npy,y.npy"
Labelled read_npy_pair(std::string_view paths, Split split);
// Made up from the options' seed, dims, classes and size.
Dataset synthetic_dataset(const DatasetOptions& options);

}  // namespace assay::data
