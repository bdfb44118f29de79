#include "assay/layers.h"

#include <cmath>
#include <utility>

namespace assay {

namespace {

// Kaiming's bound for a uniform draw: the variance of activations stays about 1 through ReLUs.
double he_bound(std::int64_t fan_in) {
  return std::sqrt(6.0 / static_cast<double>(fan_in));
}

double bias_bound(std::int64_t fan_in) {
  return 1.0 / std::sqrt(static_cast<double>(fan_in));
}

std::vector<std::int64_t> both(std::int64_t number) {
  return {number, number};
}

std::vector<std::int64_t> on_all_sides(std::int64_t number) {
  return {number, number, number, number};
}

ValueId same_rank(GraphBuilder& builder, ValueId from, ValueId to) {
  if (const auto rank = builder.rank(from)) builder.set_rank(to, *rank);
  return to;
}

Layer unary(std::string op, std::string name, std::vector<Attribute> attributes = {}) {
  return Layer([=, op = std::move(op), name = std::move(name), attributes = std::move(attributes)](
                   GraphBuilder& builder, ValueId input) {
    return same_rank(builder, input, builder.node(op, name, {input}, attributes));
  });
}

ValueId gemm(GraphBuilder& builder, ValueId input, std::int64_t in, std::int64_t out,
             const LinearOptions& options) {
  std::vector<ValueId> inputs = {input,
                                 builder.weight(options.name + ".weight", {out, in}, he_bound(in))};
  if (options.bias) inputs.push_back(builder.weight(options.name + ".bias", {out}, bias_bound(in)));
  return builder.node("Gemm", options.name, std::move(inputs), {{"transB", std::int64_t{1}}});
}

ValueId matmul_and_bias(GraphBuilder& builder, ValueId input, std::int64_t in, std::int64_t out,
                        const LinearOptions& options) {
  const ValueId weight = builder.weight(options.name + ".weight", {in, out}, he_bound(in));
  const ValueId product = builder.node("MatMul", options.name, {input, weight});
  if (!options.bias) return product;
  const ValueId bias = builder.weight(options.name + ".bias", {out}, bias_bound(in));
  return builder.node("Add", options.name + ".add", {product, bias});
}

Layer pool(std::string op, std::int64_t kernel, const PoolOptions& options) {
  const std::int64_t stride = options.stride == 0 ? kernel : options.stride;
  return unary(std::move(op), options.name,
               {{"kernel_shape", both(kernel)},
                {"strides", both(stride)},
                {"pads", on_all_sides(options.padding)}});
}

}  // namespace

Layer::operator Graph() const {
  GraphBuilder builder("model");
  const ValueId input = builder.input("input", DataType::Float32, std::nullopt);
  builder.output((*this)(builder, input), "output");
  return builder.finish();
}

Layer Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options) {
  return Layer([=, options = std::move(options)](GraphBuilder& builder, ValueId input) {
    const bool is_matrix = builder.rank(input) == std::size_t{2};
    const ValueId output =
        is_matrix ? gemm(builder, input, in_features, out_features, options)
                  : matmul_and_bias(builder, input, in_features, out_features, options);
    return same_rank(builder, input, output);
  });
}

Layer Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel,
             Conv2dOptions options) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const std::int64_t per_group = in_channels / options.groups;
    const std::int64_t fan_in = per_group * kernel * kernel;
    std::vector<ValueId> inputs = {
        input, builder.weight(options.name + ".weight", {out_channels, per_group, kernel, kernel},
                              he_bound(fan_in))};
    if (options.bias) {
      inputs.push_back(builder.weight(options.name + ".bias", {out_channels}, bias_bound(fan_in)));
    }
    const ValueId output = builder.node("Conv", options.name, std::move(inputs),
                                        {{"kernel_shape", both(kernel)},
                                         {"strides", both(options.stride)},
                                         {"pads", on_all_sides(options.padding)},
                                         {"dilations", both(options.dilation)},
                                         {"group", options.groups}});
    builder.set_rank(output, 4);
    return output;
  });
}

Layer MaxPool2d(std::int64_t kernel, const PoolOptions& options) {
  return pool("MaxPool", kernel, options);
}

