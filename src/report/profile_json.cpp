#include "assay/profile_report.h"
#include "base/checked.h"
#include "base/megabytes.h"
#include "report/hardware_columns.h"
#include "report/profile_json_parts.h"
#include "report/profile_rows.h"

namespace assay {

using namespace assay::report;

Json report::options_json(const Profile& profile) {
  Json options = {{"engine", profile.program.engine},
                  {"threads", profile.program.cpu.threads},
                  {"pinned", profile.program.cpu.pin_threads},
                  {"optimize_for", name(profile.program.optimize_for)},
                  {"batch", profile.batch},
                  {"seed", profile.seed}};
  if (const std::string precision = asked_precision(profile.program); !precision.empty())
    options["precision"] = precision;
  return options;
}

Json report::start_up_json(const StartUp& start_up) {
  return {{"read_ms", optional_json(start_up.read_ms)},
          {"infer_ms", start_up.infer_ms},
          {"compile_ms", start_up.compile_ms},
          {"first_run_ms", start_up.first_run_ms}};
}

namespace {

Json timing_warnings_json(const std::vector<TimingWarning>& warnings) {
  Json list = Json::array();
  for (const auto& warning : warnings) {
    list.push_back({{"name", warning.name},
                    {"message", warning.message},
                    {"advice", warning.advice},
                    {"makes_noisy", warning.makes_noisy}});
  }
  return list;
}

}  // namespace

Json report::latency_json(const Measurement& measured) {
  const LatencySummary& latency = measured.latency;
  Json json = {{"median_ms", latency.median_ms},
               {"mean_ms", latency.mean_ms},
               {"std_ms", latency.std_ms},
               {"min_ms", latency.min_ms},
               {"max_ms", latency.max_ms},
               {"ci95_low_ms", optional_json(latency.ci95_low_ms)},
               {"ci95_high_ms", optional_json(latency.ci95_high_ms)}};
  if (latency.p90_ms) json["p90_ms"] = *latency.p90_ms;
  if (latency.p95_ms) json["p95_ms"] = *latency.p95_ms;
  if (latency.p99_ms) json["p99_ms"] = *latency.p99_ms;
  json["verdict"] = name(measured.verdict);
  json["unmet"] = measured.unmet.empty() ? Json(nullptr) : Json(measured.unmet);
  json["warmup_runs"] = measured.warmup_runs;
  json["runs_per_sample"] = measured.runs_per_sample;
  json["doubts"] = timing_warnings_json(measured.warnings);
  json["outliers"] = measured.outliers;
  json["samples_ms"] = measured.samples_ms;
  return json;
}

namespace {

Json imported_json(const ImportedFrom& from) {
  const auto averaged = from.averaged_runs ? Json(*from.averaged_runs) : Json(nullptr);
  return {{"runtime", from.runtime},
          {"file", from.file},
          {"has_whole_runs", from.has_runs},
          {"averaged_runs", averaged},
          {"one_time_per_kernel", from.is_average},
          {"threads", optional_json(from.threads)},
          {"kernel_ms", from.kernel_ms()},
          {"by_name_ms", from.by_name_ms},
          {"by_position_ms", from.by_position_ms},
          {"unattributed_ms", from.unattributed_ms},
          {"kernels", from.kernels},
          {"unattributed_kernels", from.unattributed_kernels}};
}

// An engine's memory is measured; another runtime's is what assay plans for the model.
Json memory_json(const Profile& profile) {
  const ProfileMemory& memory = profile.memory;
  Json json = {
      {"parameter_memory_mb", in_mb(memory.program.planned_weight_bytes)},
      {"activation_memory_mb", in_mb(memory.program.planned_arena_bytes)},
      {"peak_memory_mb", in_mb(memory.peak_bytes)},
      {"memory_efficiency", profile.imported ? Json(nullptr) : Json(memory.memory_efficiency)},
      {"weight_bytes", memory.program.weight_bytes},
      {"arena_bytes", memory.program.arena_bytes},
      {"workspace_bytes", memory.program.workspace_bytes},
      {"planned_weight_bytes", memory.program.planned_weight_bytes},
      {"planned_arena_bytes", memory.program.planned_arena_bytes},
      {"peak_bytes", memory.peak_bytes},
      {"useful_bytes", memory.useful_bytes},
      {"peak_rss_growth_bytes", optional_json(memory.peak_rss_growth_bytes)},
      {"buffers", buffers_json(memory.buffers)}};
  if (const auto grown = memory.program.device_growth_bytes) json["device_growth_bytes"] = *grown;
  if (profile.imported) {
    json["provenance"] = "planned";
    json["steps"] = memory.planned_steps;  // which buffers refer to: nodes, not kernels
    json["buffers"] = buffers_json(memory.planned_buffers);
  }
  return json;
}

}  // namespace

Json report::machine_json(const std::optional<Roofline>& roofline) {
  if (!roofline) return nullptr;
  Json levels = Json::array();
  for (const MemoryRoof& roof : roofline->levels) {
    levels.push_back({{"level", roof.level},
                      {"bytes", roof.bytes > 0 ? Json(roof.bytes) : Json(nullptr)},
                      {"read_gbps", roof.read_gbps},
                      {"write_gbps", roof.write_gbps},
                      {"combined_gbps", roof.combined_gbps}});
  }
  return {{"processor", roofline->processor},
          {"threads", roofline->threads},
          {"precision", roofline->precision},
          {"instruction_set", roofline->instruction_set},
          {"peak_gflops", roofline->peak_gflops},
          {"int8_peak_gflops", optional_json(roofline->int8_peak_gflops)},
          {"bandwidth_gbps", roofline->levels.back().read_gbps},
          {"levels", std::move(levels)},
          {"peaks_gflops", roofline->peaks_gflops},
          {"vector_peaks_gflops", roofline->vector_peaks_gflops},
          {"instruction_sets", roofline->instruction_sets},
          {"step_overhead_ms", roofline->step_overhead_ms},
          {"provenance", "measured"}};
}

namespace {

void put_rates(const Rates& rates, Json& json) {
  json["gflops_per_second"] = optional_json(rates.gflops_per_second);
  json["executed_gflops_per_second"] = optional_json(rates.executed_gflops_per_second);
  json["gbytes_per_second"] = optional_json(rates.gbytes_per_second);
  json["bound"] = rates.bound ? Json(name(*rates.bound)) : Json(nullptr);
  json["bound_level"] = rates.bound_level.empty() ? Json(nullptr) : Json(rates.bound_level);
  json["percent_of_ceiling"] = optional_json(rates.percent_of_ceiling);
  json["headroom_ms"] = optional_json(rates.headroom_ms);
}

Json row_json(const ProfileRow& row, const DisplayNames& names) {
  Json json = layer_json(row.cost, names);
  json["time_ms"] = optional_json(row.time_ms);
  json["share"] = row.time_ms ? Json(row.share) : Json(nullptr);
  put_rates(row.rates, json);
  if (!row.detail.empty()) json["detail"] = row.detail;
  json["doubts"] = row.warnings;
  return json;
}

Json counters_json(const CounterValues& counted) {
  Json json;
  for (const CounterEvent event : kCounterEvents) {
    json[std::string(name(event))] = optional_json(counted[event]);
  }
  json["instructions_per_cycle"] = optional_json(counted.instructions_per_cycle());
  json["share_counted"] = counted.share_counted;
  return json;
}

// Null if it was not requested.
Json energy_json(const EnergyEstimate& energy) {
  if (!energy.gross_j_per_run && !energy.proxy_j && energy.note.empty()) return nullptr;
  return {{"gross_j_per_run", optional_json(energy.gross_j_per_run)},
          {"net_j_per_run", optional_json(energy.net_j_per_run)},
          {"energy_proxy_j", optional_json(energy.proxy_j)},
          {"power_watts", optional_json(energy.power_watts)},
          {"energy_note", energy.note}};
}

}  // namespace

namespace {

Json node_numbers(const std::vector<NodeId>& nodes) {
  Json numbers = Json::array();
  for (const NodeId node : nodes) numbers.push_back(node.number);
  return numbers;
}

}  // namespace

Json report::step_json(const ProfileStep& step) {
  Json json = {{"name", step.info.name},
               {"op", step.info.op},
               {"layers", step.layer_names},
               {"nodes", node_numbers(step.info.layers)},
               {"algorithm", step.info.algorithm},
               {"precision", step.info.precision},
               {"storage", step.info.storage.empty() ? Json(nullptr) : Json(step.info.storage)},
               {"isa", step.info.isa.empty() ? Json(nullptr) : Json(step.info.isa)},
               {"device", step.info.device},
               {"executed_flops", step.info.executed_flops},
               {"bytes_read", step.info.bytes_read},
               {"weight_bytes", step.info.weight_bytes},
               {"bytes_written", step.info.bytes_written},
               {"time_ms", step.time_ms},
               {"mean_ms", step.mean_ms},
               {"median_ms", step.median_ms},
               {"share", step.share}};
  put_rates(step.rates, json);
  if (step.counters) json["counters"] = counters_json(*step.counters);
  json["fell_back"] = step.info.fell_back.empty() ? Json(nullptr) : Json(step.info.fell_back);
  return json;
}

Json report::fell_back_json(const std::vector<ProfileStep>& steps) {
  Json list = Json::array();
  for (const ProfileStep& step : steps) {
    if (step.info.fell_back.empty()) continue;
    list.push_back(
        {{"op", step.info.op}, {"name", step.info.name}, {"reason", step.info.fell_back}});
  }
  return list;
}

namespace {

Json advice_json(const std::vector<Advice>& advice) {
  Json list = Json::array();
  for (const Advice& one : advice) {
    list.push_back({{"rule", one.rule},
                    {"layers", one.layers},
                    {"reason", one.reason},
                    {"action", one.action},
                    {"gain_ms", one.saving_ms},
                    {"once", one.once}});
  }
  return list;
}

// The totals of summarize_hardware, so that stored profiles can be compared by them.
void put_estimated_totals(const Profile& profile, JsonWriter& json) {
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
  for (const LayerEstimate& layer : layer_estimates(profile)) {
    bytes = saturating_add(bytes, saturating_add(layer.parameter_bytes, layer.activation_bytes));
    macs = saturating_add(macs, layer.macs);
  }
  json.field("estimated_total_bytes", bytes);
  json.field("estimated_total_macs", macs);
}

// The keys of `profile_forward_pass`.
void put_forward_pass(const Profile& profile, JsonWriter& json) {
  const double seconds = profile.latency.latency.median_ms / 1000.0;
  const auto per_second = [&](double amount) {
    return seconds > 0 ? Json(amount / seconds) : Json(nullptr);
  };
  json.field("parameters", profile.totals.parameters);
  json.field("flops", profile.totals.flops);
  json.field("latency_ms", profile.latency.latency.median_ms);
  json.field("throughput_sps", profile.throughput_sps);
  json.field("gflops_per_second", profile.gflops_per_second);
  json.field("executed_flops", profile.executed_flops);
  json.field("executed_gflops_per_second", profile.executed_gflops_per_second);
  json.field("memory_bandwidth_mbs", per_second(in_mb(profile.memory.peak_bytes)));
  json.field("counted_traffic_mbs", per_second(in_mb(profile.traffic_bytes)));
  json.field("computational_efficiency", optional_json(profile.computational_efficiency));
  const auto is = [&](Bound bound) {
    return profile.bottleneck ? Json(*profile.bottleneck == bound) : Json(nullptr);
  };
  json.field("is_memory_bound", is(Bound::Memory));
  json.field("is_compute_bound", is(Bound::Compute));
  json.field("percent_of_ceiling", optional_json(profile.percent_of_ceiling));
  json.field("headroom_ms", optional_json(profile.headroom_ms));
  json.field("bottleneck", profile.bottleneck ? Json(name(*profile.bottleneck)) : Json(nullptr));
}

void put_rows(const Profile& profile, ProfileReportOptions options, GroupBy group_by,
              const char* key, JsonWriter& json) {
  options.group_by = group_by;
  json.begin_list(key);
  const DisplayNames names = display_names(profile);
  for (const ProfileRow& row : profile_rows(profile, options)) json.item(row_json(row, names));
  json.end_list();
}

void put_steps(const Profile& profile, JsonWriter& json) {
  json.begin_list("steps");
  for (const ProfileStep& step : profile.steps) json.item(step_json(step));
  json.end_list();
}

}  // namespace

Json report::gpu_state_json(const GpuState& state) {
  return {{"clock_mhz", optional_json(state.clock_mhz)},
          {"top_clock_mhz", optional_json(state.top_clock_mhz)},
          {"memory_clock_mhz", optional_json(state.memory_clock_mhz)},
          {"watts", optional_json(state.watts)},
          {"most_watts", optional_json(state.most_watts)},
          {"celsius", optional_json(state.celsius)}};
}

void report::put_gpu(const Profile& profile, JsonWriter& json) {
  if (profile.are_steps_timed_apart) json.field("steps_timed_apart", true);
  if (profile.copies) {
    json.field("copy_in_ms", profile.copies->in_ms);
    json.field("copy_out_ms", profile.copies->out_ms);
  }
  if (profile.gpu_state) json.field("gpu", gpu_state_json(*profile.gpu_state));
}

std::string profile_json(const Profile& profile, const ProfileReportOptions& options) {
  JsonWriter json;
  json.field("schema", "assay.profile/1");
  json.field("provenance", profile.imported ? "imported" : "measured");
  if (profile.imported) json.field("imported", imported_json(*profile.imported));
  json.field("interrupted", profile.was_interrupted());
  json.field("model", model_json(profile.model));
  json.field("options", options_json(profile));
  json.field("start_up", profile.imported ? Json(nullptr) : start_up_json(profile.start_up));
  put_forward_pass(profile, json);
  put_estimated_totals(profile, json);
  json.field("latency", latency_json(profile.latency));
  json.field("memory", memory_json(profile));
  json.field("energy", energy_json(profile.energy));
  json.field("machine", machine_json(profile.roofline));
  json.field("totals", totals_json(profile.totals, profile.peak_activation_bytes,
                                   profile.stored_bytes, profile.uncounted));
  put_rows(profile, options, GroupBy::Layers, "layers", json);
  if (options.group_by == GroupBy::Ops) put_rows(profile, options, GroupBy::Ops, "ops", json);
  put_steps(profile, json);
  json.field("typical_run_ms", profile.run_ms());
  json.field("between_steps_ms", profile.between_steps_ms);
  json.field("between_steps_mean_ms", profile.between_steps_mean_ms);
  put_gpu(profile, json);
  json.field("fell_back", fell_back_json(profile.steps));
  json.field("uncounted_events", profile.uncounted_events);
  json.field("advice", advice_json(profile.advice));
  json.field("edges", edges_json(profile.model.edges));
  if (options.hardware) json.field("hardware", hardware_json(*options.hardware));
  json.field("warnings", profile.warnings);
  return json.finish();
}

}  // namespace assay
