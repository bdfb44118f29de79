#include "assay/low_rank.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/as_size.h"
#include "base/fail.h"
#include "optimize/prune/matrix_factors.h"
#include "transform/reads.h"

namespace assay {

using optimize::DenseMatrix;
using optimize::MatrixFactors;

namespace {

class Factorisation {
 public:
  Factorisation(const Graph& model, const LowRankOptions& options)
      : old_(model), options_(options), new_(model.declarations()) {
    for (const Value& value : model.values()) names_.insert(value.name);
  }

  LowRankResult run() && {
    for (const auto& [value, tensor] : old_.initializers()) new_.add_initializer(value, tensor);
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      if (!factorised(NodeId{i})) new_.add_node(old_.node(NodeId{i}));
    }
    result_.graph = without_replaced_matrices();
    return std::move(result_);
  }

 private:
  const Tensor* matrix_of(const Node& node) const {
    const bool is_product = node.is("MatMul") || (node.is("Gemm") && node.int_or("transA", 0) == 0);
    if (!is_product || !node.has_input(1)) return nullptr;
    const Tensor* stored = old_.initializer(node.inputs[1]);
    const bool fits = stored != nullptr && stored->type() == DataType::Float32 &&
                      stored->dims().size() == 2 &&
                      std::ranges::min(stored->dims()) >= options_.smallest;
    return fits ? stored : nullptr;
  }

  bool factorised(NodeId id) {
    const Node& node = old_.node(id);
    const Tensor* stored = matrix_of(node);
    const std::string name = old_.display_name(id);
    if (stored == nullptr || (options_.layers && !options_.layers->contains(name))) return false;
    DenseMatrix matrix{as_size(stored->dims()[0]), as_size(stored->dims()[1]),
                       stored->to_vector<float>()};
    const bool is_transposed = node.is("Gemm") && node.int_or("transB", 0) != 0;
    if (is_transposed) matrix = optimize::transposed_matrix(matrix);
    const auto [k, n] =
        std::pair(static_cast<double>(matrix.rows), static_cast<double>(matrix.columns));
    const auto rank = as_size(
        std::max<std::int64_t>(1, static_cast<std::int64_t>(options_.share * k * n / (k + n))));
    const MatrixFactors factors = optimize::factors_of(matrix, rank);
    if (!std::isfinite(factors.loss))
      fail_bad_input("'{}' has a number that is not finite: it cannot be factorised",
                     old_.value(node.inputs[1]).name);
    const bool is_good = factors.loss <= options_.largest_loss;
    result_.layers.push_back({name, stored->dims()[is_transposed ? 1 : 0],
                              stored->dims()[is_transposed ? 0 : 1],
                              static_cast<std::int64_t>(rank), factors.loss, is_good});
    if (is_good) add_factors(node, name, factors);
    return is_good;
  }

  void add_factors(Node node, const std::string& name, const MatrixFactors& factors) {
    const ValueId middle = new_.add_value(unique(name + kLowRankSuffix));
    new_.add_node({.name = name + kLowRankSuffix,
                   .op = "MatMul",
                   .domain = "",
                   .inputs = {node.inputs[0], constant(name + ".left", factors.left)},
                   .outputs = {middle}});
    node.inputs[0] = middle;
    node.inputs[1] = constant(name + ".right", factors.right);
    if (node.is("Gemm")) node.set("transB", std::int64_t{0});
    new_.add_node(std::move(node));
  }

  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  ValueId constant(const std::string& name, const DenseMatrix& matrix) {
    const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(matrix.rows),
                                            static_cast<std::int64_t>(matrix.columns)};
    const ValueId id = new_.add_value(unique(name), tensor_type(DataType::Float32, Shape(dims)));
    new_.add_initializer(id, Tensor::of_float(dims, matrix.values));
    return id;
  }

  Graph without_replaced_matrices() const {
    const std::vector<bool> was_read = transform::read_values(old_);
    const std::vector<bool> is_read = transform::read_values(new_);
    Graph result = new_.declarations();
    for (const auto& [value, tensor] : new_.initializers()) {
      const bool was_unread = value.number < was_read.size() && !was_read[value.number];
      if (is_read[value.number] || was_unread) result.add_initializer(value, tensor);
    }
    for (const Node& node : new_.nodes()) result.add_node(node);
    return result;
  }

  const Graph& old_;
  const LowRankOptions& options_;
  Graph new_;
  std::unordered_set<std::string> names_;
  LowRankResult result_;
};

}  // namespace

LowRankResult factorize_linear_layers(const Graph& model, const LowRankOptions& options) {
  if (!(options.share > 0 && options.share < 1))
    fail_usage(
        "factors with a share of {} of the weights are not possible: choose a share between 0 and "
        "1",
        options.share);
  return Factorisation(model, options).run();
}

}  // namespace assay