Layer AvgPool2d(std::int64_t kernel, const PoolOptions& options) {
  return pool("AveragePool", kernel, options);
}

Layer GlobalAvgPool2d(std::string name) {
  return unary("GlobalAveragePool", std::move(name));
}

Layer BatchNorm2d(std::int64_t channels, std::string name, float scale) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const std::vector<std::int64_t> dims = {channels};
    const ValueId output = builder.node("BatchNormalization", name,
                                        {input, builder.filled(name + ".weight", dims, scale),
                                         builder.filled(name + ".bias", dims, 0.0f),
                                         builder.filled(name + ".running_mean", dims, 0.0f),
                                         builder.filled(name + ".running_var", dims, 1.0f)},
                                        {{"epsilon", 1e-5f}});
    return same_rank(builder, input, output);
  });
}

Layer LayerNorm(std::int64_t width, std::string name, float epsilon) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const ValueId output = builder.node("LayerNormalization", name,
                                        {input, builder.filled(name + ".weight", {width}, 1.0f),
                                         builder.filled(name + ".bias", {width}, 0.0f)},
                                        {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
    return same_rank(builder, input, output);
  });
}

Layer Relu(std::string name) {
  return unary("Relu", std::move(name));
}

Layer Relu6(std::string name) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const ValueId low = builder.scalar(name + ".min", 0.0f);
    const ValueId high = builder.scalar(name + ".max", 6.0f);
    return same_rank(builder, input, builder.node("Clip", name, {input, low, high}));
  });
}

Layer Sigmoid(std::string name) {
  return unary("Sigmoid", std::move(name));
}

Layer Tanh(std::string name) {
  return unary("Tanh", std::move(name));
}

Layer Gelu(std::string name) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const ValueId root2 = builder.scalar(name + ".sqrt2", 1.41421356f);
    const ValueId one = builder.scalar(name + ".one", 1.0f);
    const ValueId half = builder.scalar(name + ".half", 0.5f);
    const ValueId scaled = builder.node("Div", name + ".div", {input, root2});
    const ValueId erf = builder.node("Erf", name + ".erf", {scaled});
    const ValueId gate = builder.node("Add", name + ".add", {erf, one});
    const ValueId product = builder.node("Mul", name + ".mul", {input, gate});
    return same_rank(builder, input, builder.node("Mul", name, {product, half}));
  });
}

// x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))
Layer GeluTanh(std::string name) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const auto number = [&](const char* suffix, float value) {
      return builder.scalar(name + suffix, value);
    };
    const ValueId cube = builder.node("Pow", name + ".pow", {input, number(".three", 3.0f)});
    const ValueId cubic = builder.node("Mul", name + ".cubic", {cube, number(".c", 0.044715f)});
    const ValueId sum = builder.node("Add", name + ".sum", {input, cubic});
    const ValueId inner = builder.node("Mul", name + ".inner", {sum, number(".r", 0.79788456f)});
    const ValueId tanh = builder.node("Tanh", name + ".tanh", {inner});
    const ValueId gate = builder.node("Add", name + ".gate", {tanh, number(".one", 1.0f)});
    const ValueId product = builder.node("Mul", name + ".mul", {input, gate});
    return same_rank(builder, input, builder.node("Mul", name, {product, number(".half", 0.5f)}));
  });
}

Layer Softmax(std::int64_t axis, std::string name) {
  return unary("Softmax", std::move(name), {{"axis", axis}});
}

Layer Flatten(std::string name) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const ValueId output = builder.node("Flatten", name, {input}, {{"axis", std::int64_t{1}}});
    builder.set_rank(output, 2);
    return output;
  });
}

Layer Dropout(float ratio, std::string name) {
  return Layer([=, name = std::move(name)](GraphBuilder& builder, ValueId input) {
    const ValueId rate = builder.scalar(name + ".ratio", ratio);
    return same_rank(builder, input, builder.node("Dropout", name, {input, rate}));
  });
}

Layer Sequential(std::vector<Layer> layers) {
  return Layer([layers = std::move(layers)](GraphBuilder& builder, ValueId value) {
    for (const Layer& layer : layers) value = layer(builder, value);
    return value;
  });
}

}  // namespace assay
