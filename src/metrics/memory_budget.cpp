#include "assay/memory_budget.h"

#include <cmath>

#include "base/fail.h"
#include "base/megabytes.h"
#include "base/text.h"

namespace assay {

namespace {

double stored_bytes(const Graph& graph, std::optional<DataType> stored_as) {
  double bytes = 0;
  for (const auto& initializer : graph.initializers()) {
    const Tensor& tensor = initializer.tensor;
    const bool is_stored_otherwise = stored_as && is_floating(tensor.type());
    bytes += is_stored_otherwise ? static_cast<double>(tensor.elements()) * bits(*stored_as) / 8
                                 : static_cast<double>(tensor.byte_size());
  }
  for (const Node& node : graph.nodes()) {
    for_each_subgraph(node, [&](const Graph& body) { bytes += stored_bytes(body, stored_as); });
  }
  return bytes;
}

}  // namespace

double model_memory_mb(const Graph& model, std::optional<DataType> stored_as) {
  return stored_bytes(model, stored_as) / kMegabyte;
}

std::vector<std::pair<std::string, bool>> memory_violations(double memory_mb,
                                                            std::span<const double> budgets_mb) {
  std::vector<std::pair<std::string, bool>> violations;
  for (const double budget : budgets_mb) {
    if (!std::isfinite(budget)) fail_usage("a memory budget must be a finite number of MB");
    violations.emplace_back(fmt::format("violates_{}mb", with_decimal(budget)), memory_mb > budget);
  }
  return violations;
}

}  // namespace assay
