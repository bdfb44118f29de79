// Pools over windows and over whole planes.
#include "kernels/lanes.h"
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void max_pool(GradientContext& context) {
  context.give(0, context.own("MaxPoolGradient", {context.in(0), context.gradient()},
                              context.window_attributes()));
}

void average_pool(GradientContext& context) {
  auto attributes = context.window_attributes();
  attributes.push_back({"input_dims", context.input_dims(0)});
  context.give(0, context.own("AveragePoolGradient", {context.gradient()}, std::move(attributes)));
}

void global_average_pool(GradientContext& context) {
  const Dims dims = context.input_dims(0);
  const auto elements = static_cast<double>(kernels::product_or_zero(std::span(dims).subspan(2)));
  context.give(0, context.expanded(context.times(context.gradient(), 1 / elements), dims));
}

void global_max_pool(GradientContext& context) {
  const Dims dims = context.input_dims(0);
  const Dims plane(dims.begin() + 2, dims.end());
  context.give(0, context.own("MaxPoolGradient", {context.in(0), context.gradient()},
                              {{"kernel_shape", plane}}));
}

}  // namespace

void add_pooling_gradients(GradientTable& table) {
  table["MaxPool"] = max_pool;
  table["AveragePool"] = average_pool;
  table["GlobalAveragePool"] = global_average_pool;
  table["GlobalMaxPool"] = global_max_pool;
}

}  // namespace assay::transform
