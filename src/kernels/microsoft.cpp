// The common fused operators of com.microsoft, as ONNX Runtime's optimizer writes them.
#include <algorithm>

#include "base/text.h"
#include "kernels/activation.h"
#include "kernels/convolution.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/indices.h"
#include "kernels/layer_normalization.h"
#include "kernels/named_activation.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Applies what the attribute `activation` names, with its parameters in one list.
void activate(const KernelCall& call, std::vector<double>& values,
              std::span<const float> parameters) {
  const std::string name = call.node.string_or("activation", "");
  if (name.empty()) return;
  const std::size_t alphas = std::min<std::size_t>(1, parameters.size());
  ActivationParameters alpha(parameters.first(alphas));
  ActivationParameters beta(parameters.subspan(alphas));
  const NamedActivation activation = named_activation(call, name, alpha, beta);
  for (double& value : values) value = activation(value);
}

// Conv, then a sum with input 3, then an activation.
std::vector<Tensor> fused_convolution(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Convolution convolution = convolution_of(call, input.dims(), call.input(1).dims());
  const Dims dims = convolution.output_dims();
  auto values = convolved_with_bias(call, convolution);
  if (call.has(3) && call.input(3).dims() != dims) call.fail("the sum does not fit the result");
  add_input(call, values, dims, 3);
  const auto* parameters = call.node.get<std::vector<float>>("activation_params");
  activate(call, values, parameters == nullptr ? std::span<const float>{} : *parameters);
  return {store_real(input.type(), dims, values)};
}

std::vector<Tensor> fused_gemm(const KernelCall& call) {
  const DataType type = call.input(0).type();
  GemmResult result = type == DataType::Float64 ? gemm<double>(call) : gemm<float>(call);
  std::vector<float> parameters;
  for (const char* attribute : {"activation_alpha", "activation_beta"}) {
    if (const float* number = call.node.get<float>(attribute)) parameters.push_back(*number);
  }
  activate(call, result.values, parameters);
  return {store_real(type, result.dims, result.values)};
}

std::vector<Tensor> fused_product(const KernelCall& call) {
  const Node& node = call.node;
  if (node.int_or("transBatchA", 0) != 0 || node.int_or("transBatchB", 0) != 0)
    call.fail("transBatchA and transBatchB are not known here");
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  const BatchedProduct product(call, a.dims(), b.dims(),
                               {node.int_or("transA", 0) != 0, node.int_or("transB", 0) != 0});
  auto values = product.multiplied(load_real(call, a), load_real(call, b));
  const double alpha = static_cast<double>(node.float_or("alpha", 1));
  for (double& value : values) value *= alpha;
  return {store_real(a.type(), product.result_dims(), values)};
}

// Input 1, where it is given, is added first.
template <double (*Function)(double)>
std::vector<Tensor> biased(const KernelCall& call) {
  const Tensor& input = call.input(0);
  auto values = load_real(call, input);
  add_input(call, values, input.dims(), 1);
  for (double& value : values) value = Function(value);
  return {store_real(input.type(), input.dims(), values)};
}

std::vector<Tensor> quick_gelu(const KernelCall& call) {
  const double alpha = static_cast<double>(call.node.float_or("alpha", 1.702f));
  return mapped(call, [=](double x) { return swish(x, alpha); });
}

double small_epsilon(const KernelCall& call) {
  return static_cast<double>(call.node.float_or("epsilon", 1e-12f));
}

// The sum of input, skip and bias is normalised along its last axis, and also given as output 3.
template <bool IsSimplified>
std::vector<Tensor> skip_normalization(const KernelCall& call) {
  constexpr std::size_t kGamma = 2;
  const std::size_t bias = IsSimplified ? 3 : 4;
  const std::size_t beta = IsSimplified ? call.inputs.size() : 3;  // the simplified form has none
  const Tensor& input = call.input(0);
  const Dims& dims = input.dims();
  if (dims.empty()) call.fail("needs at least one axis");
  auto values = load_real(call, input);
  add_input(call, values, dims, 1);
  add_input(call, values, dims, bias);
  const Tensor sum = store_real(input.type(), dims, values);
  const auto statistics =
      normalize_lanes(values, lanes_from(dims, dims.size() - 1), small_epsilon(call), IsSimplified);
  scale_and_shift(call, values, dims, kGamma, beta);
  Dims reduced = dims;
  reduced.back() = statistics.mean.empty() ? 0 : 1;
  return {store_real(input.type(), dims, values),
          store_real(DataType::Float32, reduced, statistics.mean),
          store_real(DataType::Float32, reduced, statistics.inverse_deviation), sum};
}

