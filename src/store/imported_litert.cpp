// LiteRT's (TensorFlow Lite's) benchmark_model --enable_op_profiling
// --profiling_output_csv_file=FILE: tables of mean times. Of these, the one in the order of
// execution of regular runs is read. A node's name lists the tensors it writes and, after
// semicolons, what was fused into it: "[model/conv/Relu;model/conv/BiasAdd]:3".
#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "store/imported_formats.h"

namespace assay::store {

namespace {

constexpr std::string_view kRunOrder = "node type, start, first, avg";
constexpr std::size_t kCells = 9;
constexpr std::size_t kTime = 3;

std::string trimmed_cell(const std::string& cell) {
  const auto first = cell.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return cell.substr(first, cell.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> tensors_in(std::string name) {
  if (name.starts_with('[')) name.erase(0, 1);
  if (const auto end = name.rfind(']'); end != std::string::npos) name.resize(end);
  std::vector<std::string> names;
  for (const std::string& tensors : split(name, ';')) {
    for (const std::string& tensor : split(tensors, ',')) {
      if (std::string part = trimmed_cell(tensor); !part.empty()) names.push_back(std::move(part));
    }
  }
  return names;
}

// A name may contain commas: it is the rest of the line.
std::optional<RuntimeKernel> node_in(const std::string& line, const std::string& file) {
  const std::vector<std::string> cells = split(line, ',');
  if (cells.size() < kCells) return {};
  const std::string name = trimmed_cell(join(std::span(cells).subspan(kCells - 1), ","));
  RuntimeKernel kernel{.name = name,
                       .op = trimmed_cell(cells[0]),
                       .node_names = tensors_in(name),
                       .fused_names = tensors_in(name)};
  kernel.run_ms = {
      imported_milliseconds(trimmed_cell(cells[kTime]), file, "the time of node '" + name + "'")};
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
  Tables tables;
  for (const std::string& raw : split(text, '\n')) {
    const std::string line = trimmed_cell(raw);
    if (line.find("Regular Benchmark Runs") != std::string::npos) is_regular = true;
    if (line.starts_with("Delegate internal")) is_delegate = true;
    if (line.starts_with("Primary graph") || line.starts_with("Subgraph")) is_delegate = false;
    if (line.starts_with(kRunOrder)) {
      auto& list = is_delegate ? tables.inside_delegate : tables.nodes;
      is_open = is_regular && list.empty();  // the table by time repeats the one in order
      continue;
    }
    if (line.empty() || line.starts_with("=")) is_open = false;
    if (!is_open) continue;
    if (auto node = node_in(line, file)) {
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
  return text.find(kRunOrder) != std::string_view::npos;
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
