// SoftmaxCrossEntropyLoss of rows of scores, averaged over them, and its gradient.
#include <cmath>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/onednn/steps.h"
#include "execute/simd/simd.h"

namespace assay::onednn {

namespace {

// One row of scores for each label, no weights, nothing ignored, one number in the end.
std::optional<Rows> rows_of(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 2 || node.has_input(2) || node.has_output(1)) return {};
  if (node.find("ignore_index") != nullptr || node.string_or("reduction", "mean") != "mean")
    return {};
  if (!lowering.is_float(node.inputs[0]) || lowering.constant(node.inputs[1])) return {};
  const Dims dims = lowering.dims(node.inputs[0]);
  const bool are_labels = lowering.graph().value(node.inputs[1]).type.element == DataType::Int64;
  if (dims.size() != 2 || checked_product(dims).value_or(0) == 0 || !are_labels) return {};
  return rows_from(dims, 1);
}

std::size_t checked_label(const std::int64_t* labels, std::int64_t row, const Rows& rows) {
  const std::int64_t label = labels[row];
  if (label < 0 || label >= rows.width)
    fail_bad_input("label {} of sample {} is not one of {} classes", label, row, rows.width);
  return static_cast<std::size_t>(label);
}

// Scores are large and small: their exponentials are taken relative to the greatest.
struct RowSum {
  float greatest = 0;
  float logarithm = 0;  // of the sum of the exponentials
};

RowSum row_sum(const float* scores, std::int64_t classes) {
  RowSum row{.greatest = simd().reduce(ReduceOp::Max, scores, static_cast<std::size_t>(classes))};
  double sum = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    sum += std::exp(static_cast<double>(scores[i] - row.greatest));
  row.logarithm = static_cast<float>(std::log(sum));
  return row;
}

struct Batch {
  Rows rows;
  const float* scores;
  const std::int64_t* labels;
};

void average_loss(const Batch& batch, float* to) {
  double sum = 0;
  for (std::int64_t i = 0; i < batch.rows.count; ++i) {
    const float* row = batch.scores + i * batch.rows.width;
    const RowSum whole = row_sum(row, batch.rows.width);
    const float own = row[checked_label(batch.labels, i, batch.rows)];
    sum += static_cast<double>(whole.logarithm + whole.greatest - own);
  }
  *to = static_cast<float>(sum / static_cast<double>(batch.rows.count));
}

void score_gradients(const Batch& batch, float given, float* to) {
  const auto width = static_cast<std::size_t>(batch.rows.width);
  const float share = given / static_cast<float>(batch.rows.count);
  for (std::int64_t i = 0; i < batch.rows.count; ++i) {
    float* row = to + i * batch.rows.width;
    simd().softmax(batch.scores + i * batch.rows.width, row, width);
    simd().binary_number(BinaryOp::Mul, row, share, row, width);
    row[checked_label(batch.labels, i, batch.rows)] -= share;
  }
}

bool lower_loss(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto rows = rows_of(lowering, node);
  const bool is_gradient = node.inputs.size() == 4;
  if (!rows) return false;
  const Place scores = lowering.row_major(node.inputs[0]);
  const Place labels = lowering.row_major(node.inputs[1]);
  const Place given = is_gradient ? lowering.row_major(node.inputs[3]) : scores;
  const Place result = lowering.new_row_major(node.outputs[0]);
  lowering.add_step({.nodes = {id},
                     .algorithm = "row by row",
                     .executed_flops = saturating_multiply(scores.elements(), is_gradient ? 6 : 4),
                     .reads = {scores, labels, given},
                     .writes = {result}},
                    [=, rows = *rows](const Addresses& at) -> Runner {
                      const Batch batch{rows, at.floats(scores),
                                        reinterpret_cast<const std::int64_t*>(at.bytes(labels))};
                      const float* whole = at.floats(given);
                      float* to = at.floats(result);
                      if (is_gradient) return [=] { score_gradients(batch, *whole, to); };
                      return [=] { average_loss(batch, to); };
                    });
  lowering.set_place(node.outputs[0], result);
  return true;
}

}  // namespace

void add_loss_lowering(LowerTable& table) {
  table["SoftmaxCrossEntropyLoss"] = lower_loss;
  table["assay.SoftmaxCrossEntropyGradient"] = lower_loss;
}

}  // namespace assay::onednn
