#include <algorithm>
#include <numeric>

#include "assay/profile_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr int kProcess = 1;
constexpr int kRunTrack = 1;
constexpr int kStepTrack = 2;

double microseconds(double nanoseconds) {
  return nanoseconds / 1000.0;
}

Json named(const char* what, int track, const std::string& title) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"args", {{"name", title}}}};
}

Json event(const std::string& title, const std::string& category, int track, double start,
           double duration) {
  return {{"name", title},
          {"cat", category},
          {"ph", "X"},
          {"ts", microseconds(start)},
          {"dur", microseconds(duration)},
          {"pid", kProcess},
          {"tid", track}};
}

Json step_event(const ProfileStep& step, double start, double duration) {
  Json json = event(step.info.name, step.info.op, kStepTrack, start, duration);
  json["args"] = {{"op", step.info.op},
                  {"layers", step.layer_names},
                  {"algorithm", step.info.algorithm},
                  {"executed_flops", step.info.executed_flops},
                  {"bytes_read", step.info.bytes_read},
                  {"bytes_written", step.info.bytes_written}};
  return json;
}

Json memory_event(double at, std::int64_t bytes) {
  return {{"name", "arena bytes in use"},
          {"ph", "C"},
          {"ts", microseconds(at)},
          {"pid", kProcess},
          {"args", {{"bytes", bytes}}}};
}

// By step: the bytes of the arena whose buffers are in use. Empty if the engine has no arena.
std::vector<std::int64_t> bytes_in_use(const Profile& profile) {
  if (profile.memory.buffers.empty()) return {};
  std::vector<std::int64_t> changes(profile.steps.size() + 1);
  for (const NamedBuffer& buffer : profile.memory.buffers) {
    if (buffer.first_step >= profile.steps.size()) continue;
    changes[buffer.first_step] += buffer.bytes;
    changes[std::min(buffer.last_step + 1, profile.steps.size())] -= buffer.bytes;
  }
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  changes.pop_back();
  return changes;
}

void put_run(const TracedRun& run, std::size_t number, const std::vector<ProfileStep>& steps,
             const std::vector<std::int64_t>& bytes, JsonWriter& json) {
  const auto start = static_cast<double>(run.start_nanoseconds);
  const auto duration = static_cast<double>(run.duration_nanoseconds);
  json.item(event("run " + std::to_string(number), "run", kRunTrack, start, duration));
  const double busy = static_cast<double>(
      std::accumulate(run.step_nanoseconds.begin(), run.step_nanoseconds.end(), std::int64_t{0}));
  const std::size_t count = std::min(steps.size(), run.step_nanoseconds.size());
  const double gap = std::max(0.0, duration - busy) / static_cast<double>(count + 1);
  double at = start;
  for (std::size_t i = 0; i < count; ++i) {
    const auto taken = static_cast<double>(run.step_nanoseconds[i]);
    at += gap;
    if (!bytes.empty()) json.item(memory_event(at, bytes[i]));
    json.item(step_event(steps[i], at, taken));
    at += taken;
  }
  if (!bytes.empty()) json.item(memory_event(at, 0));
}

}  // namespace

std::string profile_trace(const Profile& profile) {
  JsonWriter json;
  json.field("displayTimeUnit", "ms");
  json.field("otherData", {{"schema", "assay.trace/1"}, {"model", profile.model.name}});
  json.begin_list("traceEvents");
  json.item(named("process_name", kRunTrack, "assay " + profile.model.name));
  json.item(named("thread_name", kRunTrack, "runs"));
  json.item(named("thread_name", kStepTrack, "steps"));
  const std::vector<std::int64_t> bytes = bytes_in_use(profile);
  for (std::size_t i = 0; i < profile.traced_runs.size(); ++i) {
    put_run(profile.traced_runs[i], i + 1, profile.steps, bytes, json);
  }
  json.end_list();
  return json.finish();
}

}  // namespace assay