// Adds row `ids[i]` of table `input` to row i of `values`.
void add_embedding(const KernelCall& call, std::size_t input, const std::vector<std::int64_t>& ids,
                   std::vector<double>& values) {
  const Tensor& tensor = call.input(input);
  const std::size_t width = values.size() / std::max<std::size_t>(ids.size(), 1);
  const bool fits =
      tensor.dims().size() == 2 && static_cast<std::size_t>(tensor.dims()[1]) == width;
  if (!fits) call.fail("embedding {} does not fit a width of {}", join_dims(tensor.dims()), width);
  const auto table = load_real(call, tensor);
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const std::size_t from = checked_index(call, ids[row], tensor.dims()[0]) * width;
    for (std::size_t i = 0; i < width; ++i) values[row * width + i] += table[from + i];
  }
}

// How many positions of every sample the mask, input 7, lets through; zeros without a mask.
Tensor mask_lengths(const KernelCall& call, const Dims& ids) {
  std::vector<std::int32_t> lengths(ids[0], 0);
  if (call.has(7)) {
    if (call.input(7).dims() != ids) call.fail("the mask does not fit the ids");
    const auto mask = call.input(7).to_int64();
    for (std::size_t i = 0; i < mask.size(); ++i) lengths[i / ids[1]] += mask[i] != 0 ? 1 : 0;
  }
  return Tensor::of<std::int32_t>(DataType::Int32, {ids[0]}, lengths);
}

// Inputs: word and segment ids; word, position and segment tables; gamma, beta; mask; positions.
std::vector<Tensor> embed_layer_normalization(const KernelCall& call) {
  const Tensor& ids = call.input(0);
  const Tensor& words = call.input(2);
  if (ids.dims().size() != 2 || words.dims().size() != 2)
    call.fail("ids {} and words {} need two axes each", join_dims(ids.dims()),
              join_dims(words.dims()));
  const Dims dims = {ids.dims()[0], ids.dims()[1], words.dims()[1]};
  std::vector<double> values(result_elements(call, dims));
  auto positions = std::vector<std::int64_t>(ids.elements());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = i % ids.dims()[1];
  if (call.has(8)) positions = call.input(8).to_int64();
  const bool fits = static_cast<std::int64_t>(positions.size()) == ids.elements() &&
                    (!call.has(1) || call.input(1).dims() == ids.dims());
  if (!fits) call.fail("positions or segments do not fit the ids");
  add_embedding(call, 2, ids.to_int64(), values);
  add_embedding(call, 3, positions, values);
  if (call.has(1)) add_embedding(call, 4, call.input(1).to_int64(), values);
  const DataType type = words.type();
  const Tensor sum = store_real(type, dims, values);
  normalize_lanes(values, lanes_from(dims, 2), small_epsilon(call));
  scale_and_shift(call, values, dims, 5, 6);
  return {store_real(type, dims, values), mask_lengths(call, ids.dims()), sum};
}

}  // namespace

void add_microsoft_kernels(KernelTable& table) {
  add_quantization_kernels(table);
  table["FusedConv"] = fused_convolution;
  table["FusedGemm"] = fused_gemm;
  table["FusedMatMul"] = fused_product;
  table["TransposeMatMul"] = fused_product;
  table["Gelu"] = biased<gelu>;
  table["BiasGelu"] = biased<gelu>;
  table["FastGelu"] = biased<gelu_by_tanh>;
  table["QuickGelu"] = quick_gelu;
  table["LayerNormalization"] = layer_normalization;
  table["SimplifiedLayerNormalization"] = simplified_layer_normalization;
  table["SkipLayerNormalization"] = skip_normalization<false>;
  table["SkipSimplifiedLayerNormalization"] = skip_normalization<true>;
  table["EmbedLayerNormalization"] = embed_layer_normalization;
}

}  // namespace assay::kernels
