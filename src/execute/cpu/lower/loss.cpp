// SoftmaxCrossEntropyLoss of rows of scores, averaged over them, and its gradient.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Whether there is a label for each row of scores, no weights, nothing ignored, and one number in
// the end.
bool is_plain_loss(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 2 || node.has_input(2) || node.has_output(1)) return false;
  if (node.find("ignore_index") != nullptr || node.string_or("reduction", "mean") != "mean")
    return false;
  if (!lowering.is_float(node.inputs[0]) || lowering.constant(node.inputs[1])) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const bool are_labels = lowering.graph().value(node.inputs[1]).type.element == DataType::Int64;
  return dims.size() >= 2 && checked_product(dims).value_or(0) > 0 && are_labels;
}

// Axes in another order: axis `from` moves to `to`.
Placement with_axis_moved(Placement placement, std::size_t from, std::size_t to) {
  for (Dims* numbers : {&placement.dims, &placement.strides}) {
    const std::int64_t moved = (*numbers)[from];
    numbers->erase(numbers->begin() + static_cast<std::ptrdiff_t>(from));
    numbers->insert(numbers->begin() + static_cast<std::ptrdiff_t>(to), moved);
  }
  return placement;
}

// Scores with the classes last, side by side: as they lie where a Transpose only looked at them
// that way, else as a copy that the step makes first.
struct ScoreRows {
  Placement given;
  Placement rows;
  std::int64_t count = 0;
  std::int64_t classes = 0;

  bool are_copied() const { return rows.buffer != given.buffer; }
};

ScoreRows score_rows(Lowering& lowering, const Node& node) {
  const Placement scores = lowering.strided(node.inputs[0]);
  ScoreRows result;
  result.given = with_axis_moved(scores, 1, scores.dims.size() - 1);
  result.rows = result.given;
  result.classes = scores.dims[1];
  result.count = scores.elements() / result.classes;
  if (!result.given.is_row_major()) {
    result.rows =
        row_major_placement(lowering.new_buffer(scores.bytes()), scores.type, result.given.dims);
  }
  return result;
}

Binder copy_if_needed(const Lowering& lowering, const ScoreRows& scores) {
  if (scores.are_copied()) return copy_binder(lowering, scores.given, scores.rows);
  return [](const Addresses&) -> Runner { return [] {}; };
}

// Before threads start: they may not fail.
void check_labels(const std::int64_t* labels, const ScoreRows& scores) {
  for (std::int64_t i = 0; i < scores.count; ++i) {
    if (labels[i] < 0 || labels[i] >= scores.classes)
      fail_bad_input("label {} of sample {} is not one of {} classes", labels[i], i,
                     scores.classes);
  }
}

// The logarithm of the sum of all exponentials, which are taken relative to the greatest: scores
// are large and small.
float log_sum_of_exponentials(const float* scores, std::int64_t classes) {
  constexpr std::size_t kPiece = 1024;
  float piece[kPiece];
  const auto count = static_cast<std::size_t>(classes);
  const float greatest = simd().reduce(ReduceOp::Max, scores, count);
  double sum = 0;
  for (std::size_t first = 0; first < count; first += kPiece) {
    const std::size_t some = std::min(kPiece, count - first);
    simd().binary_number(BinaryOp::Sub, scores + first, greatest, piece, some);
    simd().unary(UnaryOp::Exp, 0, 0, piece, piece, some);
    sum += static_cast<double>(simd().reduce(ReduceOp::Sum, piece, some));
  }
  return static_cast<float>(std::log(sum)) + greatest;
}

float mean_of(const float* numbers, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(numbers[i]);
  return static_cast<float>(sum / static_cast<double>(count));
}

std::vector<BufferId> workspace_of(const ScoreRows& scores) {
  return scores.are_copied() ? std::vector<BufferId>{scores.rows.buffer} : std::vector<BufferId>{};
}

bool lower_loss(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_plain_loss(lowering, node)) return false;
  const ScoreRows scores = score_rows(lowering, node);
  const Placement labels = lowering.row_major(node.inputs[1]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  Placement losses = row_major_placement({}, DataType::Float32, {scores.count});
  losses.buffer = lowering.new_buffer(losses.bytes());
  const int threads = threads_for(lowering, {scores.count, scores.classes});
  const Binder copy = copy_if_needed(lowering, scores);
  StepDraft draft{.nodes = {id},
                  .algorithm = "row by row",
                  .executed_flops = saturating_multiply(scores.given.elements(), 4),
                  .reads = {scores.given, labels},
                  .writes = {result},
                  .workspace = workspace_of(scores)};
  draft.workspace.push_back(losses.buffer);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const float* from = at.floats(scores.rows);
    const auto* classes = reinterpret_cast<std::int64_t*>(at.bytes(labels));
    float* own_losses = at.floats(losses);
    float* to = at.floats(result);
    return [=, copy_scores = copy(at)] {
      check_labels(classes, scores);
      copy_scores();
      execute::in_parallel(threads, scores.count, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          const float* row = from + i * scores.classes;
          own_losses[i] = log_sum_of_exponentials(row, scores.classes) - row[classes[i]];
        }
      });
      *to = mean_of(own_losses, scores.count);
    };
  });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_loss_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_plain_loss(lowering, node) || node.inputs.size() != 4) return false;
  const ScoreRows scores = score_rows(lowering, node);
  const Placement labels = lowering.row_major(node.inputs[1]);
  const Placement given = lowering.row_major(node.inputs[3]);
  Placement result = row_major_placement({}, DataType::Float32, scores.given.dims);
  result.buffer = lowering.new_buffer(result.bytes());
  const int threads = threads_for(lowering, {scores.count, scores.classes});
  const Binder copy = copy_if_needed(lowering, scores);
  lowering.add_step({.nodes = {id},
                     .algorithm = "row by row",
                     .executed_flops = saturating_multiply(result.elements(), 6),
                     .reads = {scores.given, labels, given},
                     .writes = {result},
                     .workspace = workspace_of(scores)},
                    [=](const Addresses& at) -> Runner {
                      const float* from = at.floats(scores.rows);
                      const auto* classes = reinterpret_cast<std::int64_t*>(at.bytes(labels));
                      const float* whole = at.floats(given);
                      float* to = at.floats(result);
                      const auto width = static_cast<std::size_t>(scores.classes);
                      return [=, copy_scores = copy(at)] {
                        check_labels(classes, scores);
                        copy_scores();
                        const float share = *whole / static_cast<float>(scores.count);
                        execute::in_parallel(
                            threads, scores.count, [&](std::int64_t first, std::int64_t last) {
                              for (std::int64_t i = first; i < last; ++i) {
                                float* row = to + i * scores.classes;
                                simd().softmax(from + i * scores.classes, row, width);
                                simd().binary_number(BinaryOp::Mul, row, share, row, width);
                                row[classes[i]] -= share;
                              }
                            });
                      };
                    });
  lowering.set_placement(node.outputs[0], with_axis_moved(result, result.dims.size() - 1, 1));
  return true;
}

}  // namespace

void add_loss_lowering(LowerTable& table) {
  table["SoftmaxCrossEntropyLoss"] = lower_loss;
  table["assay.SoftmaxCrossEntropyGradient"] = lower_loss_gradient;
}

}  // namespace assay::cpu
