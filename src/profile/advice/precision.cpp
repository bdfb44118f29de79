// Dense layers bound by fp32 arithmetic.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

bool is_dense(const StepFacts& step) {
  return step.is_bound_by(Bound::Compute) && step.layer->cost.macs > 0 && !is_depthwise(step) &&
         !step.is_reorder() && !step.fell_back();
}

// int8 is multiplied directly, or by Winograd's algorithm in 16-bit integers where the processor
// has products of those: its transforms need more than 8 bits. So int8 may save nothing in a layer
// where Winograd already saves most multiplications.
double as_int8_ms(const RunFacts& facts, const StepFacts& step, double peak_ratio) {
  const double direct_flops = 2 * static_cast<double>(step.layer->cost.effective_macs);
  const auto int16_peak = peak_gflops(facts.roofline(), "int16");
  return facts.time_with(step, [&](StepWork work) {
    double flops = std::max(work.flops, direct_flops) / peak_ratio;
    if (int16_peak)
      flops = std::min(flops, work.flops * facts.roofline().peak_gflops / *int16_peak);
    work.flops = flops;
    for (double StepWork::*bytes : {&StepWork::weight_bytes, &StepWork::read_bytes,
                                    &StepWork::written_bytes, &StepWork::run_bytes}) {
      work.*bytes /= 4;
    }
    return work;
  });
}

// Where the peak comes from tile instructions, which not every implementation has.
std::string by_tiles(const Roofline& roofline) {
  const auto found = roofline.instruction_sets.find("int8");
  const bool are_tiles = found != roofline.instruction_sets.end() && found->second == "AMX";
  return are_tiles ? " with AMX" : "";
}

}  // namespace

std::optional<Advice> lower_precision(const RunFacts& facts) {
  const auto int8_peak = facts.roofline().int8_peak_gflops;
  if (facts.roofline().precision != "fp32" || !int8_peak) return {};
  const double ratio = *int8_peak / facts.roofline().peak_gflops;
  const auto would_be_faster = [&](const StepFacts& step) {
    return is_dense(step) && as_int8_ms(facts, step, ratio) < step.time_ms();
  };
  const StepGroup group = facts.where(would_be_faster);
  if (group.empty()) return {};
  const std::size_t others = facts.where(is_dense).size() - group.size();
  double left_ms = 0;
  for (const StepFacts& step : group) left_ms += as_int8_ms(facts, step, ratio);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format(
      "{} of fp32 arithmetic at {:.0f} % of the measured {} GFLOP/s; int8 was measured at {}{}, "
      "{:.1f} times as much",
      facts.time_text(total_ms(group)), percent_of_ceiling(group),
      rate_text(facts.roofline().peak_gflops), rate_text(*int8_peak), by_tiles(facts.roofline()),
      ratio);
  advice.action = fmt::format(
      "quantise weights and activations to int8: {} would be left{}", duration_text(left_ms),
      others == 0 ? ""
                  : fmt::format("; {} other {} would be no faster, Winograd saves as much there",
                                others, others == 1 ? "layer" : "layers"));
  advice.saving_ms = total_ms(group) - left_ms;
  return advice;
}

}  // namespace assay::profile
