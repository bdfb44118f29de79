// The files beside a model that hold its larger weights.
//
// A location is resolved beneath the model's folder and never through a link: whoever wrote the
// model must not choose which of the reader's files are opened. Each file is mapped once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/tensor.h"
#include "base/mapped_file.h"

namespace assay::onnx {

class ExternalFiles {
 public:
  ExternalFiles() = default;  // of a model in memory: refuses everything
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The storage of the file at `location`; throws an Error unless it may be read.
  std::shared_ptr<const Storage> open(std::string_view location);
  void check_intact() const;

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapping;
    std::shared_ptr<const Storage> storage;
  };

  std::optional<std::filesystem::path> folder_ = std::nullopt;
  std::map<std::string, File, std::less<>> files_ = {};
};

std::shared_ptr<const Storage> mapped_storage(std::shared_ptr<const MappedFile> file);

}  // namespace assay::onnx
