// The arrays of a .npz file, each read on demand: a data set needs only two.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "assay/tensor.h"
#include "data/zip_archive.h"

namespace assay::data {

class NpzArchive {
 public:
  explicit NpzArchive(const std::filesystem::path& path);

  std::vector<std::string> names() const;      // without ".npy"
  Tensor read(const std::string& name) const;  // one of `names()`

 private:
  ZipArchive zip_;
};

}  // namespace assay::data
