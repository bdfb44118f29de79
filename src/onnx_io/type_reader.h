// TypeProto to ValueType.
#pragma once

#include <string_view>

#include "assay/graph.h"
#include "onnx_io/wire.h"

namespace assay::onnx {

ValueType read_type(std::string_view message, const Source& source);

}  // namespace assay::onnx
