// ConvInputGradient and ConvWeightGradient by oneDNN's backward primitives, in the layouts it
// prefers. The input gradient is also tried with our own Winograd, on images in blocks of channels
// or channels last; the tuner chooses.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

// The operands of a choice that are values of the graph, in the order of the node's inputs.
struct Read {
  ValueId value;
  Desc Choice::*layout = nullptr;
};

struct Gradient {
  ConvolutionLayer layer;
  ConvolutionKind kind = ConvolutionKind::InputGradient;
  std::vector<Read> reads;
};

Gradient gradient_of(const Lowering& lowering, const ConvolutionLayer& layer) {
  const Node& node = lowering.node(layer.id);
  if (node.op == "ConvInputGradient") {
    return {layer,
            ConvolutionKind::InputGradient,
            {{node.inputs[0], &Choice::result}, {node.inputs[1], &Choice::weights}}};
  }
  return {layer,
          ConvolutionKind::WeightGradient,
          {{node.inputs[0], &Choice::source}, {node.inputs[1], &Choice::result}}};
}

Reorders reorders_for(Lowering& lowering, const Gradient& gradient, const Choice& choice) {
  Reorders reorders;
  for (const Read& read : gradient.reads) {
    const Desc& wanted = choice.*read.layout;
    if (lowering.has_layout(read.value, wanted)) continue;
    const Placement native = lowering.native(read.value);
    const bool is_seen_alike = native.blocked || native.dims == wanted.dims();
    reorders.emplace_back(is_seen_alike ? desc_of(native) : plain_desc(wanted.dims()), wanted);
  }
  return reorders;
}

// oneDNN's and, for the input gradient, our own.
std::vector<Choice> choices_for(const Lowering& lowering, const Gradient& gradient) {
  constexpr std::size_t kMost = 2;
  const ConvolutionLayer& layer = gradient.layer;
  auto all = convolutions(described(layer, any_desc(layer.input), any_desc(layer.output)),
                          gradient.kind, kMost);
  if (gradient.kind == ConvolutionKind::InputGradient) {
    std::ranges::move(trained_choices(lowering, layer, nullptr, gradient.kind, all),
                      std::back_inserter(all));
  }
  if (!std::ranges::all_of(all, is_slow_convolution)) std::erase_if(all, is_slow_convolution);
  return all;
}

int index_of(const Choice& choice, Desc Choice::*layout) {
  if (layout == &Choice::source) return choice.indices.source;
  return layout == &Choice::weights ? choice.indices.weights : choice.indices.result;
}

void add_gradient_step(Lowering& lowering, const Gradient& gradient, const Choice& choice) {
  const Node& node = lowering.node(gradient.layer.id);
  StepDraft draft{.nodes = {gradient.layer.id},
                  .algorithm = choice.implementation,
                  .executed_flops = executed_flops(gradient.layer, choice)};
  std::vector<Argument> arguments;
  for (const Read& read : gradient.reads) {
    const Desc& desc = choice.*read.layout;
    const Placement placement = lowering.in_layout(read.value, desc);
    arguments.push_back({index_of(choice, read.layout), desc, placement});
    draft.reads.push_back(placement);
  }
  const auto write = [&](ValueId value, int index, const Desc& desc) {
    const Placement placement = lowering.new_placement(desc, lowering.dims(value));
    arguments.push_back({index, desc, placement});
    draft.writes.push_back(placement);
    lowering.set_placement(value, placement);
  };
  if (gradient.kind == ConvolutionKind::InputGradient) {
    write(node.outputs[0], choice.indices.source, choice.source);
  } else {
    write(node.outputs[0], choice.indices.weights, choice.weights);
    if (gradient.layer.has_bias) write(node.outputs[1], choice.indices.bias, choice.bias);
  }
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  lowering.add_step(draft, choice.own != nullptr
                               ? own_binder(choice, arguments)
                               : primitive_binder(choice.primitive, std::move(arguments)));
}

bool lower_convolution_gradient(Lowering& lowering, NodeId id) {
  const auto layer = layer_of_gradient(lowering, id);
  if (!layer) return false;
  const Gradient gradient = gradient_of(lowering, *layer);
  const auto choices = choices_for(lowering, gradient);
  if (choices.empty()) return false;
  std::vector<Reorders> reorders;
  for (const Choice& choice : choices) {
    reorders.push_back(reorders_for(lowering, gradient, choice));
  }
  const bool is_input = gradient.kind == ConvolutionKind::InputGradient;
  const Convolution what = described(*layer, any_desc(layer->input), any_desc(layer->output));
  const std::string key = (is_input ? "conv input" : "conv weight") + key_of(*layer, what);
  add_gradient_step(lowering, gradient, choices[lowering.tuner().fastest(key, choices, reorders)]);
  return true;
}

}  // namespace

void add_convolution_gradient_lowering(LowerTable& table) {
  table["assay.ConvInputGradient"] = lower_convolution_gradient;
  table["assay.ConvWeightGradient"] = lower_convolution_gradient;
}

}  // namespace assay::cpu
