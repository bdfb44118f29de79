#include "assay/sparsity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "assay/cost.h"
#include "base/as_size.h"
#include "base/fail.h"

namespace assay {

namespace {

// Weights as one row for each output: those of a row are summed together.
struct WeightRows {
  std::vector<double> magnitudes;  // row by row
  std::size_t row = 0;             // its length
};

// The transpose of a matrix [rows, columns].
std::vector<double> transposed_magnitudes(const std::vector<double>& from, std::size_t rows,
                                          std::size_t columns) {
  std::vector<double> result(from.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = from[i * columns + j];
  }
  return result;
}

std::optional<WeightRows> weight_rows(const Graph& graph, const Node& node) {
  const bool is_product = node.is("MatMul") || node.is("Gemm");
  if ((!is_product && !node.is("Conv")) || !node.has_input(1)) return {};
  const Tensor* weights = graph.initializer(node.inputs[1]);
  if (weights == nullptr || !is_floating(weights->type()) || weights->dims().size() < 2) return {};
  WeightRows rows{weights->to_double(), 0};
  for (double& number : rows.magnitudes) number = std::abs(number);
  const auto first = as_size(weights->dims()[0]);
  if (first == 0 || rows.magnitudes.empty()) return {};
  rows.row = rows.magnitudes.size() / first;
  const bool has_outputs_first = node.is("Conv") || node.int_or("transB", 0) != 0;
  if (has_outputs_first) return rows;
  if (weights->dims().size() > 2) return {};
  rows.magnitudes = transposed_magnitudes(rows.magnitudes, first, rows.row);
  rows.row = first;
  return rows;
}

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

double share_left(double left, double all) {
  return all > 0 ? left / all : 1.0;
}

void count_unstructured(SparseLayer& layer, std::vector<double> magnitudes, double level) {
  layer.unstructured_zeros =
      std::max(layer.zeros,
               static_cast<std::int64_t>(std::llround(static_cast<double>(layer.weights) * level)));
  const double all = sum_of(magnitudes);
  const auto middle = magnitudes.begin() + layer.unstructured_zeros;
  std::ranges::nth_element(magnitudes, middle);
  layer.unstructured_magnitude = share_left(std::accumulate(middle, magnitudes.end(), 0.0), all);
}

void count_2_4(SparseLayer& layer, const WeightRows& rows) {
  layer.fits_2_4 = rows.row % 4 == 0;
  if (!layer.fits_2_4) return;
  double left = 0;
  for (std::size_t i = 0; i < rows.magnitudes.size(); i += 4) {
    std::array<double, 4> four{};
    std::copy_n(rows.magnitudes.begin() + static_cast<std::ptrdiff_t>(i), 4, four.begin());
    std::ranges::sort(four);
    left += four[2] + four[3];
  }
  layer.magnitude_2_4 = share_left(left, sum_of(rows.magnitudes));
}

std::int64_t bytes_for_bits(std::int64_t bits) {
  return (bits + 7) / 8;
}

void add_to_totals(SparsityTotals& totals, const SparseLayer& layer, std::int64_t width) {
  const std::int64_t left = layer.weights - layer.unstructured_zeros;
  const std::int64_t half = layer.weights / 2;
  totals.weights += layer.weights;
  totals.zeros += layer.zeros;
  totals.macs += layer.macs;
  totals.dense_bytes += layer.weights * width;
  totals.unstructured_macs +=
      static_cast<std::int64_t>(static_cast<double>(layer.macs) * static_cast<double>(left) /
                                static_cast<double>(layer.weights));
  totals.unstructured_bytes += left * width + bytes_for_bits(layer.weights);
  totals.macs_2_4 += layer.fits_2_4 ? layer.macs / 2 : layer.macs;
  totals.bytes_2_4 +=
      layer.fits_2_4 ? half * width + bytes_for_bits(2 * half) : layer.weights * width;
}

}  // namespace

SparsityCount count_sparsity(const Graph& model, double level, const Bindings& bindings) {
  if (!(level >= 0 && level < 1))
    fail_usage("a sparsity of {} is not possible: it is a share from 0 to below 1", level);
  const Inferred inferred = infer_shapes(bind_inputs(model, bindings).graph);
  SparsityCount result{.level = level, .layers = {}, .totals = {}, .note = ""};
  for (const LayerCost& cost : count_costs(inferred).layers) {
    if (!cost.node.is_valid()) continue;
    const Node& node = inferred.graph.node(cost.node);
    const auto rows = weight_rows(inferred.graph, node);
    if (!rows) continue;
    SparseLayer layer{.name = cost.name,
                      .weights = static_cast<std::int64_t>(rows->magnitudes.size()),
                      .macs = cost.macs};
    layer.zeros = std::ranges::count(rows->magnitudes, 0.0);
    count_unstructured(layer, rows->magnitudes, level);
    count_2_4(layer, *rows);
    add_to_totals(result.totals, layer,
                  bits(inferred.graph.initializer(node.inputs[1])->type()) / 8);
    result.layers.push_back(std::move(layer));
  }
  result.note =
      "counted, not run: no engine here skips single zeros, so neither form would be faster";
  return result;
}

}  // namespace assay
