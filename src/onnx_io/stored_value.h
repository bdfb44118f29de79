// Values stored in files of their own: a TensorProto, SequenceProto or OptionalProto each, as
// conformance data holds them.
#pragma once

#include <filesystem>
#include <vector>

#include "assay/graph.h"

namespace assay::onnx {

struct StoredValue {
  enum class Kind { Nothing, Tensor, Sequence };  // an optional is what it holds, or nothing

  Kind kind = Kind::Nothing;
  std::vector<Tensor> tensors = {};  // one, or the elements of the sequence
};

// `type` says which message the file holds. Sequences of sequences, maps and sparse tensors are
// refused.
StoredValue read_stored_value(const std::filesystem::path& path, const ValueType& type);

}  // namespace assay::onnx
