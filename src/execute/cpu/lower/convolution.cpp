// Conv and ConvTranspose: collects the algorithms that can run a layer (oneDNN's and our own), lets
// the tuner choose the fastest, and adds its step. Results stay in the layout that the algorithm
// writes, blocked or channels last, from layer to layer.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "execute/cpu/lower/fused_ops.h"
#include "execute/cpu/lower/half_choices.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"
#include "execute/cpu/tensor_floats.h"
#include "execute/precision.h"
#include "execute/threads.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

namespace {

ConvolutionKind kind_of(const ConvolutionLayer& layer) {
  if (layer.is_transposed) return ConvolutionKind::Transposed;
  return layer.weights_change() ? ConvolutionKind::Trained : ConvolutionKind::Direct;
}

std::string key_of(const ConvolutionLayer& layer, const Convolution& what, const FusedOps& fused) {
  std::string key = layer.is_transposed ? "deconv" : layer.weights_change() ? "trained" : "conv";
  key += key_of(layer, what);
  for (const PostOp& op : fused.post_ops) {
    key += " " + std::to_string(static_cast<int>(op.kind)) + "." +
           std::to_string(static_cast<int>(op.algorithm));
  }
  return key;
}

Convolution described(const ConvolutionLayer& layer, const FusedOps& fused, const Desc& source,
                      const Desc& result) {
  Convolution what = described(layer, source, result);
  what.post_ops = post_ops_for(fused, result);
  return what;
}

// Layouts that the result may have: any, or where something is added to it, one that the addend has
// or could be brought into.
std::vector<Desc> result_layouts(Lowering& lowering, const ConvolutionLayer& layer,
                                 const FusedOps& fused) {
  if (!fused.addend) return {any_desc(layer.output, layer.type)};
  std::vector<Desc> layouts = lowering.layouts(*fused.addend);
  for (Desc& layout : layouts) layout = with_type(layout, layer.type);
  if (layer.output.size() != 4) return layouts;
  const Desc blocks = image_desc(layer.output, 16, layer.type);
  if (std::ranges::find(layouts, blocks) == layouts.end()) layouts.push_back(blocks);
  return layouts;
}

Placement weight_placement(Lowering& lowering, const ConvolutionLayer& layer,
                           const Choice& choice) {
  if (layer.weights_change()) {
    const ValueId value = lowering.node(layer.id).inputs[1];
    return layer.is_transposed ? lowering.row_major(value)
                               : lowering.in_layout(value, choice.weights);
  }
  if (packs_constants(choice)) {
    TileConstants constants;
    if (layer.bias != nullptr) constants.bias = *layer.bias;
    return packed_weights(lowering, choice, *layer.weight, std::move(constants), layer.id);
  }
  ConvolutionLayer typed = layer;
  typed.type = choice.own == nullptr ? element_of(choice.weights) : DataType::Float32;
  const Tensor weight = lowering.weights().in_type(*layer.weight, typed.type);
  if (choice.own == nullptr) {
    return lowering.weights().reordered(weight, stored_weights(typed), choice.weights);
  }
  const auto pack = [own = choice.own](const Tensor& weights, std::byte* packed) {
    with_floats(weights, [&](const float* values) {
      own->pack_weights(values, reinterpret_cast<float*>(packed));
    });
  };
  return lowering.weights().prepared(weight, choice.implementation, bytes_of(choice.weights), pack);
}

Placement bias_placement(Lowering& lowering, const ConvolutionLayer& layer, const Choice& choice) {
  if (layer.bias == nullptr) return lowering.row_major(lowering.node(layer.id).inputs[2]);
  const Tensor bias = lowering.weights().in_type(*layer.bias, DataType::Float32);
  return lowering.weights().reordered(bias, plain_desc(bias.dims()), choice.bias);
}

// Weights of 16 bits that float32 kernels read: where memory counts they stay so, and are widened
// into the arena in every run.
bool widens_in_every_run(const Lowering& lowering, const ConvolutionLayer& layer,
                         const Choice& choice) {
  return !layer.weights_change() && half_format(layer.weight->type()) && choice.own == nullptr &&
         element_of(choice.weights) == DataType::Float32 &&
         lowering.options().program.optimize_for == OptimizeFor::Memory;
}

struct WidenedWeights {
  Placement stored;
  Placement widened;
  Binder bind;
};

WidenedWeights widened_weights(Lowering& lowering, const ConvolutionLayer& layer,
                               const Choice& choice) {
  const HalfFormat format = *half_format(layer.weight->type());
  const auto floats = static_cast<std::int64_t>(bytes_of(choice.weights) / sizeof(float));
  const auto pack = [format, floats, to = choice.weights, from = stored_weights(layer)](
                        const Tensor& weights, std::byte* packed) {
    std::vector<float> reordered(static_cast<std::size_t>(floats));
    with_floats(transform::converted(weights, DataType::Float32), [&](const float* values) {
      reorder(from, const_cast<float*>(values), to, reordered.data());
    });
    simd().narrow(format, reordered.data(), reinterpret_cast<std::uint16_t*>(packed),
                  reordered.size());
  };
  WidenedWeights made;
  made.stored = lowering.weights().prepared(*layer.weight, "half " + layout_key(choice.weights),
                                            static_cast<std::size_t>(floats) * 2, pack);
  made.stored = row_major_placement(made.stored.buffer, layer.weight->type(), {floats});
  made.widened = row_major_placement(lowering.new_buffer(4 * floats), DataType::Float32, {floats});
  made.bind = [=, threads = lowering.threads(), stored = made.stored,
               widened = made.widened](const Addresses& at) -> Runner {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(at.bytes(stored));
    float* to = at.floats(widened);
    return [=] {
      execute::in_parallel(threads, floats, [&](std::int64_t first, std::int64_t last) {
        simd().widen(format, halves + first, to + first, static_cast<std::size_t>(last - first));
      });
    };
  };
  return made;
}

Binder in_turn(const Binder& first, const Binder& second) {
  return [=](const Addresses& at) -> Runner {
    return [one = first(at), other = second(at)] {
      one();
      other();
    };
  };
}

DataType computed_type(const Choice& choice) {
  if (computes_in_float16(choice)) return DataType::Float16;
  const bool is_float = choice.own != nullptr && !uses_tiles(choice);
  return is_float ? DataType::Float32 : element_of(choice.source);
}

void add_convolution_step(Lowering& lowering, const ConvolutionLayer& layer, const FusedOps& fused,
                          const Choice& choice) {
  const Placement source = lowering.in_layout(lowering.node(layer.id).inputs[0], choice.source);
  std::optional<WidenedWeights> widened;
  if (widens_in_every_run(lowering, layer, choice))
    widened = widened_weights(lowering, layer, choice);
  const Placement weights = widened ? widened->widened : weight_placement(lowering, layer, choice);
  std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                     {argument::kWeights, choice.weights, weights}};
  StepDraft draft{.nodes = {layer.id},
                  .algorithm = choice.implementation,
                  .precision = precision_of(choice, execute::precision_name(computed_type(choice))),
                  .reads = {source, widened ? widened->stored : weights}};
  if (widened) draft.workspace.push_back(weights.buffer);
  if (layer.has_bias && !packs_constants(choice)) {
    const Placement bias = bias_placement(lowering, layer, choice);
    arguments.push_back({argument::kBias, choice.bias, bias});
    draft.reads.push_back(bias);
  }
  std::optional<Placement> addend;
  if (fused.addend) {
    addend = lowering.in_layout(*fused.addend, choice.result);
    draft.reads.push_back(*addend);
    add_addend_argument(fused, choice.result, *addend, arguments);
  }
  const Placement result =
      fused.in_place ? *addend : lowering.new_placement(choice.result, layer.output);
  arguments.push_back({argument::kResult, choice.result, result});
  draft.writes.push_back(result);
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  draft.nodes.insert(draft.nodes.end(), fused.nodes.begin(), fused.nodes.end());
  if (widened)
    draft.algorithm += " + " + execute::precision_name(layer.weight->type()) + " weights";
  draft.executed_flops = saturating_add(executed_flops(layer, choice), fused.flops);
  Binder bind = choice.own != nullptr ? own_binder(choice, arguments, addend)
                                      : primitive_binder(choice.primitive, std::move(arguments));
  if (widened) bind = in_turn(widened->bind, bind);
  lowering.add_step(draft, std::move(bind));
  lowering.set_placement(fused.result, result);
}

