#include "store/imported_events.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"

namespace assay::store {

namespace {

std::string text_or_number(const report::Json& json) {
  return json.is_string() ? json.get<std::string>() : report::text_of(json);
}

std::string member_text(const report::Json& object, const char* key) {
  return object.contains(key) ? text_or_number(object.at(key)) : "";
}

double microseconds_in(const report::Json& event, const char* key, const std::string& file) {
  constexpr double kMost = 1e18;
  const bool is_number = event.contains(key) && event.at(key).is_number();
  const double value = is_number ? event.at(key).get<double>() : -1;
  if (!(value >= 0 && value < kMost)) {
    fail_bad_input("{}: '{}' of event '{}' is not a number of 0 or more", file, key,
                   member_text(event, "name"));
  }
  return value;
}

TimedEvent event_of(const report::Json& json, const std::string& file) {
  TimedEvent event{.name = member_text(json, "name"),
                   .category = member_text(json, "cat"),
                   .track = member_text(json, "pid") + "/" + member_text(json, "tid"),
                   .start_us = microseconds_in(json, "ts", file),
                   .duration_us = microseconds_in(json, "dur", file)};
  if (json.contains("args") && json.at("args").is_object()) event.args = &json.at("args");
  return event;
}

bool is_complete_event(const report::Json& json) {
  return json.is_object() && json.contains("ph") && json.at("ph") == "X";
}

}  // namespace

std::vector<TimedEvent> complete_events(const report::Json& list, const std::string& file) {
  std::vector<TimedEvent> events;
  for (const report::Json& json : list) {
    if (is_complete_event(json)) events.push_back(event_of(json, file));
  }
  return events;
}

void nest(std::vector<TimedEvent>& events, WrittenFirst written_first) {
  if (written_first == WrittenFirst::Inner) std::ranges::reverse(events);
  std::ranges::stable_sort(events, [](const TimedEvent& a, const TimedEvent& b) {
    return a.start_us != b.start_us ? a.start_us < b.start_us : a.duration_us > b.duration_us;
  });
  std::map<std::string, std::vector<std::size_t>> open;  // by track, the innermost last
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto& around = open[events[i].track];
    while (!around.empty() && events[around.back()].end_us() <= events[i].start_us) {
      around.pop_back();
    }
    if (!around.empty()) {
      events[i].parent = around.back();
      events[around.back()].children_us += events[i].duration_us;
    }
    around.push_back(i);
  }
}

std::string argument(const TimedEvent& event, const char* key) {
  return event.args ? member_text(*event.args, key) : "";
}

void drop_warm_up(RuntimeTrace& trace) {
  if (trace.runs_ms.size() < 2) return;
  trace.first_run_ms = trace.runs_ms.front();
  trace.warmup_runs = 1;
  trace.runs_ms.erase(trace.runs_ms.begin());
  for (RuntimeKernel& kernel : trace.kernels) kernel.run_ms.erase(kernel.run_ms.begin());
}

}  // namespace assay::store
