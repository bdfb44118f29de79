// LiteRT's (TensorFlow Lite's) benchmark_model --enable_op_profiling: tables of mean times, as CSV
// (--profiling_output_csv_file=FILE) or as the log prints them, separated by tabs. Of these, the
// one in the order of execution of regular runs is read. A node's name lists the tensors it writes
// and, after semicolons, what was fused into it: "[model/conv/Relu;model/conv/BiasAdd]:3".
#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "store/imported_formats.h"

namespace assay::store {

namespace {

std::string trimmed_cell(const std::string& cell) {
  const auto first = cell.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return cell.substr(first, cell.find_last_not_of(" \t\r") - first + 1);
}

// Versions differ in their columns ("start" was left out in 2022), but all have these two.
bool is_header_of_run_order(std::string_view line) {
  const auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
  return (has("node type,") && has("first, avg")) || (has("[node type]") && has("[avg ms]"));
}

// The CSV has tabs where the name has commas.
std::vector<std::string> tensors_in(std::string name) {
  if (name.starts_with('[')) name.erase(0, 1);
  if (const auto end = name.rfind(']'); end != std::string::npos) name.resize(end);
  std::ranges::replace(name, '\t', ',');
  std::vector<std::string> names;
  for (const std::string& tensors : split(name, ';')) {
    for (const std::string& tensor : split(tensors, ',')) {
      if (std::string part = trimmed_cell(tensor); !part.empty()) names.push_back(std::move(part));
    }
  }
  return names;
}

// "Convolution (NHWC, F32) IGEMM", an operator of XNNPACK, is a convolution.
std::string operator_of(const std::string& node_type) {
  return node_type.substr(0, node_type.find(" ("));
}

// Node type, times, two percentages, KB, times called, name. The type and the name may contain
// commas, so cells are counted from the percentages.
struct Row {
  std::string type;
  std::string mean_ms;
  std::string times_called;
  std::string name;
};

std::optional<Row> row_in(const std::string& line, bool has_start) {
  const char separator = line.find('\t') < line.find(',') ? '\t' : ',';
  std::vector<std::string> cells = split(line, separator);
  const auto is_percentage = [](const std::string& cell) {
    return trimmed_cell(cell).ends_with('%');
  };
  const auto share = std::ranges::find_if(cells, is_percentage);
  const std::ptrdiff_t times = has_start ? 3 : 2;
  constexpr std::ptrdiff_t kFromShareToName = 4;
  if (share - cells.begin() <= times || cells.end() - share <= kFromShareToName) return {};
  const std::string mark(1, separator);
  return Row{.type = trimmed_cell(join(std::span(cells.begin(), share - times), mark)),
             .mean_ms = trimmed_cell(share[-1]),
             .times_called = trimmed_cell(share[kFromShareToName - 1]),
             .name = trimmed_cell(join(std::span(share + kFromShareToName, cells.end()), mark))};
}

// The mean is that of a call; a node in a loop is called several times in a run.
double time_of_run(const Row& row, const std::string& file) {
  const std::string what = "the time of node '" + row.name + "'";
  const double mean_ms = imported_milliseconds(row.mean_ms, file, what);
  const double calls =
      imported_milliseconds(row.times_called, file, "the calls of node '" + row.name + "'");
  return mean_ms * std::max(calls, 1.0);
}

std::optional<RuntimeKernel> node_in(const std::string& line, bool has_start,
                                     const std::string& file) {
  const auto row = row_in(line, has_start);
  if (!row) return {};
  RuntimeKernel kernel{.name = row->name,
                       .op = operator_of(row->type),
                       .node_names = tensors_in(row->name),
                       .fused_names = tensors_in(row->name)};
  if (kernel.op != row->type) kernel.algorithm = row->type;
  kernel.run_ms = {time_of_run(*row, file)};
  return kernel;
}

// Tables follow headings; those of preparation come before those of regular runs.
struct Tables {
  std::vector<RuntimeKernel> nodes = {};
  std::vector<RuntimeKernel> inside_delegate = {};
};

Tables tables_in(std::string_view text, const std::string& file) {
  const bool names_regular = text.find("Regular Benchmark Runs") != std::string_view::npos;
  bool is_regular = !names_regular;
  bool is_delegate = false;
  bool is_open = false;
  bool has_start = false;
  Tables tables;
  for (const std::string& raw : split(text, '\n')) {
    const std::string line = trimmed_cell(raw);
    if (line.find("Regular Benchmark Runs") != std::string::npos) is_regular = true;
    if (line.starts_with("Delegate internal")) is_delegate = true;
    if (line.starts_with("Primary graph") || line.starts_with("Subgraph")) is_delegate = false;
    if (is_header_of_run_order(line)) {
      has_start = line.find("start") != std::string::npos;
      auto& list = is_delegate ? tables.inside_delegate : tables.nodes;
      is_open = is_regular && list.empty();  // the table by time repeats the one in order
      continue;
    }
    if (line.empty() || line.starts_with("=")) is_open = false;
    if (!is_open) continue;
    if (auto node = node_in(raw, has_start, file)) {
      (is_delegate ? tables.inside_delegate : tables.nodes).push_back(std::move(*node));
    } else {
      is_open = false;
    }
  }
  return tables;
}

double sum_of(const std::vector<RuntimeKernel>& kernels) {
  double sum_ms = 0;
  for (const RuntimeKernel& kernel : kernels) sum_ms += kernel.run_ms.front();
  return sum_ms;
}

// The operators that one delegate ran replace its row; what they do not cover stays with it.
void open_delegate(Tables& tables) {
  const auto is_delegate = [](const RuntimeKernel& kernel) {
    return kernel.op.find("Delegate") != std::string::npos;
  };
  const auto row = std::ranges::find_if(tables.nodes, is_delegate);
  const bool is_only_one = std::ranges::count_if(tables.nodes, is_delegate) == 1;
  if (!is_only_one || tables.inside_delegate.empty()) return;
  row->run_ms.front() = std::max(0.0, row->run_ms.front() - sum_of(tables.inside_delegate));
  row->node_names.clear();
  row->fused_names.clear();
  tables.nodes.insert(row, tables.inside_delegate.begin(), tables.inside_delegate.end());
}

}  // namespace

bool is_litert_text(std::string_view text) {
  return is_header_of_run_order(text);
}

RuntimeTrace read_litert_text(std::string_view text, const std::string& file) {
  Tables tables = tables_in(text, file);
  open_delegate(tables);
  RuntimeTrace trace{.runtime = "LiteRT", .file = file, .is_average = true};
  trace.runs_ms = {sum_of(tables.nodes)};
  trace.kernels = std::move(tables.nodes);
  return trace;
}

}  // namespace assay::store