// Changes of layout that a choice asks for, because a value is not there yet as it wants it.
Reorders reorders_for(Lowering& lowering, const ConvolutionLayer& layer, const FusedOps& fused,
                      const Choice& choice) {
  Reorders reorders;
  const auto ask = [&](ValueId value, const Desc& wanted) {
    if (!lowering.has_layout(value, wanted)) {
      reorders.emplace_back(desc_of(lowering.native(value)), wanted);
    }
  };
  ask(lowering.node(layer.id).inputs[0], choice.source);
  if (fused.addend) ask(*fused.addend, choice.result);
  // Whoever reads the result most likely wants the layer's own type.
  if (element_of(choice.result) != layer.type)
    reorders.emplace_back(choice.result, with_type(choice.result, layer.type));
  return reorders;
}

// A result in the blocks of 8 or 16 channels that the images are in, if they are.
std::optional<Desc> result_like(const Desc& source, const ConvolutionLayer& layer) {
  if (layer.input.size() != 4) return {};
  for (const std::int64_t block : {16, 8}) {
    if (source == image_desc(layer.input, block, layer.type))
      return image_desc(layer.output, block, layer.type);
  }
  return {};
}

// oneDNN's, for images in the layout it likes best; if they are in another, for that too.
std::vector<Choice> choices_of_onednn(Lowering& lowering, const ConvolutionLayer& layer,
                                      const FusedOps& fused) {
  constexpr std::size_t kMost = 3;  // what comes later was never seen to win
  std::vector<Choice> all;
  const auto add_for = [&](const Desc& source, const Desc& result) {
    const auto what = described(layer, fused, source, result);
    for (Choice& choice : convolutions(what, kind_of(layer), kMost)) {
      all.push_back(std::move(choice));
    }
  };
  for (const Desc& layout : result_layouts(lowering, layer, fused)) {
    add_for(any_desc(layer.input, layer.type), layout);
  }
  const ValueId images = lowering.node(layer.id).inputs[0];
  const auto takes_them = [&](const Choice& choice) {
    return lowering.has_layout(images, choice.source);
  };
  if (std::ranges::any_of(all, takes_them)) return all;
  const Desc source = with_type(desc_of(lowering.native(images)), layer.type);
  if (const auto result = result_like(source, layer)) add_for(source, *result);
  return all;
}

