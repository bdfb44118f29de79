// OpenVINO's benchmark_app -report_type detailed_counters or average_counters, as CSV or with
// -json_stats as JSON. A detailed report has the counters of each infer request, one table each.
#include <algorithm>
#include <array>

#include "base/fail.h"
#include "base/text.h"
#include "store/imported_events.h"
#include "store/imported_formats.h"
#include "store/json_reader.h"

namespace assay::store {

namespace {

constexpr std::string_view kOpenVinoHeader =
    "layerName;execStatus;layerType;execType;realTime (ms)";
constexpr std::size_t kOpenVinoColumns = 6;

struct OpenVinoLayer {
  std::string name;
  std::string status;
  std::string type;
  std::string exec_type;
  std::string real_time;
};

// "brgconv_avx512_bf16": what follows the last underscore is the precision.
std::string openvino_precision(const std::string& exec_type) {
  constexpr std::array<std::pair<std::string_view, const char*>, 7> kOpenVinoPrecisions = {
      {{"f32", "fp32"},
       {"f16", "fp16"},
       {"bf16", "bf16"},
       {"i8", "int8"},
       {"u8", "int8"},
       {"I8", "int8"},
       {"U8", "int8"}}};
  const std::string last = exec_type.substr(exec_type.rfind('_') + 1);
  const auto found =
      std::ranges::find(kOpenVinoPrecisions, last, [](const auto& one) { return one.first; });
  return found == kOpenVinoPrecisions.end() ? "" : found->second;
}

bool changes_layout(const std::string& type) {
  return type == "Reorder" || type == "Convert" || type == "Memory";
}

RuntimeKernel openvino_kernel(const OpenVinoLayer& layer) {
  return {.name = layer.name,
          .op = layer.type,
          .node_names = {layer.name},
          .is_layout_change = changes_layout(layer.type),
          .algorithm = layer.exec_type,
          .precision = openvino_precision(layer.exec_type)};
}

// Layers of one infer request after the other.
class Requests {
 public:
  Requests(std::size_t count, std::string file)
      : table_(count), sums_ms_(count, 0.0), file_(std::move(file)) {}

  void add(std::size_t request, const OpenVinoLayer& layer) {
    const double milliseconds =
        imported_milliseconds(layer.real_time, file_, "the time of layer '" + layer.name + "'");
    if (layer.status.ends_with("NOT_RUN") || layer.status.ends_with("OPTIMIZED_OUT")) return;
    const std::size_t kernel =
        table_.find_or_add(layer.name + "\n" + layer.type, [&] { return openvino_kernel(layer); });
    table_.add_time(kernel, request, milliseconds);
    sums_ms_[request] += milliseconds;
  }

  RuntimeTrace finish(bool is_average) {
    return {.runtime = "OpenVINO",
            .file = file_,
            .kernels = table_.take(),
            .runs_ms = sums_ms_,
            .is_average = is_average};
  }

 private:
  KernelTable table_;
  std::vector<double> sums_ms_;
  std::string file_;
};

std::string text_member(const report::Json& object, const char* key) {
  if (!object.contains(key)) return "";
  const report::Json& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : report::text_of(value);
}

const report::Json& nodes_in(const report::Json& request, const std::string& file) {
  if (!request.is_object() || !request.contains("nodes") || !request.at("nodes").is_array()) {
    fail_bad_input("{}: a request has no list of 'nodes'", file);
  }
  return request.at("nodes");
}

void add_request(const report::Json& request, std::size_t number, const std::string& file,
                 Requests& requests) {
  for (const report::Json& node : nodes_in(request, file)) {
    if (!node.is_object()) fail_bad_input("{}: a node is not an object", file);
    requests.add(number, {text_member(node, "name"), text_member(node, "status"),
                          text_member(node, "node_type"), text_member(node, "exec_type"),
                          text_member(node, "real_time")});
  }
}

// A name may contain the separator, so cells are counted from the end.
std::optional<OpenVinoLayer> layer_in(const std::string& line) {
  const std::vector<std::string> cells = split(line, ';');
  if (cells.size() < kOpenVinoColumns) return {};
  const std::size_t names = cells.size() - (kOpenVinoColumns - 1);
  return OpenVinoLayer{join(std::span(cells).first(names), ";"), cells[names], cells[names + 1],
                       cells[names + 2], cells[names + 3]};
}

std::vector<std::string> openvino_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

}  // namespace

bool is_openvino(const report::Json& root) {
  return root.is_object() &&
         (root.contains("avg_performance") || root.contains("detailed_performance"));
}

RuntimeTrace read_openvino(const report::Json& root, const std::string& file) {
  if (root.contains("avg_performance")) {
    Requests requests(1, file);
    add_request(root.at("avg_performance"), 0, file, requests);
    return requests.finish(true);
  }
  const report::Json& list = root.at("detailed_performance");
  if (!list.is_array()) fail_bad_input("{}: 'detailed_performance' is not a list", file);
  Requests requests(list.size(), file);
  for (std::size_t i = 0; i < list.size(); ++i) add_request(list[i], i, file, requests);
  return requests.finish(false);
}

bool is_openvino_text(std::string_view text) {
  return text.substr(0, 4096).find(kOpenVinoHeader) != std::string_view::npos;
}

RuntimeTrace read_openvino_text(std::string_view text, const std::string& file) {
  const std::vector<std::string> lines = openvino_lines(text);
  const auto is_header = [](const std::string& line) { return line.starts_with(kOpenVinoHeader); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(lines, is_header));
  Requests requests(count, file);
  std::size_t request = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_header(lines[i])) ++request;
    if (request == 0 || lines[i].empty() || is_header(lines[i])) continue;
    if (lines[i].starts_with("Total;")) continue;
    const auto layer = layer_in(lines[i]);
    if (!layer) {
      fail_bad_input("{}, line {}: {} cells were expected between semicolons", file, i + 1,
                     kOpenVinoColumns);
    }
    requests.add(request - 1, *layer);
  }
  return requests.finish(count == 1);
}

}  // namespace assay::store
