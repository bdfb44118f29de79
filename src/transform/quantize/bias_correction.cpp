#include "transform/quantize/bias_correction.h"

#include "transform/quantize/linear_scale.h"
#include "transform/quantize/plan.h"

namespace assay::transform {

namespace {

// Where a weight's element stands: which output channel it adds to, from which input channel.
struct WeightPosition {
  std::size_t output = 0;
  std::size_t input = 0;
};

class WeightLayout {
 public:
  WeightLayout(const Node& layer, const Tensor& weight)
      : is_convolution_(layer.is("Conv")), axis_(output_axis(layer)) {
    const auto& dims = weight.dims();
    columns_ = static_cast<std::size_t>(dims[1]);
    if (!is_convolution_) return;
    for (std::size_t i = 2; i < dims.size(); ++i) window_ *= static_cast<std::size_t>(dims[i]);
    const auto groups = static_cast<std::size_t>(layer.int_or("group", 1));
    outputs_of_group_ = static_cast<std::size_t>(dims[0]) / groups;
  }

  WeightPosition position(std::size_t i) const {
    const std::size_t row = i / window_ / columns_;
    const std::size_t column = i / window_ % columns_;
    if (!is_convolution_)
      return axis_ == 0 ? WeightPosition{row, column} : WeightPosition{column, row};
    return {row, row / outputs_of_group_ * columns_ + column};
  }

 private:
  bool is_convolution_ = false;
  std::size_t axis_ = 0;
  std::size_t columns_ = 1;
  std::size_t window_ = 1;
  std::size_t outputs_of_group_ = 1;
};

}  // namespace

std::size_t input_channel_axis(const Node& layer, std::size_t rank) {
  return layer.is("Conv") ? 1 : rank - 1;
}

std::vector<double> bias_correction(const Graph& graph, const Node& layer,
                                    std::span<const double> input_means, bool per_channel) {
  const Tensor& weight = *layer_weight(graph, layer);
  const std::size_t axis = output_axis(layer);
  const WeightCodes coded = coded_weight(weight, axis, per_channel, {});
  const auto numbers = weight.to_vector<float>();
  const auto codes = coded.codes.to_vector<std::int8_t>();
  const WeightLayout layout(layer, weight);
  std::vector<double> correction(static_cast<std::size_t>(weight.dims()[axis]), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const WeightPosition at = layout.position(i);
    const double scale = coded.scales[per_channel ? at.output : 0];
    correction[at.output] +=
        (static_cast<double>(numbers[i]) - codes[i] * scale) * input_means[at.input];
  }
  return correction;
}

}  // namespace assay::transform
