// trtexec --exportProfile: [{"count": runs}, {"name", "timeMs", "averageMs", "medianMs", …}, …].
// A layer's name lists the nodes it was made of: "conv + relu", "PWN(add, relu)",
// "{ForeignNode[first...last]}", "Reformatting CopyNode for Input Tensor 0 to conv + relu".
#include <algorithm>
#include <array>
#include <cctype>

#include "base/fail.h"
#include "store/imported_formats.h"
#include "store/json_reader.h"

namespace assay::store {

namespace {

bool is_layer(const report::Json& item) {
  return item.is_object() && item.contains("name") && item.contains("averageMs");
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// What is between the text and the closing bracket that belongs to it; nothing if it is not there.
std::optional<std::string_view> inside(std::string_view name, std::string_view opening,
                                       char closing) {
  const auto begin = name.find(opening);
  if (begin == std::string_view::npos) return {};
  const auto end = name.rfind(closing);
  if (end == std::string_view::npos || end < begin + opening.size()) return {};
  return name.substr(begin + opening.size(), end - begin - opening.size());
}

void add_parts(std::string_view text, std::string_view separator, std::vector<std::string>& names) {
  while (true) {
    const auto end = text.find(separator);
    std::string part = trimmed(text.substr(0, end));
    // Parentheses group; names may contain them too, so only unmatched ones are taken away.
    while (part.starts_with('(')) part.erase(0, 1);
    while (part.ends_with(')') && part.find('(') == std::string::npos) part.pop_back();
    if (!part.empty()) names.push_back(std::move(part));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + separator.size());
  }
}

std::vector<std::string> nodes_of(std::string_view name) {
  std::vector<std::string> parts;
  add_parts(name, " + ", parts);
  std::vector<std::string> names;
  for (const std::string& part : parts) {
    if (const auto pointwise = inside(part, "PWN(", ')')) {
      add_parts(*pointwise, ", ", names);
    } else {
      names.push_back(part);
    }
  }
  return names;
}

constexpr std::array<std::string_view, 4> kReformats = {
    "Reformatting CopyNode for Input Tensor ", "Reformatting CopyNode for Output Tensor ",
    "Reformatting CopyNode for Network Input ", "Reformatting CopyNode for Network Output "};

bool is_copy(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kReformats, begins) ||
         name.find("[HostToDeviceCopy") != std::string_view::npos ||
         name.find("[DeviceToHostCopy") != std::string_view::npos;
}

// "Reformatting CopyNode for Input Tensor 0 to conv1 + relu1": the layer that it serves.
std::string_view served_by_copy(std::string_view name) {
  const auto to = name.find(" to ");
  return to == std::string_view::npos ? name.substr(0, name.find(" [")) : name.substr(to + 4);
}

RuntimeKernel layer_of(const JsonReader& reader) {
  RuntimeKernel kernel{.name = reader.text("name"), .device = "gpu"};
  kernel.run_ms = {reader.at_least_zero("averageMs")};
  kernel.is_layout_change = is_copy(kernel.name);
  const std::string_view named =
      kernel.is_layout_change ? served_by_copy(kernel.name) : std::string_view(kernel.name);
  if (const auto region = inside(named, "{ForeignNode[", ']')) {
    add_parts(*region, "...", kernel.fused_names);
    kernel.is_region = true;
  } else {
    kernel.fused_names = nodes_of(named);
  }
  kernel.node_names = kernel.fused_names;
  return kernel;
}

}  // namespace

bool is_trtexec(const report::Json& root) {
  return root.is_array() && std::ranges::any_of(root, is_layer);
}

RuntimeTrace read_trtexec(const report::Json& root, const std::string& file) {
  RuntimeTrace trace{.runtime = "TensorRT", .file = file, .is_average = true};
  double sum_ms = 0;
  for (const report::Json& item : root) {
    const JsonReader reader(item, file);
    if (!is_layer(item)) {
      if (item.is_object() && item.contains("count")) {
        trace.averaged_runs = static_cast<std::size_t>(reader.count("count"));
      }
      continue;
    }
    trace.kernels.push_back(layer_of(reader));
    sum_ms += trace.kernels.back().run_ms.front();
  }
  trace.runs_ms = {sum_ms};
  return trace;
}

}  // namespace assay::store
