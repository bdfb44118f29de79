// What MODEL, --dim, --input and --value mean on the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/count.h"
#include "assay/graph.h"
#include "assay/load_model.h"

namespace assay::cli {

// "NAME=N" each.
std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& arguments);
// "NAME=1x3x224x224", "NAME=x.npy" or "NAME=x.pb" each; content also sets the shape.
struct InputArguments {
  std::map<std::string, Shape> shapes;
  std::map<std::string, Tensor> contents;
};
InputArguments parse_inputs(const std::vector<std::string>& arguments);
// A tensor from a .npy file or an ONNX .pb file.
bool is_tensor_file(const std::string& path);
Tensor read_tensor(const std::string& path);
// "NAME=16000" or "NAME=1,2,3" each, in the type that the model's input has.
std::map<std::string, Tensor> parse_values(const std::vector<std::string>& arguments,
                                           const Graph& graph);
// A whole number not below `smallest`, for the flag named.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t smallest);
// At least 1; `otherwise` where the text is empty.
std::int64_t count_or(const std::string& flag, const std::string& text, std::int64_t otherwise);
// A finite number not below `smallest`, for the flag named.
double parse_decimal(const std::string& flag, const std::string& text, double smallest);
// The same, not above `largest` either.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t smallest,
                         std::int64_t largest);
double parse_decimal(const std::string& flag, const std::string& text, double smallest,
                     double largest);
// fp32, fp16, bf16, int8 and friends.
DataType parse_precision(const std::string& text);
std::vector<std::string> precision_names();

}  // namespace assay::cli
