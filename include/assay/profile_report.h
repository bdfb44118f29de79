// A profile as people and programs read it: a table, JSON, CSV and a trace.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/hardware_report.h"
#include "assay/layer_estimate.h"
#include "assay/layout.h"
#include "assay/profile.h"
#include "assay/roofline_chart.h"

namespace assay {

enum class GroupBy { Layers, Steps, Ops };

struct ProfileReportOptions {
  GroupBy group_by = GroupBy::Layers;
  std::optional<std::size_t> top = {};    // N rows; 0: all of them; none: as many as fit a screen
  std::optional<std::string> sort = {};   // a heading or a name of profile_columns()
  std::vector<std::string> columns = {};  // of the table, headings too; none: the usual ones
  bool explain = false;                   // the table with every sentence, not only the figures
  Layout layout = {};
  // Becomes `hardware` of the JSON.
  std::optional<HardwareReport> hardware = {};
};

// The columns a profile can be sorted by, as JSON and CSV call them: "order" is execution order.
std::vector<std::string> profile_columns();
// Throws an Error of kind Usage, naming the nearest heading.
void check_profile_columns(const ProfileReportOptions& options);

std::string profile_table(const Profile& profile, const ProfileReportOptions& options = {});
std::string profile_json(const Profile& profile, const ProfileReportOptions& options = {});
std::string profile_csv(const Profile& profile, const ProfileReportOptions& options = {});

// Several models or settings, a row each. The first result of a model is what speed-ups refer to.
std::string profiles_table(std::span<const Profile> profiles, const Layout& layout = {});
std::string profiles_json(std::span<const Profile> profiles);
std::string profiles_csv(std::span<const Profile> profiles);

// Every layer that took time, under the ceilings it was compared with; without ceilings there is no
// chart. Layers that do the same work, as in repeated blocks, are one point ("conv1 ×4").
std::optional<RooflineChart> roofline_chart(const Profile& profile);

// Bars of the layers that take the most time, in the order they run, coloured by what limits them.
std::string layer_times_png(const Profile& profile);  // 180 DPI
std::string layer_times_svg(const Profile& profile);

// What the arena holds at every step, and which tensors are alive at the peak; nothing if the
// engine has no arena.
std::optional<std::string> memory_schedule_png(const Profile& profile);  // 180 DPI
std::optional<std::string> memory_schedule_svg(const Profile& profile);

// The layers with parameters or MACs, as summarize_hardware takes them.
std::vector<LayerEstimate> layer_estimates(const Profile& profile);

// The traced runs in Chrome's trace format, which Perfetto opens. A program times how long its
// steps take, not when they begin: the time between steps is spread evenly between them. A counter
// follows the bytes of the arena that are in use.
std::string profile_trace(const Profile& profile);

// The nodes' times in milliseconds as "custom node data" of Google's Model Explorer, by node name.
std::string profile_node_data(const Profile& profile);

// As Google Benchmark's JSON, for its tools/compare.py: the model's latency, and each layer's.
std::string profile_benchmark_json(const Profile& profile);

}  // namespace assay
