#include "assay/tidy.h"

#include "assay/infer.h"
#include "transform/edit.h"
#include "transform/reads.h"
#include "transform/share.h"
#include "transform/simplify.h"

namespace assay {

using namespace assay::transform;

namespace {

std::int64_t stored_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Initializer& stored : graph.initializers())
    bytes += static_cast<std::int64_t>(stored.tensor.byte_size());
  return bytes;
}

std::int64_t nodes_left(const GraphEdit& edit) {
  std::int64_t count = 0;
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) count += edit.is_alive(NodeId{i}) ? 1 : 0;
  return count;
}

// Values that were folded have a content but nobody to compute them: it is stored.
Graph with_folded_values(const Inferred& model) {
  Graph graph = model.graph;
  const std::vector<bool> is_read = read_values(graph);
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    const Tensor* content = model.known_value(id);
    const bool is_missing = is_read[i] && content != nullptr && graph.initializer(id) == nullptr &&
                            !graph.producer(id).is_valid();
    if (is_missing) graph.add_initializer(id, *content);
  }
  return graph;
}

TidyResult tidied(const Graph& model, const TidyOptions& options) {
  GraphEdit edit(infer_shapes(model));
  TidyResult result;
  const std::int64_t all = nodes_left(edit);
  drop_unread_nodes(edit);
  drop_idle_nodes(edit);
  result.idle_nodes = all - nodes_left(edit);
  const std::int64_t before_folding = nodes_left(edit);
  if (options.folds) fold_constants(edit);
  result.folded_nodes = before_folding - nodes_left(edit);
  if (options.shares) result.shared_tensors = share_equal_weights(edit, options.smallest_shared);
  result.merged_nodes = merge_common_subexpressions(edit);
  const std::int64_t before_dropping = nodes_left(edit);
  drop_unread_nodes(edit);
  result.idle_nodes += before_dropping - nodes_left(edit);
  result.graph = with_folded_values(std::move(edit).finish().model);
  result.stored_bytes_before = stored_bytes(model);
  result.stored_bytes_after = stored_bytes(result.graph);
  return result;
}

}  // namespace

TidyResult tidy_model(const Graph& model, const TidyOptions& options) {
  TidyResult result = tidied(model, options);
  if (!options.folds || result.stored_bytes_after <= result.stored_bytes_before) return result;
  TidyOptions unfolding = options;
  unfolding.folds = false;
  TidyResult unfolded = tidied(model, unfolding);
  // Folded lengths take a few bytes and save a node each.
  constexpr std::int64_t kWorthANode = 1024;
  const bool is_worth_it =
      result.stored_bytes_after - unfolded.stored_bytes_after <= kWorthANode * result.folded_nodes;
  return is_worth_it ? result : unfolded;
}

}  // namespace assay
