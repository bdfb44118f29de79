#include "optimize/tidying.h"

#include <vector>

#include "base/fail.h"
#include "base/text.h"

namespace assay::optimize {

namespace {

// Small tensors are often equal by chance (zeros, ones): sharing them would tie layers to each
// other for nothing when the model is trained or pruned again.
constexpr std::int64_t kSmallestShared = 128 * 128;

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

Graph Tidying::tidied(Graph graph, const TidyOptions& options) {
  if (!is_wanted_) return graph;
  TidyResult result = tidy_model(graph, options);
  saved_.idle_nodes += result.idle_nodes;
  saved_.folded_nodes += result.folded_nodes;
  saved_.merged_nodes += result.merged_nodes;
  saved_.shared_tensors += result.shared_tensors;
  return std::move(result.graph);
}

Graph Tidying::before_precision(Graph graph) {
  return tidied(std::move(graph), {.shares = false});
}

Graph Tidying::after_precision(Graph graph) {
  return tidied(std::move(graph), {.folds = false, .smallest_shared = kSmallestShared});
}

std::string Tidying::note() const {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) parts.push_back(counted(count, one, many));
  };
  add(saved_.idle_nodes, "idle node", "idle nodes");
  add(saved_.folded_nodes, "constant node", "constant nodes");
  add(saved_.merged_nodes, "repeated node", "repeated nodes");
  add(saved_.shared_tensors, "repeated weight", "repeated weights");
  return "removed without changing a result: " + join(parts, ", ");
}

bool is_untidy(const Graph& model) {
  const TidyResult result = tidy_model(model, {.smallest_shared = kSmallestShared});
  return result.removed_nodes() + result.shared_tensors > 0;
}

}  // namespace assay::optimize
