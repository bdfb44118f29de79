// AttributeProto to AttributeValue, for every kind but subgraphs.
#pragma once

#include "assay/graph.h"
#include "onnx_io/external_data.h"
#include "onnx_io/node_fields.h"

namespace assay::onnx {

AttributeValue read_attribute_value(const AttributeFields& attribute, const Source& source,
                                    ExternalFiles& external);

}  // namespace assay::onnx
