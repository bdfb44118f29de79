// Dense layers bound by fp32 arithmetic.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

constexpr double kFloatBytes = 4;

// A precision that was measured, and the bytes of its numbers.
struct LowerPrecision {
  const char* name = "";
  double bytes = 0;
  double peak_gflops = 0;
};

// Weights of one byte or less, scales included.
bool has_quantised_weights(const LayerCost& cost) {
  constexpr double kMostBytes = 1.5;
  return cost.parameters > 0 && static_cast<double>(cost.parameter_bytes) <
                                    kMostBytes * static_cast<double>(cost.parameters);
}

// What other precisions would make faster: arithmetic in fp32, of layers with weights of 16 bits or
// more.
bool is_dense(const StepFacts& step) {
  if (has_quantised_weights(step.layer->cost)) return false;
  return step.is_bound_by(Bound::Compute) && step.layer->cost.macs > 0 && !is_depthwise(step) &&
         !step.is_reorder() && !step.fell_back() && step.step->info.precision == "fp32";
}

// Other precisions multiply directly, int8 also by Winograd's algorithm in 16-bit integers where
// the processor has products of those: its transforms need more than 8 bits. So they may save
// nothing in a layer where Winograd already saves most multiplications.
double time_in_ms(const RunFacts& facts, const StepFacts& step, const LowerPrecision& lower) {
  const double direct_flops = 2 * static_cast<double>(step.layer->cost.effective_macs);
  const auto own_peak = peak_gflops(facts.roofline(), "fp32", step.step->info.isa);
  const auto int16_peak = peak_gflops(facts.roofline(), "int16");
  const double peak_ratio = lower.peak_gflops / own_peak.value_or(facts.roofline().peak_gflops);
  return facts.time_with(step, [&](StepWork work) {
    double flops = std::max(work.flops, direct_flops) / peak_ratio;
    if (int16_peak)
      flops = std::min(flops, work.flops * facts.roofline().peak_gflops / *int16_peak);
    work.flops = flops;
    for (double StepWork::*bytes : {&StepWork::weight_bytes, &StepWork::read_bytes,
                                    &StepWork::written_bytes, &StepWork::run_bytes}) {
      work.*bytes *= lower.bytes / kFloatBytes;
    }
    return work;
  });
}

double time_in_ms(const RunFacts& facts, const StepGroup& group, const LowerPrecision& lower) {
  double sum_ms = 0;
  for (const StepFacts& step : group) sum_ms += time_in_ms(facts, step, lower);
  return sum_ms;
}

// The steps that the precision would make faster.
StepGroup faster_in(const RunFacts& facts, const LowerPrecision& lower) {
  return facts.where([&](const StepFacts& step) {
    return is_dense(step) && time_in_ms(facts, step, lower) < step.time_ms();
  });
}

// Where the peak comes from tile instructions, which not every implementation has.
std::string by_tiles(const Roofline& roofline, const std::string& precision) {
  const auto found = roofline.instruction_sets.find(precision);
  const bool are_tiles = found != roofline.instruction_sets.end() && found->second == "AMX";
  return are_tiles ? " with AMX" : "";
}

// A float model runs in bf16 without being changed: the figure stands beside int8's.
std::string in_bf16(const RunFacts& facts) {
  const Roofline& roofline = facts.roofline();
  const auto peak = peak_gflops(roofline, "bf16");
  if (!peak || facts.profile().program.precision || facts.profile().imported) return "";
  const LowerPrecision bf16{"bf16", 2, *peak};
  const StepGroup group = faster_in(facts, bf16);
  if (group.empty()) return "";
  return fmt::format(
      "; or run the model in bf16 (`precision`), measured at {}{}: {} would be left of {}",
      rate_text(*peak), by_tiles(roofline, "bf16"), duration_text(time_in_ms(facts, group, bf16)),
      duration_text(total_ms(group)));
}

// A GPU runs a float model in these without its being changed.
constexpr LowerPrecision kOfGpu[] = {{"tf32", 4}, {"bf16", 2}, {"fp16", 2}};

// "tf32 (measured at 360,000 GFLOP/s): 1.2 ms would be left"
std::optional<Advice> lower_precision_on_gpu(const RunFacts& facts) {
  std::vector<std::string> choices;
  Advice advice;
  for (LowerPrecision lower : kOfGpu) {
    lower.peak_gflops = peak_gflops(facts.roofline(), lower.name).value_or(0);
    if (lower.peak_gflops <= 0) continue;
    const StepGroup group = faster_in(facts, lower);
    const double left_ms = time_in_ms(facts, group, lower);
    if (group.empty()) continue;
    choices.push_back(fmt::format("{} ({} GFLOP/s measured): {} would be left", lower.name,
                                  rate_text(lower.peak_gflops), duration_text(left_ms)));
    if (total_ms(group) - left_ms <= advice.saving_ms) continue;
    advice.saving_ms = total_ms(group) - left_ms;
    advice.layers = layer_names(group);
    advice.reason = fmt::format("{} of fp32 arithmetic at {:.0f} % of the measured {} GFLOP/s",
                                facts.time_text(total_ms(group)), percent_of_ceiling(group),
                                rate_text(facts.roofline().peak_gflops));
  }
  if (choices.empty()) return {};
  advice.action = "run the model in a lower `precision`: " + join(choices, "; ");
  return advice;
}

}  // namespace

std::optional<Advice> lower_precision(const RunFacts& facts) {
  const Roofline& roofline = facts.roofline();
  if (roofline.device != "cpu") return lower_precision_on_gpu(facts);
  const auto fp32_peak = peak_gflops(roofline, "fp32");
  if (!fp32_peak || !roofline.int8_peak_gflops) return {};
  const LowerPrecision int8{"int8", 1, *roofline.int8_peak_gflops};
  const StepGroup group = faster_in(facts, int8);
  if (group.empty()) return {};
  const std::size_t others = facts.where(is_dense).size() - group.size();
  const double left_ms = time_in_ms(facts, group, int8);
  Advice advice{.layers = layer_names(group)};
  advice.reason = fmt::format(
      "{} of fp32 arithmetic at {:.0f} % of the measured {} GFLOP/s; int8 was measured at {}{}, "
      "{:.1f} times as much",
      facts.time_text(total_ms(group)), percent_of_ceiling(group), rate_text(*fp32_peak),
      rate_text(int8.peak_gflops), by_tiles(roofline, "int8"), int8.peak_gflops / *fp32_peak);
  advice.action = fmt::format(
      "quantise weights and activations to int8: {} would be left{}{}", duration_text(left_ms),
      others == 0 ? ""
                  : fmt::format("; {} other {} would be no faster, Winograd saves as much there",
                                others, others == 1 ? "layer" : "layers"),
      in_bf16(facts));
  advice.saving_ms = total_ms(group) - left_ms;
  return advice;
}

}  // namespace assay::profile
