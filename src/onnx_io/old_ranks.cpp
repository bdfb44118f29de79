#include "onnx_io/old_ranks.h"

#include <string_view>
#include <unordered_set>

namespace assay::onnx {

namespace {

bool keeps_rank(const Node& node) {
  static const std::unordered_set<std::string_view> ops = {
      "Abs",      "Add",        "AveragePool",   "Cast",    "Ceil",        "BatchNormalization",
      "Clip",     "Concat",     "Conv",          "Div",     "Dropout",     "ConvTranspose",
      "Elu",      "Exp",        "Floor",         "Hardmax", "HardSigmoid", "GlobalAveragePool",
      "Identity", "LeakyRelu",  "GlobalMaxPool", "Log",     "LogSoftmax",  "InstanceNormalization",
      "LRN",      "MaxPool",    "LpPool",        "Max",     "Mean",        "Min",
      "Mul",      "Neg",        "Not",           "Pad",     "Pow",         "PRelu",
      "Relu",     "Reciprocal", "Selu",          "Sigmoid", "Slice",       "Softmax",
      "Softplus", "Softsign",   "SpaceToDepth",  "Split",   "Sqrt",        "DepthToSpace",
      "Sub",      "Sum",        "Tanh",          "Tile",    "Transpose",   "Upsample",
  };
  return node.is_standard() && ops.contains(node.op);
}

class RankFinder {
 public:
  explicit RankFinder(const Graph& graph) : graph_(graph), ranks_(graph.value_count()) {
    for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
      const auto& shape = graph.value(ValueId{i}).type.shape;
      if (shape) ranks_[i] = shape->rank();
    }
  }

  std::vector<std::optional<std::size_t>> find() {
    for (const Node& node : graph_.nodes()) {
      const auto rank = rank_after(node);
      if (!rank) continue;
      for (const ValueId output : node.outputs) {
        if (output.is_valid() && !ranks_[output.number]) ranks_[output.number] = rank;
      }
    }
    return std::move(ranks_);
  }

 private:
  std::optional<std::size_t> rank_after(const Node& node) const {
    if (keeps_rank(node)) return rank_of(node, 0);
    if (node.is("Flatten") || node.is("Gemm")) return 2;
    if (node.is("MatMul") && rank_of(node, 0) == 2 && rank_of(node, 1) == 2) return 2;
    if (!node.is("Reshape")) return std::nullopt;
    if (const auto* shape = node.get<std::vector<std::int64_t>>("shape")) return shape->size();
    const Tensor* shape = node.has_input(1) ? graph_.initializer(node.inputs[1]) : nullptr;
    if (shape == nullptr) return std::nullopt;
    return static_cast<std::size_t>(shape->elements());
  }

  std::optional<std::size_t> rank_of(const Node& node, std::size_t input) const {
    return node.has_input(input) ? ranks_[node.inputs[input].number] : std::nullopt;
  }

  const Graph& graph_;
  std::vector<std::optional<std::size_t>> ranks_;
};

}  // namespace

std::vector<std::optional<std::size_t>> old_ranks(const Graph& graph) {
  return RankFinder(graph).find();
}

}  // namespace assay::onnx
