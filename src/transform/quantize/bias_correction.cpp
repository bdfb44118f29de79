#include "transform/quantize/bias_correction.h"

#include "transform/quantize/linear_scale.h"
#include "transform/quantize/plan.h"

namespace assay::transform {

namespace {

// Where a row and a column of a weight stand: [outputs, inputs, window…] or a matrix.
class WeightLayout {
 public:
  WeightLayout(const Node& layer, const Tensor& weight)
      : is_convolution_(layer.is("Conv")), rows_are_outputs_(output_axis(layer) == 0) {
    rows_ = static_cast<std::size_t>(weight.dims()[0]);
    columns_ = static_cast<std::size_t>(weight.dims()[1]);
    window_ = static_cast<std::size_t>(weight.elements()) / rows_ / columns_;
    outputs_of_group_ = rows_ / static_cast<std::size_t>(layer.int_or("group", 1));
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t window() const { return window_; }
  std::size_t output(std::size_t row, std::size_t column) const {
    return rows_are_outputs_ ? row : column;
  }
  std::size_t input(std::size_t row, std::size_t column) const {
    if (is_convolution_) return row / outputs_of_group_ * columns_ + column;
    return rows_are_outputs_ ? column : row;
  }

 private:
  bool is_convolution_ = false;
  bool rows_are_outputs_ = true;
  std::size_t rows_ = 1;
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
  const FloatElements elements(weight);
  const std::span<const float> numbers = elements.all();
  const auto codes = coded.codes.to_vector<std::int8_t>();
  const WeightLayout layout(layer, weight);
  std::vector<double> correction(static_cast<std::size_t>(weight.dims()[axis]), 0);
  std::size_t i = 0;
  for (std::size_t row = 0; row < layout.rows(); ++row) {
    for (std::size_t column = 0; column < layout.columns(); ++column) {
      const std::size_t output = layout.output(row, column);
      const float scale = coded.scales[per_channel ? output : 0];
      double missing = 0;
      for (const std::size_t end = i + layout.window(); i < end; ++i)
        missing += static_cast<double>(numbers[i] - static_cast<float>(codes[i]) * scale);
      correction[output] += missing * input_means[layout.input(row, column)];
    }
  }
  return correction;
}

}  // namespace assay::transform
