// What MODEL, --dim, --input and --value mean on the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/graph.h"

namespace assay::cli {

// A path to an .onnx file, or zoo:NAME.
Graph load_model(const std::string& argument);
bool is_zoo(const std::string& argument);

// "NAME=N" each.
std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& arguments);
// "NAME=1x3x224x224" each.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& arguments);
// "NAME=16000" or "NAME=1,2,3" each, in the type that the model's input has.
std::map<std::string, Tensor> parse_values(const std::vector<std::string>& arguments,
                                           const Graph& graph);
// A whole number not below `smallest`, for the flag named.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t smallest);
// fp32, fp16, bf16, int8 and friends.
DataType parse_precision(const std::string& text);
std::vector<std::string> precision_names();

}  // namespace assay::cli
