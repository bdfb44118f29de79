#include "profile/compiled_model.h"

#include "assay/precision.h"
#include "base/fail.h"
#include "execute/full_lengths.h"

namespace assay::profile {

namespace {

const Tensor* find_in(const std::map<std::string, Tensor>& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

// Contents give their inputs a shape, unless one is bound.
Bindings with_content_shapes(Bindings bindings, const std::map<std::string, Tensor>& contents) {
  for (const auto& [name, tensor] : contents) {
    bindings.input_shapes.emplace(name, tensor.shape());
  }
  return bindings;
}

}  // namespace

Prepared prepare_to_run(Graph graph, std::string name, const RunOptions& options) {
  check_input_values(graph, options.inputs);
  CountOptions count;
  count.bindings = with_content_shapes(options.bindings, options.inputs);
  count.input_values = options.known_values;
  std::vector<std::string> warnings;
  if (const auto precision = options.program.precision; precision && is_floating(*precision)) {
    count.stored_as = precision;
    warnings = precision_warnings(graph, *precision);
  }
  Prepared prepared = prepare_model(std::move(graph), std::move(name), count);
  prepared.warnings.insert(prepared.warnings.end(), warnings.begin(), warnings.end());
  prepared.full_lengths = execute::full_lengths(prepared.inferred.graph);
  return prepared;
}

std::vector<Tensor> inputs_for(const Program& program, const RunOptions& options,
                               const std::map<std::string, Tensor>& full_lengths) {
  std::vector<Tensor> tensors;
  for (const Value& input : program.inputs()) {
    const Tensor* given = find_in(options.inputs, input.name);
    if (given == nullptr) given = find_in(options.known_values, input.name);
    if (given == nullptr) given = find_in(full_lengths, input.name);
    tensors.push_back(given != nullptr ? *given : random_inputs({input}, options.seed).front());
  }
  return tensors;
}

RunOptions options_for(const Graph& model, const ModelInputs& input,
                       const ProgramOptions& program) {
  if (input.tensors.size() != model.inputs().size()) {
    fail_bad_input("the model '{}' has {} inputs, {} given", model.name, model.inputs().size(),
                   input.tensors.size());
  }
  RunOptions options;
  options.program = program;
  for (std::size_t i = 0; i < input.tensors.size(); ++i) {
    options.inputs[model.value(model.inputs()[i]).name] = input.tensors[i];
  }
  return options;
}

std::unique_ptr<Program> compiled_for(const Graph& model, const ModelInputs& input,
                                      const ProgramOptions& program, Progress* progress) {
  const RunOptions options = options_for(model, input, program);
  check_input_values(model, options.inputs);
  const Bindings bindings = with_content_shapes({}, options.inputs);
  auto compiled = compile(infer_shapes(bind_inputs(model, bindings).graph), program, progress);
  compiled->set_inputs(inputs_for(*compiled, options));
  return compiled;
}

}  // namespace assay::profile
