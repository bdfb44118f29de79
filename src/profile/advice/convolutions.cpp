// Depthwise convolutions, which do little arithmetic per byte, and 3x3 convolutions that were not
// allowed to use Winograd.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/lanes.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

constexpr double kLowPercent = 40;
constexpr double kReachablePercent = 60;
constexpr double kWorthNaming = 0.03;  // of the run

bool is_slow_depthwise(const StepFacts& step) {
  const auto percent = step.step->rates.percent_of_ceiling;
  return is_depthwise(step) && !step.is_reorder() && !step.fell_back() && percent &&
         *percent < kLowPercent;
}

bool fills_vectors(const StepFacts& step, std::int64_t lanes) {
  const auto& shape = step.layer->cost.output_shape;
  return shape && shape->rank() > 1 && (*shape)[1].value() % lanes == 0;
}

std::string channels_text(const RunFacts& facts, const StepGroup& group) {
  const auto lanes = vector_lanes(facts.roofline().instruction_set);
  if (!lanes) return "";
  const auto fills = [&](const StepFacts& step) { return fills_vectors(step, *lanes); };
  const auto uneven = std::ssize(group) - std::ranges::count_if(group, fills);
  if (uneven == 0) return "";
  return fmt::format("; channels a multiple of {}, unlike {} of {} now", *lanes, uneven,
                     group.size());
}

double at_reachable_ms(const StepGroup& group) {
  return total_ms(group) * percent_of_ceiling(group) / kReachablePercent;
}

// --- Winograd: F(2x2, 3x3) multiplies 16 times for 4 results instead of 36 times, F(4x4, 3x3) 36
// times for 16 instead of 144; the weights grow from 9 to 16 or 36 numbers. Lavin and Gray, 2015.
struct Tile {
  double fewer_multiplications;
  double larger_weights;
};
constexpr Tile kTiles[] = {{36.0 / 16.0, 16.0 / 9.0}, {144.0 / 36.0, 36.0 / 9.0}};

bool could_be_winograd(const StepFacts& step) {
  return step.is_bound_by(Bound::Compute) && step.layer->cost.op == "Conv" &&
         step.layer->cost.form == "3x3" && !step.is_reorder() && !step.fell_back() &&
         step.step->info.algorithm.find("wino") == std::string::npos;
}

double with_tile_ms(const RunFacts& facts, const StepFacts& step, const Tile& tile) {
  return facts.time_with(step, [&](StepWork work) {
    const double more_bytes = work.weight_bytes * (tile.larger_weights - 1);
    work.flops /= tile.fewer_multiplications;
    work.weight_bytes += more_bytes;
    work.run_bytes += more_bytes;
    return work;
  });
}

double with_best_tile_ms(const RunFacts& facts, const StepFacts& step) {
  double best_ms = step.time_ms();
  for (const Tile& tile : kTiles) best_ms = std::min(best_ms, with_tile_ms(facts, step, tile));
  return best_ms;
}

}  // namespace

std::optional<Advice> inefficient_depthwise(const RunFacts& facts) {
  const StepGroup group = facts.where(is_slow_depthwise);
  const double time_ms = total_ms(group);
  if (facts.share(time_ms) <= kWorthNaming) return {};
  const StepWork work = total_work(group);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format(
      "{} at {:.0f} % of their ceilings: {:.1f} FLOPs per byte, {} GFLOP/s and {} "
      "GB/s",
      facts.time_text(time_ms), percent_of_ceiling(group), work.flops / work.bytes(),
      rate_text(work.flops / (time_ms * 1e6)), rate_text(work.bytes() / (time_ms * 1e6)));
  advice.action = fmt::format(
      "fewer and wider layers, larger kernels (5x5 moves the bytes of 3x3), or a dense convolution "
      "in place of depthwise and 1x1{}; at {:.0f} % of the ceiling {} would be left",
      channels_text(facts, group), kReachablePercent, duration_text(at_reachable_ms(group)));
  advice.saving_ms = time_ms - at_reachable_ms(group);
  return advice;
}

std::optional<Advice> winograd_not_allowed(const RunFacts& facts) {
  const bool is_on_processor = facts.roofline().device == "cpu";
  if (!is_on_processor || facts.profile().program.optimize_for != OptimizeFor::Memory) return {};
  const StepGroup group = facts.where(could_be_winograd);
  if (group.empty()) return {};
  double left_ms = 0;
  for (const StepFacts& step : group) left_ms += with_best_tile_ms(facts, step);
  const StepWork work = total_work(group);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format("{} for {} of 3x3 convolutions at {:.0f} % of the peak, run directly",
                              facts.time_text(total_ms(group)), with_si_unit(work.flops, "FLOPs"),
                              percent_of_ceiling(group));
  advice.action = fmt::format(
      "`optimize_for` latency may use Winograd: 2.25 (tiles of 2x2) to 4 times (4x4) fewer "
      "multiplications, at best {} would be left; {} of weights become {} to {}",
      duration_text(left_ms), with_binary_unit(work.weight_bytes),
      with_binary_unit(work.weight_bytes * kTiles[0].larger_weights),
      with_binary_unit(work.weight_bytes * kTiles[1].larger_weights));
  advice.saving_ms = total_ms(group) - left_ms;
  return advice;
}

}  // namespace assay::profile
