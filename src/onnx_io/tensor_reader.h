// TensorProto to Tensor. Raw and packed little-endian payloads are viewed in place; only varints
// are decoded, after they have been counted.
#pragma once

#include <string_view>

#include "assay/tensor.h"
#include "onnx_io/external_data.h"
#include "onnx_io/wire.h"

namespace assay::onnx {

struct NamedTensor {
  std::string_view name;
  Tensor tensor;
};

// Throws an Error that names the tensor unless its bytes are exactly those its dimensions need.
NamedTensor read_tensor(std::string_view message, const Source& source, ExternalFiles& external);

// The type of that number in ONNX; an Error if assay does not know it.
DataType data_type_or_fail(std::int64_t number);

// Ranks beyond this are refused: no framework knows them, and they make every later step slow.
constexpr std::size_t kLargestRank = 64;

}  // namespace assay::onnx
