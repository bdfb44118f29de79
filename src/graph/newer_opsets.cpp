#include "graph/newer_opsets.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <variant>

#include "base/text.h"

namespace assay::graph {

namespace {

// With this value, or without the attribute, the operator is what it was before.
struct NewAttribute {
  std::string_view op;
  std::int64_t since;
  std::string_view attribute;
  std::variant<std::int64_t, std::string_view> as_before;
};

// Left out: `saturate` of casts to float8, whose infinities set 24 describes anew, and the windows
// of pools with ceil_mode, which follow the rule of set 22 in every set.
constexpr std::array<NewAttribute, 6> kNewAttributes = {{
    {"QuantizeLinear", 23, "precision", std::int64_t{0}},
    {"DequantizeLinear", 23, "output_dtype", std::int64_t{0}},
    {"Cast", 24, "round_mode", std::string_view("up")},
    {"CastLike", 24, "round_mode", std::string_view("up")},
    {"Range", 27, "stash_type", std::int64_t{1}},
    {"SpaceToDepth", 28, "mode", std::string_view("DCR")},
}};

struct NewOperator {
  std::string_view op;
  std::int64_t since;
};

constexpr std::array<NewOperator, 10> kNewOperators = {{{"Attention", 23},
                                                        {"RMSNormalization", 23},
                                                        {"RotaryEmbedding", 23},
                                                        {"Swish", 24},
                                                        {"TensorScatter", 24},
                                                        {"BitCast", 26},
                                                        {"CumProd", 26},
                                                        {"CausalConvWithState", 27},
                                                        {"LinearAttention", 27},
                                                        {"SwiGLU", 28}}};

bool is_as_before(const Node& node, const NewAttribute& change) {
  const std::string name(change.attribute);
  if (const auto* number = std::get_if<std::int64_t>(&change.as_before)) {
    return node.int_or(name, *number) == *number;
  }
  const std::string before(std::get<std::string_view>(change.as_before));
  return node.string_or(name, before) == before;
}

void add_new_operators(const Graph& graph, std::set<std::string>& found) {
  for (const Node& node : graph.nodes()) {
    const auto added = std::ranges::find(kNewOperators, node.op, &NewOperator::op);
    if (node.is_standard() && added != kNewOperators.end()) {
      found.insert(fmt::format("{} (new in {})", added->op, added->since));
    }
    for_each_subgraph(node, [&](const Graph& body) { add_new_operators(body, found); });
  }
}

}  // namespace

std::optional<std::string> newer_form(const Node& node) {
  for (const NewAttribute& change : kNewAttributes) {
    if (!node.is(change.op) || is_as_before(node, change)) continue;
    return fmt::format("attribute '{}', new in operator set {}", change.attribute, change.since);
  }
  return {};
}

std::optional<std::string> newer_opset_warning(const Graph& graph) {
  if (graph.opset() <= kNewestOpset) return {};
  std::set<std::string> added;
  add_new_operators(graph, added);
  if (added.empty()) {
    return fmt::format(
        "it uses operator set {}: it is read as {}, since which the operators in it have not "
        "changed",
        graph.opset(), kNewestOpset);
  }
  return fmt::format(
      "it uses operator set {}, of which assay does not know {}: re-export it with "
      "opset_version={} or lower",
      graph.opset(), join(std::vector<std::string>(added.begin(), added.end()), ", "),
      kNewestOpset);
}

}  // namespace assay::graph
