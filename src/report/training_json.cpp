#include "assay/training_profile_report.h"
#include "report/csv.h"
#include "report/profile_json_parts.h"
#include "report/training_rows.h"

namespace assay {

using namespace assay::report;

namespace {

// The keys of `profile_backward_pass`.
void put_backward_pass(const BackwardPass& pass, JsonWriter& json) {
  json.field("forward_flops", pass.forward_flops);
  json.field("loss_flops", pass.loss_flops);
  json.field("forward_latency_ms", pass.forward_latency_ms);
  json.field("forward_memory_mb", pass.forward_memory_mb);
  json.field("backward_flops", pass.backward_flops);
  json.field("backward_flops_rule", pass.backward_flops_rule);
  json.field("backward_latency_ms", pass.backward_latency_ms);
  json.field("gradient_memory_mb", pass.gradient_memory_mb);
  json.field("total_flops", pass.total_flops);
  json.field("total_latency_ms", pass.total_latency_ms);
  json.field("total_memory_mb", pass.total_memory_mb);
  json.field("total_gflops_per_second", pass.total_gflops_per_second);
  json.field("optimizer_memory_estimates", pass.optimizer_memory_estimates);
  json.field("memory_efficiency", pass.memory_efficiency);
  json.field("bottleneck", optional_json(pass.bottleneck));
  json.field("update_latency_ms", pass.update_latency_ms);
  json.field("backward_to_forward_flops", pass.flops_ratio);
  json.field("backward_to_forward_latency", pass.latency_ratio);
  json.field("rule_of_thumb", 2);
}

Json settings_json(const TrainingProfile& profile) {
  Json json = options_json(profile.step);
  json["loss"] = name(profile.loss);
  json["optimizer"] = name(profile.optimizer.kind);
  return json;
}

Json phase_json(const PhaseTotals& phase) {
  return {{"phase", name(phase.phase)}, {"macs", phase.macs},
          {"flops", phase.flops},       {"executed_flops", phase.executed_flops},
          {"time_ms", phase.time_ms},   {"share", phase.share}};
}

Json part_json(const LayerPhase& part) {
  return {{"flops", part.flops}, {"time_ms", optional_json(part.time_ms)}};
}

Json layer_json(const TrainingLayer& layer) {
  return {{"name", layer.name},
          {"op", layer.op},
          {"parameters", layer.parameters},
          {"forward", part_json(layer.forward)},
          {"backward", part_json(layer.backward)},
          {"update", part_json(layer.update)},
          {"share", layer.share}};
}

Json uses_json(const BytesByUse& bytes) {
  Json json = Json::object();
  for (const MemoryUse use : kMemoryUses) {
    json[std::string(name(use))] = bytes[static_cast<std::size_t>(use)];
  }
  return json;
}

Json planned_json(const PlannedTraining& planned) {
  return {{"batch", planned.batch},
          {"optimizer", name(planned.optimizer)},
          {"parameter_bytes", planned.parameter_bytes},
          {"kept_activation_bytes", planned.kept_activation_bytes},
          {"gradient_bytes", planned.gradient_bytes},
          {"optimizer_bytes", planned.optimizer_bytes},
          {"step_bytes", planned.step_bytes}};
}

Json memory_json(const TrainingMemory& memory) {
  Json json = {{"planned", planned_json(memory.planned)},
               {"arena_bytes", memory.arena_bytes},
               {"constant_bytes", memory.constant_bytes},
               {"allocated_bytes", memory.arena_bytes + memory.constant_bytes},
               {"peak_step", memory.peak_step},
               {"peak_rss_growth_bytes", optional_json(memory.peak_rss_growth_bytes)}};
  json["by_step"] = Json::array();
  for (const BytesByUse& bytes : memory.by_step) json["by_step"].push_back(uses_json(bytes));
  return json;
}

void put_steps(const TrainingProfile& profile, JsonWriter& json) {
  json.begin_list("steps");
  for (std::size_t i = 0; i < profile.step.steps.size(); ++i) {
    Json step = step_json(profile.step.steps[i]);
    step["phase"] = name(profile.step_phases[i]);
    json.item(step);
  }
  json.end_list();
}

void put_batches(const TrainingReportOptions& options, JsonWriter& json) {
  json.begin_list("batches");
  for (const PlannedTraining& one : options.batches) json.item(planned_json(one));
  json.end_list();
  if (!options.budget_bytes) return;
  json.field("budget_bytes", *options.budget_bytes);
  json.field("largest_batch", options.largest ? planned_json(*options.largest) : Json(nullptr));
}

}  // namespace

std::string training_json(const TrainingProfile& profile, const TrainingReportOptions& options) {
  JsonWriter json;
  json.field("schema", "assay.profile-train/2");
  json.field("provenance", "measured");
  json.field("interrupted", profile.step.was_interrupted());
  json.field("model", model_json(profile.step.model));
  json.field("options", settings_json(profile));
  json.field("start_up", start_up_json(profile.step.start_up));
  json.field("parameters", profile.parameters);
  put_backward_pass(backward_pass_of(profile), json);
  json.field("throughput_sps", profile.step.throughput_sps);
  json.field("latency", latency_json(profile.step.latency));
  json.begin_list("phases");
  for (const PhaseTotals& phase : profile.phases) json.item(phase_json(phase));
  json.end_list();
  json.field("memory", memory_json(profile.memory));
  put_batches(options, json);
  json.field("machine", machine_json(profile.step.roofline));
  json.begin_list("layers");
  for (const TrainingLayer& layer : profile.layers) json.item(layer_json(layer));
  json.end_list();
  put_steps(profile, json);
  json.field("typical_run_ms", profile.step.run_ms());
  json.field("between_steps_ms", profile.step.between_steps_ms);
  put_gpu(profile.step, json);
  json.field("fell_back", fell_back_json(profile.step.steps));
  json.field("warnings", profile.step.warnings);
  return json.finish();
}

std::string training_csv(const TrainingProfile& profile, const TrainingReportOptions& options) {
  const std::vector<std::string> header = {
      "name",         "op",         "parameters",  "forward_flops", "backward_flops",
      "update_flops", "forward_ms", "backward_ms", "update_ms",     "share"};
  std::string text = csv_line(header);
  for (const TrainingLayer& layer : training_rows(profile, options.top.value_or(0))) {
    const std::vector<std::string> cells = {layer.name,
                                            layer.op,
                                            std::to_string(layer.parameters),
                                            std::to_string(layer.forward.flops),
                                            std::to_string(layer.backward.flops),
                                            std::to_string(layer.update.flops),
                                            csv_number(layer.forward.time_ms),
                                            csv_number(layer.backward.time_ms),
                                            csv_number(layer.update.time_ms),
                                            csv_number(layer.share)};
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
