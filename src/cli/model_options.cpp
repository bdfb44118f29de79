#include "cli/model_options.h"

#include "assay/quantize_weights.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "cli/model_argument.h"

namespace assay::cli {

void add_shape_options(Command& command, ModelArguments& arguments) {
  // One value per flag: in "--dim batch=8 model.onnx" the model is not a dimension.
  const auto add_list = [&](const char* flag, std::vector<std::string>& list, const char* what) {
    command.add_option(flag, list, what)->one_value_each();
  };
  command.heading("Model");
  command.add_option("--batch N", arguments.batch, "batch size");
  add_list("--dim NAME=N", arguments.dims, "bind a symbolic dimension, NAME=N (repeatable)");
  add_list("--input NAME=SHAPE", arguments.inputs,
           "give an input its shape, NAME=1x3x224x224, or its content, NAME=x.npy or NAME=x.pb "
           "(repeatable)");
  add_list("--value NAME=N", arguments.values,
           "give a small input its content, NAME=16000 (repeatable)");
  command.add_option("--weights TYPE", arguments.weights,
                     "quantise the matrices of products: int8 or int4, in blocks of 32");
}

void add_model_options(Command& command, ModelArguments& arguments) {
  command.add_option("MODEL", arguments.model, "an .onnx file, or zoo:NAME")->required();
  add_shape_options(command, arguments);
}

void append_words(const ModelArguments& arguments, std::vector<std::string>& words) {
  const auto append = [&](const char* flag, const std::string& text) {
    words.insert(words.end(), {flag, text});
  };
  if (!arguments.batch.empty()) append("--batch", arguments.batch);
  for (const auto& dim : arguments.dims) append("--dim", dim);
  for (const auto& input : arguments.inputs) append("--input", input);
  for (const auto& value : arguments.values) append("--value", value);
  if (!arguments.weights.empty()) append("--weights", arguments.weights);
}

namespace {

// A model without products is the user's mistake, not one to run unchanged.
Graph with_weights(Graph graph, const std::string& weights) {
  if (weights.empty()) return graph;
  if (weights != "int4" && weights != "int8")
    fail_usage("--weights {}: expected int8 or int4", weights);
  QuantizedWeights quantized = quantize_weights(graph, {.bits = weights == "int4" ? 4 : 8});
  if (quantized.layers.empty())
    fail_bad_input("--weights {}: the model has no product with a constant float matrix", weights);
  return std::move(quantized.graph);
}

}  // namespace

RequestedModel requested_model(const ModelArguments& arguments) {
  RequestedModel request;
  request.run.bindings.dims = parse_dims(arguments.dims);
  InputArguments inputs = parse_inputs(arguments.inputs);
  request.run.bindings.input_shapes = std::move(inputs.shapes);
  request.run.inputs = std::move(inputs.contents);
  if (!arguments.batch.empty()) {
    request.run.bindings.batch = parse_count("--batch", arguments.batch, 1);
  }
  const std::int64_t start = steady_clock().nanoseconds();
  request.graph = with_weights(load_model(arguments.model), arguments.weights);
  request.read_ms = static_cast<double>(steady_clock().nanoseconds() - start) * 1e-6;
  request.run.known_values = parse_values(arguments.values, request.graph);
  return request;
}

}  // namespace assay::cli