// A layer of bfloat16 in float32: our Winograd widens and rounds pixels while it transforms them; a
// depthwise convolution may be worth all that has to be converted for it.
std::vector<Choice> float_choices(Lowering& lowering, ConvolutionLayer layer, const FusedOps& fused,
                                  const std::vector<Choice>& others) {
  std::vector<Choice> choices = own_choices(lowering, layer, fused, others);
  layer.type = DataType::Float32;
  const bool is_depthwise = layer.groups > 1;
  if (!is_depthwise) return choices;
  auto onednn = choices_of_onednn(lowering, layer, fused);
  std::ranges::move(onednn, std::back_inserter(choices));
  return choices;
}

// By tiles, which come first, or by Winograd's algorithm in 16-bit integers.
void add_16_bit_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                        const FusedOps& fused, std::vector<Choice>& choices) {
  const auto epilogue = bf16_tile_epilogue(fused.post_ops);
  const bool has_constants = layer.weight != nullptr && (!layer.has_bias || layer.bias != nullptr);
  if (!epilogue || !has_constants || layer.is_transposed) return;
  const TileLayer what{.grid = layer.grid,
                       .images = layer.input[0],
                       .channels = layer.input[1],
                       .outputs = layer.output[1],
                       .type = TileType::BF16,
                       .epilogue = *epilogue};
  const Desc source = image_desc(layer.input, 0, layer.type);
  const Desc result = image_desc(layer.output, 0, layer.type);
  if (auto tiled = tile_choice(lowering, what, layer.groups, source, result))
    choices.insert(choices.begin(), std::move(*tiled));
  if (auto winograd = winograd16_choice(lowering, what, layer.groups, source, result))
    choices.push_back(std::move(*winograd));
}

