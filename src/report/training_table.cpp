#include <fmt/core.h>

#include <algorithm>

#include "assay/training_profile_report.h"
#include "base/text.h"
#include "report/display_names.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/profile_lines.h"
#include "report/profile_rows.h"
#include "report/text_table.h"
#include "report/training_rows.h"

namespace assay {

using namespace assay::report;

namespace {

// --- the lines above the table

std::string step_setting(const TrainingProfile& profile) {
  return fmt::format("{}, {}, {}", setting_text(profile.step), name(profile.loss),
                     name(profile.optimizer.kind));
}

std::string phase_text(const PhaseTotals& phase) {
  const double seconds = std::max(1e-12, phase.time_ms / 1000);
  std::string text = fmt::format("{}   {} at {} GFLOP/s", duration_text(phase.time_ms),
                                 with_si_unit(static_cast<double>(phase.flops), "FLOPs"),
                                 rate_text(static_cast<double>(phase.flops) / seconds / 1e9));
  if (phase.executed_flops > 0 && phase.executed_flops != phase.flops) {
    text += fmt::format("; executed {}",
                        with_si_unit(static_cast<double>(phase.executed_flops), "FLOPs"));
  }
  return text;
}

std::string loss_text(const TrainingProfile& profile) {
  return fmt::format("of which the loss: {}",
                     with_si_unit(static_cast<double>(profile.loss_flops), "FLOPs"));
}

std::string ratio_text(const TrainingProfile& profile) {
  const BackwardPass pass = backward_pass_of(profile);
  return fmt::format(
      "backward takes {:.2f} times as long as forward, for {:.2f} times the work; the rule of "
      "thumb says 2",
      pass.latency_ratio, pass.flops_ratio);
}

std::string memory_text(const TrainingMemory& memory) {
  std::string text = fmt::format("{} allocated; with each tensor stored once, a step needs {}",
                                 binary_text(memory.arena_bytes + memory.constant_bytes),
                                 binary_text(memory.planned.step_bytes));
  if (memory.peak_rss_growth_bytes) {
    text += fmt::format("; the process grew by {}", binary_text(*memory.peak_rss_growth_bytes));
  }
  return text;
}

std::string needs_text(const PlannedTraining& planned) {
  return fmt::format("{} parameters + {} kept activations + {} gradients + {} optimizer state",
                     binary_text(planned.parameter_bytes),
                     binary_text(planned.kept_activation_bytes),
                     binary_text(planned.gradient_bytes), binary_text(planned.optimizer_bytes));
}

std::string peak_text(const TrainingProfile& profile) {
  const TrainingMemory& memory = profile.memory;
  if (memory.by_step.empty()) return "";
  std::vector<std::string> parts;
  for (const MemoryUse use : kMemoryUses) {
    const std::int64_t bytes = memory.by_step[memory.peak_step][static_cast<std::size_t>(use)];
    if (bytes > 0) parts.push_back(fmt::format("{} {}", words_of(use), binary_text(bytes)));
  }
  return fmt::format("at its peak, in '{}': {}",
                     without_control_characters(profile.step.steps[memory.peak_step].info.name),
                     join(parts, ", "));
}

// How full the arena is, from the beginning of the step to its end.
std::string memory_curve(const TrainingMemory& memory) {
  constexpr std::size_t kColumns = 52;  // with label and legend a line of the table
  constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t steps = memory.by_step.size();
  if (steps < 2) return "";
  std::vector<std::int64_t> columns(std::min(kColumns, steps), 0);
  std::int64_t most = 1;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::int64_t sum = total(memory.by_step[i]);
    auto& column = columns[i * columns.size() / steps];
    column = std::max(column, sum);
    most = std::max(most, sum);
  }
  std::string curve;
  for (const std::int64_t bytes : columns) curve += kLevels[(bytes * 8 + most - 1) / most];
  return curve + "  step by step";
}

std::string optimizer_text(const TrainingProfile& profile) {
  std::vector<std::string> parts;
  for (const OptimizerKind kind :
       {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam, OptimizerKind::AdamW}) {
    const auto states = static_cast<std::int64_t>(states_of(kind));
    parts.push_back(fmt::format("{} {}", name(kind),
                                binary_text(states * profile.memory.planned.parameter_bytes)));
  }
  return join(parts, ", ") + " of state";
}

std::string batches_text(const std::vector<PlannedTraining>& batches) {
  std::vector<std::string> parts;
  for (const PlannedTraining& one : batches) {
    parts.push_back(fmt::format("{}: {}", one.batch, binary_text(one.step_bytes)));
  }
  return parts.empty() ? "" : "a step needs, by batch: " + join(parts, ", ");
}

std::string largest_text(const TrainingReportOptions& options) {
  if (!options.budget_bytes) return "";
  if (!options.largest) {
    return fmt::format("not even one sample fits {}", binary_text(*options.budget_bytes));
  }
  return fmt::format("the largest batch that fits {} is {}, which needs {}",
                     binary_text(*options.budget_bytes), options.largest->batch,
                     binary_text(options.largest->step_bytes));
}

std::string summary(const TrainingProfile& profile, const TrainingReportOptions& options) {
  std::string text = labelled("setting", step_setting(profile)) +
                     labelled("step", latency_text(profile.step.latency)) +
                     labelled("", spread_text(profile.step.latency.latency)) +
                     labelled("verdict", verdict_text(profile.step.latency)) +
                     labelled("throughput", throughput_text(profile.step));
  for (const PhaseTotals& phase : profile.phases) {
    text += labelled(name(phase.phase), phase_text(phase));
    if (phase.phase == Phase::Forward) text += labelled("", loss_text(profile));
  }
  return text + labelled("ratio", ratio_text(profile)) +
         labelled("bottleneck", ceiling_text(profile.step)) +
         labelled("parameters", with_thousands(profile.parameters)) +
         labelled("memory", memory_text(profile.memory)) +
         labelled("", needs_text(profile.memory.planned)) + labelled("", peak_text(profile)) +
         labelled("", memory_curve(profile.memory)) +
         labelled("optimizers", optimizer_text(profile)) +
         labelled("batches", batches_text(options.batches)) + labelled("", largest_text(options)) +
         labelled("copies", copies_text(profile.step)) +
         labelled("GPU", gpu_state_text(profile.step)) +
         labelled("start-up", start_up_text(profile.step.start_up));
}

// --- the table

std::string time_text(const LayerPhase& phase, int decimals) {
  return phase.time_ms ? fmt::format("{:.{}f}", *phase.time_ms, decimals) : "-";
}

DisplayNames trained_names(const TrainingProfile& profile) {
  std::vector<std::string> names;
  for (const TrainingLayer& layer : profile.layers) names.push_back(layer.name);
  return DisplayNames(names);
}

void add_row(TextTable& table, const TrainingLayer& layer, const DisplayNames& names,
             int decimals) {
  constexpr std::size_t kWidestOp = 18;
  table.add_row({without_control_characters(names.of(layer.name)),
                 cut_off(without_control_characters(layer.op), kWidestOp),
                 time_text(layer.forward, decimals), time_text(layer.backward, decimals),
                 time_text(layer.update, decimals), percent_text(layer.share)});
}

std::string rows_table(const TrainingProfile& profile, const TrainingReportOptions& options) {
  TextTable table({{.title = "layer", .shrinks = true, .narrowest = 15},
                   {.title = "op", .shrinks = true, .narrowest = 8},
                   {.title = "forward ms", .is_number = true},
                   {.title = "backward ms", .is_number = true},
                   {.title = "update ms", .is_number = true},
                   {.title = "share", .is_number = true}});
  TrainingLayer hidden;
  const DisplayNames names = trained_names(profile);
  const int decimals = decimals_for(profile.step.run_ms());
  for (const TrainingLayer& layer :
       training_rows(profile, options.top.value_or(kRowsShown), &hidden)) {
    add_row(table, layer, names, decimals);
  }
  if (!hidden.name.empty()) add_row(table, hidden, names, decimals);
  const double run_ms = std::max(1e-12, profile.step.run_ms());
  table.add_row({between_steps_name(profile.step), "",
                 fmt::format("{:.{}f}", profile.step.between_steps_ms, decimals), "", "",
                 percent_text(profile.step.between_steps_ms / run_ms)});
  table.add_rule();
  const auto back =
      profile.totals(Phase::Backward).time_ms + profile.totals(Phase::Recompute).time_ms;
  table.add_row(
      {"median step", "", fmt::format("{:.{}f}", profile.totals(Phase::Forward).time_ms, decimals),
       fmt::format("{:.{}f}", back, decimals),
       fmt::format("{:.{}f}", profile.totals(Phase::Update).time_ms, decimals), percent_text(1.0)});
  return table.render(options.layout);
}

}  // namespace

std::string training_table(const TrainingProfile& profile, const TrainingReportOptions& options) {
  return headline(profile.step.model) + "\n" + summary(profile, options) + "\n" +
         rows_table(profile, options) + "\n" + fell_back_text(profile.step) +
         wrapped(
             "Times are those of the steps next to the median and sum to it; a fused step's time "
             "is listed under "
             "its first layer. Kept activations are those that the backward pass reads.");
}

}  // namespace assay
