// trtexec --exportProfile: [{"count": runs}, {"name", "timeMs", "averageMs", "medianMs", …}, …].
// A layer's name lists the nodes it was made of: "conv + relu", "conv_a || conv_b" (side by side),
// "PWN(PWN(sigmoid), mul)" (pointwise, nested), "{ForeignNode[first...last]}", "Reformatting
// CopyNode for Input Tensor 0 to conv + relu". Layers that TensorRT added have no name of the
// model:
// "(Unnamed Layer* 12) [Shuffle]".
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

constexpr std::array<std::string_view, 3> kSeparators = {" + ", " || ", ", "};

// The length of the separator that begins here; 0 if none does.
std::size_t separator_at(std::string_view text, std::size_t at) {
  const auto begins = [&](std::string_view one) { return text.substr(at).starts_with(one); };
  const auto found = std::ranges::find_if(kSeparators, begins);
  return found == kSeparators.end() ? 0 : found->size();
}

// What is between separators outside of parentheses.
std::vector<std::string> outer_parts(std::string_view text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    const std::size_t length = depth > 0 ? 0 : separator_at(text, i);
    if (length == 0) {
      ++i;
      continue;
    }
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    i += length;
    begin = i;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

bool is_unnamed(std::string_view part) {
  return part.empty() || part.starts_with("(Unnamed Layer*");
}

// What is inside "PWN(…)" or "(…)"; nothing for a name.
std::optional<std::string_view> inside_parentheses(std::string_view part) {
  constexpr std::string_view kPointwise = "PWN(";
  if (!part.ends_with(')')) return {};
  part.remove_suffix(1);
  if (part.starts_with(kPointwise)) return part.substr(kPointwise.size());
  if (part.starts_with('(')) return part.substr(1);
  return {};
}

void add_nodes(std::string_view name, int depth, std::vector<std::string>& names) {
  constexpr int kDeepest = 64;  // a file may nest as deeply as it likes
  for (std::string& part : outer_parts(name)) {
    if (is_unnamed(part)) continue;
    const auto inner = depth < kDeepest ? inside_parentheses(part) : std::nullopt;
    if (inner) {
      add_nodes(*inner, depth + 1, names);
    } else {
      names.push_back(std::move(part));
    }
  }
}

std::vector<std::string> nodes_of(std::string_view name) {
  std::vector<std::string> names;
  add_nodes(name, 0, names);
  return names;
}

// "first...last"
std::vector<std::string> ends_of(std::string_view region) {
  constexpr std::string_view kBetween = "...";
  const auto between = region.find(kBetween);
  if (between == std::string_view::npos) return {trimmed(region)};
  return {trimmed(region.substr(0, between)), trimmed(region.substr(between + kBetween.size()))};
}

constexpr std::array<std::string_view, 4> kReformats = {
    "Reformatting CopyNode for Input Tensor ", "Reformatting CopyNode for Output Tensor ",
    "Reformatting CopyNode for Network Input ", "Reformatting CopyNode for Network Output "};

constexpr std::array<std::string_view, 2> kReformatters = {" input reformatter ",
                                                           " output reformatter "};
constexpr std::string_view kCopy = " copy";  // "tensor copy", as a concatenation has

bool is_copy(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const auto holds = [&](std::string_view text) { return name.find(text) != name.npos; };
  return std::ranges::any_of(kReformats, begins) || std::ranges::any_of(kReformatters, holds) ||
         name.ends_with(kCopy) || holds("[HostToDeviceCopy") || holds("[DeviceToHostCopy");
}

// "Reformatting CopyNode for Input Tensor 0 to conv1 + relu1", "conv1 + relu1 input reformatter 0",
// "pool1_output copy": the layer or tensor that it serves.
std::string_view served_by_copy(std::string_view name) {
  for (const std::string_view reformatter : kReformatters) {
    if (const auto at = name.find(reformatter); at != name.npos) return name.substr(0, at);
  }
  if (name.ends_with(kCopy)) return name.substr(0, name.size() - kCopy.size());
  const auto to = name.find(" to ");
  return to == name.npos ? name.substr(0, name.find(" [")) : name.substr(to + 4);
}

RuntimeKernel layer_of(const JsonReader& reader) {
  RuntimeKernel kernel{.name = reader.text("name"), .device = "gpu"};
  kernel.run_ms = {reader.at_least_zero("averageMs")};
  kernel.is_layout_change = is_copy(kernel.name);
  const std::string_view named =
      kernel.is_layout_change ? served_by_copy(kernel.name) : std::string_view(kernel.name);
  if (const auto region = inside(named, "{ForeignNode[", ']')) {
    kernel.fused_names = ends_of(*region);
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
