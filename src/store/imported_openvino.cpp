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

// A conversion of the input is a subgraph of its own: "Convert_214".
bool changes_layout(const OpenVinoLayer& layer) {
  return layer.type == "Reorder" || layer.type == "Convert" || layer.type == "Memory" ||
         layer.name.starts_with("Convert_");
}

bool has_run(const OpenVinoLayer& layer) {
  return !layer.status.ends_with("NOT_RUN") && !layer.status.ends_with("OPTIMIZED_OUT");
}

// Listed after the layer that it was fused into. Views have another type.
bool is_fused(const OpenVinoLayer& layer) {
  return !has_run(layer) && layer.exec_type == "undef";
}

RuntimeKernel openvino_kernel(const OpenVinoLayer& layer) {
  return {.name = layer.name,
          .op = layer.type,
          .node_names = {layer.name},
          .is_layout_change = changes_layout(layer),
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
    if (request == 0 && is_fused(layer)) add_fused(layer.name);
    if (!has_run(layer)) return;
    const std::size_t kernel =
        table_.find_or_add(layer.name + "\n" + layer.type, [&] { return openvino_kernel(layer); });
    table_.add_time(kernel, request, milliseconds);
    sums_ms_[request] += milliseconds;
    last_ = kernel;
  }

  RuntimeTrace finish(bool is_average) {
    return {.runtime = "OpenVINO",
            .file = file_,
            .kernels = table_.take(),
            .runs_ms = sums_ms_,
            .is_average = is_average};
  }

 private:
  void add_fused(const std::string& name) {
    if (!last_) return;
    RuntimeKernel& kernel = table_.at(*last_);
    if (kernel.fused_names.empty()) kernel.fused_names = kernel.node_names;
    kernel.fused_names.push_back(name);
  }

  KernelTable table_;
  std::optional<std::size_t> last_;  // kernel
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

// Sorted reports have a column more.
std::size_t columns_in(const std::string& header) {
  return static_cast<std::size_t>(std::ranges::count(header, ';')) + 1;
}

// A name may contain the separator, so cells are counted from the end.
std::optional<OpenVinoLayer> layer_in(const std::string& line, std::size_t columns) {
  const std::vector<std::string> cells = split(line, ';');
  if (cells.size() < columns) return {};
  const std::size_t names = cells.size() - (columns - 1);
  return OpenVinoLayer{join(std::span(cells).first(names), ";"), cells[names], cells[names + 1],
                       cells[names + 2], cells[names + 3]};
}

[[noreturn]] void refuse_without_counters(const std::string& file) {
  fail_bad_input(
      "{}: this report of OpenVINO's benchmark_app has no times of layers; run it with "
      "-report_type "
      "detailed_counters",
      file);
}

std::vector<std::string> openvino_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

}  // namespace

// A report of another type has the same beginning, but no counters.
bool is_openvino(const report::Json& root) {
  return root.is_object() &&
         (root.contains("avg_performance") || root.contains("detailed_performance") ||
          (root.contains("cmd_options") && root.contains("execution_results")));
}

RuntimeTrace read_openvino(const report::Json& root, const std::string& file) {
  if (root.contains("avg_performance")) {
    Requests requests(1, file);
    add_request(root.at("avg_performance"), 0, file, requests);
    return requests.finish(true);
  }
  if (!root.contains("detailed_performance")) refuse_without_counters(file);
  const report::Json& list = root.at("detailed_performance");
  if (!list.is_array()) fail_bad_input("{}: 'detailed_performance' is not a list", file);
  Requests requests(list.size(), file);
  for (std::size_t i = 0; i < list.size(); ++i) add_request(list[i], i, file, requests);
  return requests.finish(false);
}

bool is_openvino_text(std::string_view text) {
  return text.substr(0, 4096).find(kOpenVinoHeader) != std::string_view::npos ||
         text.starts_with("Command line parameters");
}

RuntimeTrace read_openvino_text(std::string_view text, const std::string& file) {
  const std::vector<std::string> lines = openvino_lines(text);
  const auto is_header = [](const std::string& line) { return line.starts_with(kOpenVinoHeader); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(lines, is_header));
  if (count == 0) refuse_without_counters(file);
  Requests requests(count, file);
  std::size_t request = 0;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_header(lines[i])) {
      ++request;
      columns = columns_in(lines[i]);
      continue;
    }
    if (request == 0 || lines[i].empty() || lines[i].starts_with("Total;")) continue;
    const auto layer = layer_in(lines[i], columns);
    if (!layer) {
      fail_bad_input("{}, line {}: {} cells were expected between semicolons", file, i + 1,
                     columns);
    }
    requests.add(request - 1, *layer);
  }
  return requests.finish(count == 1);
}

}  // namespace assay::store
