// Samples and labels as read, before they are checked.
#pragma once

#include <cstdint>
#include <string>

#include "assay/dataset.h"
#include "assay/tensor.h"

namespace assay::data {

// `…_at` says where a tensor was found: a file, or an array in a file.
struct Labelled {
  Tensor samples = {};
  std::string samples_at = {};
  Tensor labels = {};
  std::string labels_at = {};
};

// Checks everything that a Dataset promises; what is wrong is an Error with place and index.
// `classes` of 0 stands for one more than the largest label.
Dataset checked_dataset(std::string name, std::string source, const Labelled& found,
                        std::int64_t classes);

}  // namespace assay::data
