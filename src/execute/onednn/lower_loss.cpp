// SoftmaxCrossEntropyLoss of rows of scores, averaged over them, and its gradient.
#include <cmath>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/onednn/steps.h"
#include "execute/simd/simd.h"

namespace assay::onednn {

namespace {

struct Rows {
  std::int64_t count = 0;
  std::int64_t classes = 0;
};

// One row of scores for each label, no weights, nothing ignored, one number in the end.
std::optional<Rows> rows_of(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 2 || node.has_input(2) || node.has_output(1)) return {};
  if (node.find("ignore_index") != nullptr || node.string_or("reduction", "mean") != "mean")
    return {};
  if (!lowering.is_float(node.inputs[0]) || lowering.constant(node.inputs[1])) return {};
  const Dims dims = lowering.dims(node.inputs[0]);
  const bool are_labels = lowering.graph().value(node.inputs[1]).type.element == DataType::Int64;
  if (dims.size() != 2 || checked_product(dims).value_or(0) == 0 || !are_labels) return {};
  return Rows{dims[0], dims[1]};
}

std::size_t checked_label(const std::int64_t* labels, std::int64_t row, const Rows& rows) {
  const std::int64_t label = labels[row];
  if (label < 0 || label >= rows.classes)
    fail_bad_input("label {} of sample {} is not one of {} classes", label, row, rows.classes);
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

bool lower_loss(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto rows = rows_of(lowering, node);
  if (!rows) return false;
  const Place scores = lowering.row_major(node.inputs[0]);
  const Place labels = lowering.row_major(node.inputs[1]);
  const Place result = lowering.new_row_major(node.outputs[0]);
  lowering.add_step({.nodes = {id},
                     .algorithm = "row by row",
                     .executed_flops = saturating_multiply(scores.elements(), 4),
                     .reads = {scores, labels},
                     .writes = {result}},
                    [=](const Addresses& at) -> Runner {
                      const float* from = at.floats(scores);
                      const auto* classes = reinterpret_cast<std::int64_t*>(at.bytes(labels));
                      float* to = at.floats(result);
                      return [=] {
                        double sum = 0;
                        for (std::int64_t i = 0; i < rows->count; ++i) {
                          const float* row = from + i * rows->classes;
                          const RowSum whole = row_sum(row, rows->classes);
                          const float own = row[checked_label(classes, i, *rows)];
                          sum += static_cast<double>(whole.logarithm + whole.greatest - own);
                        }
                        *to = static_cast<float>(sum / static_cast<double>(rows->count));
                      };
                    });
  lowering.set_place(node.outputs[0], result);
  return true;
}

bool lower_loss_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto rows = rows_of(lowering, node);
  if (!rows || node.inputs.size() != 4) return false;
  const Place scores = lowering.row_major(node.inputs[0]);
  const Place labels = lowering.row_major(node.inputs[1]);
  const Place given = lowering.row_major(node.inputs[3]);
  const Place result = lowering.new_row_major(node.outputs[0]);
  lowering.add_step({.nodes = {id},
                     .algorithm = "row by row",
                     .executed_flops = saturating_multiply(scores.elements(), 6),
                     .reads = {scores, labels, given},
                     .writes = {result}},
                    [=](const Addresses& at) -> Runner {
                      const float* from = at.floats(scores);
                      const auto* classes = reinterpret_cast<std::int64_t*>(at.bytes(labels));
                      const float* whole = at.floats(given);
                      float* to = at.floats(result);
                      const auto width = static_cast<std::size_t>(rows->classes);
                      return [=] {
                        const float share = *whole / static_cast<float>(rows->count);
                        for (std::int64_t i = 0; i < rows->count; ++i) {
                          float* row = to + i * rows->classes;
                          simd().softmax(from + i * rows->classes, row, width);
                          simd().binary_number(BinaryOp::Mul, row, share, row, width);
                          row[checked_label(classes, i, *rows)] -= share;
                        }
                      };
                    });
  lowering.set_place(node.outputs[0], result);
  return true;
}

}  // namespace

void add_loss_lowering(LowerTable& table) {
  table["SoftmaxCrossEntropyLoss"] = lower_loss;
  table["assay.SoftmaxCrossEntropyGradient"] = lower_loss_gradient;
}

}  // namespace assay::onednn
