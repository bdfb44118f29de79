#include "execute/cpu/lower/half_choices.h"

#include <algorithm>
#include <map>

#include "execute/cpu/kernels/depthwise.h"
#include "execute/cpu/kernels/half_product.h"
#include "execute/cpu/kernels/panel_convolution.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/steps.h"
#include "execute/cpu/tensor_floats.h"
#include "execute/precision.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

namespace {

std::optional<ProductFinish> finish_of(const PostOp& op) {
  static const std::map<Algorithm, UnaryOp> kPlain = {
      {Algorithm::eltwise_logistic, UnaryOp::Sigmoid},
      {Algorithm::eltwise_tanh, UnaryOp::Tanh},
      {Algorithm::eltwise_clip, UnaryOp::Clip},
      {Algorithm::eltwise_elu, UnaryOp::Elu},
      {Algorithm::eltwise_relu, UnaryOp::LeakyRelu},
      {Algorithm::eltwise_hardswish, UnaryOp::HardSwish},
      {Algorithm::eltwise_gelu_tanh, UnaryOp::GeluTanh},
      {Algorithm::eltwise_gelu_erf, UnaryOp::GeluErf}};
  if (op.kind != PostOp::Kind::Eltwise) return ProductFinish{.kind = ProductFinish::Kind::Add};
  const auto found = kPlain.find(op.algorithm);
  if (found == kPlain.end()) return {};
  return ProductFinish{.op = found->second, .alpha = op.alpha, .beta = op.beta};
}

Desc floats_desc(std::size_t count) {
  return plain_desc({static_cast<std::int64_t>(count)});
}

Choice choice_with(std::string name, std::shared_ptr<const OwnConvolution> own,
                   std::optional<std::int64_t> bias) {
  Choice choice;
  choice.implementation = std::move(name);
  choice.weights = floats_desc(own->weight_floats());
  if (own->workspace_floats() > 0) choice.scratchpad = floats_desc(own->workspace_floats());
  if (bias) choice.bias = plain_desc({*bias});
  choice.own = std::move(own);
  choice.halves_weights = true;
  return choice;
}

Choice product_choice(const OwnMatrixProduct& product, const std::string& name,
                      std::shared_ptr<const OwnConvolution> own) {
  Choice choice =
      choice_with(execute::precision_name(product.weight.type()) + " " + name, std::move(own),
                  product.has_bias ? std::optional(product.n) : std::nullopt);
  choice.source = plain_desc({product.m, product.k}, product.type);
  choice.result = plain_desc({product.m, product.n}, product.type);
  return choice;
}

// The choice and, before it, the same in float16, where the processor computes in it and the
// weights allow it.
std::vector<Choice> with_float16(Choice choice, const PanelConvolution& own,
                                 const Tensor& weights) {
  std::vector<Choice> both = {std::move(choice)};
  if (fp16() == nullptr || !own.may_compute_in_float16()) return both;
  const float largest = largest_magnitude(weights);
  if (largest > kFp16LargestWeight || largest < kFp16LeastWeight) return both;
  const auto native = std::make_shared<PanelConvolution>(own);
  native->compute_in_float16(*fp16());
  Choice made = both.front();
  made.implementation += std::string(":") + fp16()->isa;
  made.own = native;
  both.insert(both.begin(), std::move(made));
  return both;
}

std::size_t size_of_product(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace

std::size_t patch_floats(const Lowering& lowering) {
  const bool has_to_fit = lowering.options().program.optimize_for == OptimizeFor::Memory;
  return (has_to_fit ? std::size_t{16} : std::size_t{128}) << 10;
}

float largest_magnitude(const Tensor& weights) {
  float largest = 0;
  with_floats(transform::converted(weights, DataType::Float32), [&](const float* values) {
    const auto count = static_cast<std::size_t>(weights.elements());
    largest = std::max(simd().reduce(ReduceOp::Max, values, count),
                       -simd().reduce(ReduceOp::Min, values, count));
  });
  return largest;
}

bool computes_in_float16(const Choice& choice) {
  const auto own = std::dynamic_pointer_cast<const PanelConvolution>(choice.own);
  return own != nullptr && own->computes_in_float16();
}

std::optional<std::vector<ProductFinish>> product_finish_of(const std::vector<PostOp>& post_ops) {
  std::vector<ProductFinish> finish;
  for (const PostOp& op : post_ops) {
    const auto one = finish_of(op);
    if (!one) return {};
    finish.push_back(*one);
  }
  return finish;
}

std::optional<Choice> few_rows_choice(const Lowering& lowering, const OwnMatrixProduct& product,
                                      const FusedOps& fused) {
  constexpr std::int64_t kMostRows = 64;
  auto finish = product_finish_of(fused.post_ops);
  if (!finish || product.m > kMostRows) return {};
  return product_choice(
      product, "weights",
      std::make_shared<HalfProduct>(HalfProductShape{.rows = size_of_product(product.m),
                                                     .depth = size_of_product(product.k),
                                                     .columns = size_of_product(product.n),
                                                     .weights = *half_format(product.weight.type()),
                                                     .source = half_format(product.type),
                                                     .result = half_format(product.type)},
                                    std::move(*finish), lowering.threads()));
}

std::vector<Choice> many_rows_choices(const Lowering& lowering, const OwnMatrixProduct& product,
                                      const FusedOps& fused) {
  auto finish = product_finish_of(fused.post_ops);
  if (!finish) return {};
  kernels::WindowGrid rows{.rank = 1};
  rows.axes[2].input = rows.axes[2].output = product.m;
  const auto own =
      std::make_shared<PanelConvolution>(PanelLayer{.grid = rows,
                                                    .channels = size_of_product(product.k),
                                                    .outputs = size_of_product(product.n),
                                                    .weights = half_format(product.weight.type()),
                                                    .source = half_format(product.type),
                                                    .result = half_format(product.type),
                                                    .patch_floats = patch_floats(lowering)},
                                         std::move(*finish), lowering.threads());
  Choice choice = product_choice(product, "panels", own);
  choice.halves_weights = half_format(product.weight.type()).has_value();
  return with_float16(std::move(choice), *own, product.weight);
}

Placement packed_matrix(Lowering& lowering, const Choice& choice, const Tensor& weight,
                        bool is_transposed) {
  const auto pack = [own = choice.own, is_transposed](const Tensor& weights, std::byte* packed) {
    if (const auto few = std::dynamic_pointer_cast<const HalfProduct>(own)) {
      const auto halves = weights.to_vector<std::uint16_t>();
      few->pack_halves(halves.data(), is_transposed, reinterpret_cast<std::uint16_t*>(packed));
      return;
    }
    const auto many = std::static_pointer_cast<const PanelConvolution>(own);
    auto* to = reinterpret_cast<float*>(packed);
    with_floats(transform::converted(weights, DataType::Float32), [&](const float* values) {
      is_transposed ? many->pack_weights(values, to) : many->pack_transposed(values, to);
    });
  };
  const std::string layout = choice.implementation + (is_transposed ? " of rows" : "");
  return lowering.weights().prepared(weight, layout, bytes_of(choice.weights), pack);
}

std::vector<Choice> half_convolutions(const Lowering& lowering, const ConvolutionLayer& layer,
                                      const FusedOps& fused) {
  auto finish = product_finish_of(fused.post_ops);
  const bool is_plain =
      finish && !layer.is_transposed && !layer.weights_change() && !lowering.options().ieee_strict;
  if (!is_plain) return {};
  const auto weights = half_format(layer.weight->type());
  const auto images = half_format(layer.type);
  if (!weights) return {};
  const std::string prefix = execute::precision_name(layer.weight->type()) + " ";
  std::vector<Choice> choices;
  const auto add = [&](const std::string& name, std::shared_ptr<const OwnConvolution> own) {
    choices.push_back(choice_with(prefix + name, std::move(own),
                                  layer.has_bias ? std::optional(layer.output[1]) : std::nullopt));
    choices.back().source = image_desc(layer.input, 0, layer.type);
    choices.back().result = image_desc(layer.output, 0, layer.type);
  };
  const bool is_depthwise =
      layer.groups > 1 && layer.groups == layer.input[1] && layer.output[1] == layer.input[1];
  const auto epilogue = epilogue_of(fused);
  if (is_depthwise && images && epilogue && Depthwise::has_form_for(layer.grid)) {
    add("depthwise", std::make_shared<Depthwise>(layer.grid, layer.input[0], layer.input[1],
                                                 *images, *epilogue, lowering.threads()));
  }
  if (layer.groups == 1) {
    const auto own =
        std::make_shared<PanelConvolution>(PanelLayer{.grid = layer.grid,
                                                      .images = size_of_product(layer.input[0]),
                                                      .channels = size_of_product(layer.input[1]),
                                                      .outputs = size_of_product(layer.output[1]),
                                                      .weights = *weights,
                                                      .source = images,
                                                      .result = images,
                                                      .patch_floats = patch_floats(lowering)},
                                           std::move(*finish), lowering.threads());
    add("panels", own);
    choices = with_float16(std::move(choices.back()), *own, *layer.weight);
  }
  return choices;
}

}  // namespace assay::cpu
