// Reads what the conformance data records: a TensorProto in a file of its own.
#pragma once

#include <filesystem>
#include <optional>

#include "assay/tensor.h"

namespace assay::test {

struct Recorded {
  DataType type = DataType::Undefined;
  std::vector<std::int64_t> dims;
  Tensor content;  // empty for types that shape arithmetic never needs
};

std::optional<Recorded> read_recorded(const std::filesystem::path& path);  // nothing: no such file

}  // namespace assay::test
