// NonMaxSuppression: of boxes that overlap too much, the one with the best score stays.
#include <algorithm>
#include <functional>
#include <optional>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

struct Box {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;

  double area() const { return (bottom - top) * (right - left); }
};

// Corners may come in any order; a centre comes as x, y, width, height.
Box box_from(const double* numbers, bool is_centred) {
  if (is_centred) {
    const double half_width = numbers[2] / 2;
    const double half_height = numbers[3] / 2;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height,
            numbers[0] + half_width};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

double intersection_over_union(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double common = height * width;
  return common / (a.area() + b.area() - common);
}

struct Settings {
  std::int64_t most_boxes = 0;
  double overlap = 0;
  std::optional<double> score;
};

double scalar_or(const KernelCall& call, std::size_t input, double otherwise) {
  if (!call.has(input)) return otherwise;
  if (call.input(input).elements() != 1) call.fail("input {} is not a scalar", input);
  return call.input(input).to_double().front();
}

Settings settings_of(const KernelCall& call) {
  Settings settings;
  const double most = std::clamp(scalar_or(call, 2, 0), 0.0, 1e15);
  settings.most_boxes = static_cast<std::int64_t>(most);
  settings.overlap = scalar_or(call, 3, 0);
  if (call.has(4)) settings.score = scalar_or(call, 4, 0);
  return settings;
}

std::vector<std::int64_t> candidates(std::span<const double> scores, const Settings& settings) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool is_good = settings.score ? scores[i] > *settings.score : scores[i] == scores[i];
    if (is_good) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto score = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
  std::ranges::stable_sort(order, std::greater<>(), score);
  return order;
}

std::vector<std::int64_t> survivors(std::span<const Box> boxes, std::span<const double> scores,
                                    const Settings& settings) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t candidate : candidates(scores, settings)) {
    if (static_cast<std::int64_t>(kept.size()) >= settings.most_boxes) break;
    const Box& box = boxes[static_cast<std::size_t>(candidate)];
    const bool is_suppressed = std::ranges::any_of(kept, [&](std::int64_t other) {
      return intersection_over_union(boxes[static_cast<std::size_t>(other)], box) >
             settings.overlap;
    });
    if (!is_suppressed) kept.push_back(candidate);
  }
  return kept;
}

void check_dims(const KernelCall& call, const Dims& boxes, const Dims& scores) {
  const bool fits = boxes.size() == 3 && scores.size() == 3 && boxes[0] == scores[0] &&
                    boxes[1] == scores[2] && boxes[2] == 4;
  if (!fits) call.fail("boxes {} and scores {} do not fit", join_dims(boxes), join_dims(scores));
}

std::vector<Tensor> non_max_suppression(const KernelCall& call) {
  const Dims& dims = call.input(1).dims();  // batch, class, box
  check_dims(call, call.input(0).dims(), dims);
  const auto numbers = load_real(call, call.input(0));
  const auto scores = load_real(call, call.input(1));
  const bool is_centred = call.node.int_or("center_point_box", 0) != 0;
  std::vector<Box> boxes;
  for (std::size_t i = 0; i + 4 <= numbers.size(); i += 4) {
    boxes.push_back(box_from(&numbers[i], is_centred));
  }
  const Settings settings = settings_of(call);
  const auto count = static_cast<std::size_t>(dims[2]);
  std::vector<std::int64_t> rows;
  for_each_index(std::span(dims).first(count > 0 ? 2 : 3), [&](std::span<const std::int64_t> index,
                                                               std::size_t i) {
    const auto batch = static_cast<std::size_t>(index[0]);
    const auto kept = survivors(std::span(boxes).subspan(batch * count, count),
                                std::span(scores).subspan(i * count, count), settings);
    for (const std::int64_t box : kept) rows.insert(rows.end(), {index[0], index[1], box});
  });
  return {Tensor::of_int64({static_cast<std::int64_t>(rows.size() / 3), 3}, rows)};
}

}  // namespace

void add_non_max_suppression_kernels(KernelTable& table) {
  table["NonMaxSuppression"] = non_max_suppression;
}

}  // namespace assay::kernels