// A layer of float16: our own kernels, which compute in float32 on 16-bit numbers, or where that is
// faster with all that has to be converted for it, oneDNN's on floats.
std::vector<Choice> float16_choices(Lowering& lowering, ConvolutionLayer layer,
                                    const FusedOps& fused) {
  std::vector<Choice> all = half_convolutions(lowering, layer, fused);
  if (!all.empty() && lowering.options().program.optimize_for == OptimizeFor::Memory) return all;
  auto own = own_choices(lowering, layer, fused, all);
  layer.type = DataType::Float32;
  auto onednn = choices_of_onednn(lowering, layer, fused);
  if (!all.empty() || !std::ranges::all_of(onednn, is_slow_convolution))
    std::erase_if(onednn, is_slow_convolution);
  for (auto* choices : {&own, &onednn}) std::ranges::move(*choices, std::back_inserter(all));
  return all;
}

std::vector<Choice> all_choices(Lowering& lowering, const ConvolutionLayer& layer,
                                const FusedOps& fused) {
  if (layer.type == DataType::Float16) return float16_choices(lowering, layer, fused);
  std::vector<Choice> all = choices_of_onednn(lowering, layer, fused);
  if (layer.type == DataType::BFloat16) {
    std::erase_if(all, is_slow_convolution);
    add_16_bit_choices(lowering, layer, fused, all);
    if (all.empty() || lowering.options().program.optimize_for == OptimizeFor::Latency) {
      auto others = float_choices(lowering, layer, fused, all);
      std::ranges::move(others, std::back_inserter(all));
    }
    return all;
  }
  auto own = layer.weights_change() ? trained_choices(lowering, layer, &fused, kind_of(layer), all)
                                    : own_choices(lowering, layer, fused, all);
  std::ranges::move(own, std::back_inserter(all));
  if (!std::ranges::all_of(all, is_slow_convolution)) std::erase_if(all, is_slow_convolution);
  if (lowering.options().program.optimize_for == OptimizeFor::Latency) {
    auto halves = half_convolutions(lowering, layer, fused);
    std::ranges::move(halves, std::back_inserter(all));
  }
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) keep_small_weights(all);
  return all;
}

bool lower_convolution(Lowering& lowering, NodeId id) {
  const auto layer = convolution_layer_of(lowering, id);
  if (!layer) return false;
  // Asked before neighbours are fused: a layer nobody can run fast leaves them alone.
  const ValueId value = lowering.node(id).outputs[0];
  FusedOps fused = no_fused_ops(value);
  ConvolutionLayer asked = *layer;
  if (layer->type == DataType::Float16) asked.type = DataType::Float32;
  const Convolution bare = described(asked, fused, any_desc(layer->input, asked.type),
                                     any_desc(layer->output, asked.type));
  if (convolutions(bare, kind_of(*layer), 1).empty()) return false;
  fused = find_fused_ops(lowering, id, value,
                         layer->is_transposed ? Additions::NotTaken : Additions::Taken);
  auto choices = all_choices(lowering, *layer, fused);
  if (choices.empty()) {
    fused = no_fused_ops(value);
    choices = all_choices(lowering, *layer, fused);
  }
  if (choices.empty())
    fail_running("Conv '{}': oneDNN rejected every implementation that it listed",
                 lowering.node(id).name);
  for (const NodeId node : fused.nodes) lowering.cover(node);
  std::vector<Reorders> reorders;
  for (const Choice& choice : choices) {
    reorders.push_back(reorders_for(lowering, *layer, fused, choice));
  }
  const std::size_t chosen =
      lowering.tuner().fastest(key_of(*layer, bare, fused), choices, reorders);
  add_convolution_step(lowering, *layer, fused, choices[chosen]);
  return true;
}

}  // namespace

void add_convolution_lowering(LowerTable& table) {
  table["Conv"] = lower_convolution;
  table["ConvTranspose"] = lower_convolution;
}

}  // namespace assay::cpu
