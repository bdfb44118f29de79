#include "profile/fit/portions.h"

#include <algorithm>
#include <map>
#include <set>

#include "assay/cost.h"
#include "assay/memory.h"
#include "transform/simplify.h"

namespace assay {

namespace {

const std::set<std::string>& element_wise_ops() {
  static const std::set<std::string> kOps = {
      "Relu",       "LeakyRelu", "PRelu",   "Clip",     "Sigmoid",  "HardSigmoid", "HardSwish",
      "Tanh",       "Elu",       "Selu",    "Softplus", "Softsign", "Gelu",        "Erf",
      "Exp",        "Log",       "Sqrt",    "Abs",      "Neg",      "Add",         "Sub",
      "Mul",        "Div",       "Pow",     "Max",      "Min",      "Celu",        "Mish",
      "Reciprocal", "Where",     "Cast",    "Not",      "And",      "Or",          "Equal",
      "Greater",    "Less",      "Dropout", "Identity", "Floor"};
  return kOps;
}

const std::map<std::string, std::string>& classes_by_op() {
  static const std::map<std::string, std::string> kClasses = {{"ConvTranspose", "conv"},
                                                              {"LSTM", "recurrent"},
                                                              {"GRU", "recurrent"},
                                                              {"RNN", "recurrent"},
                                                              {"MaxPool", "pooling"},
                                                              {"AveragePool", "pooling"},
                                                              {"GlobalAveragePool", "pooling"},
                                                              {"GlobalMaxPool", "pooling"},
                                                              {"Softmax", "softmax"},
                                                              {"LogSoftmax", "softmax"},
                                                              {"LayerNormalization", "norm"},
                                                              {"BatchNormalization", "norm"},
                                                              {"InstanceNormalization", "norm"},
                                                              {"GroupNormalization", "norm"}};
  return kClasses;
}

std::string class_of(const LayerCost& cost) {
  if (!cost.form.empty()) {
    if (cost.form.starts_with("depthwise")) return "depthwise";
    if (cost.form.starts_with("grouped")) return "grouped conv";
    return cost.form == "3x3" || cost.form == "1x1" ? "conv " + cost.form : "conv";
  }
  const auto known = classes_by_op().find(cost.op);
  if (known != classes_by_op().end()) return known->second;
  if (cost.macs > 0) return cost.parameter_bytes > 0 ? "product" : "product of activations";
  if (element_wise_ops().contains(cost.op)) return "element-wise";
  return cost.flops > 0 ? "other" : "movement";
}

// Winograd's F(4, r) needs (4 + r - 1) products along an axis where 4 · r would be.
double fewest_flops(const LayerCost& cost) {
  const double flops =
      2.0 * static_cast<double>(cost.effective_macs) + static_cast<double>(cost.other_flops);
  const bool may_be_transformed = !cost.form.empty() && cost.form.find('/') == std::string::npos &&
                                  !cost.form.starts_with("depthwise");
  if (!may_be_transformed) return flops;
  double factor = 1;
  const std::string sides = cost.form.substr(cost.form.find_last_of(' ') + 1);
  for (std::size_t at = 0; at < sides.size(); at = sides.find('x', at) + 1) {
    const double side = std::stod(sides.substr(at));
    if (side > 1) factor *= 4 * side / (4 + side - 1);
    if (sides.find('x', at) == std::string::npos) break;
  }
  return flops / factor;
}

// A view takes no time on any engine.
bool costs_something(const LayerCost& cost) {
  return cost.flops > 0 || cost.bytes_read > 0 || cost.bytes_written > 0;
}

class Cutter {
 public:
  Cutter(const Rewritten& source, double width_factor)
      : source_(source), width_(width_factor), portion_of_(graph().node_count(), kNone) {}

  std::vector<Portion> cut() {
    const CostSheet sheet = count_costs(source_.model);
    const double run_bytes = width_ * (static_cast<double>(sheet.totals.parameter_bytes) +
                                       static_cast<double>(plan_memory(source_.model).arena_bytes));
    for (const LayerCost& cost : sheet.layers) {
      if (!cost.node.is_valid() || cost.node.number >= graph().node_count()) continue;
      place(cost);
    }
    for (Portion& portion : portions_) portion.work.run_bytes = run_bytes;
    return std::move(portions_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const Graph& graph() const { return source_.model.graph; }

  void place(const LayerCost& cost) {
    const NodeId id = cost.node;
    if (portion_of_[id.number] != kNone) return add(cost, portions_[portion_of_[id.number]]);
    const std::size_t joined = portion_to_join(id, cost);
    if (joined != kNone) {
      portion_of_[id.number] = joined;
      return join(cost, portions_[joined]);
    }
    portion_of_[id.number] = portions_.size();
    portions_.push_back({.name = cost.name, .op_class = class_of(cost)});
    add(cost, portions_.back());
  }

  // The latest portion among those of its inputs, if nobody else reads what it takes from there.
  std::size_t portion_to_join(NodeId id, const LayerCost& cost) const {
    const Node& node = graph().node(id);
    if (!costs_something(cost) || !element_wise_ops().contains(node.op)) return kNone;
    std::size_t latest = kNone;
    for (const ValueId input : node.inputs) {
      if (!input.is_valid()) continue;
      const NodeId maker = graph().producer(input);
      if (!maker.is_valid() || portion_of_[maker.number] == kNone) continue;
      const std::size_t portion = portion_of_[maker.number];
      const bool is_only_reader = readers(input) == 1;
      if (is_only_reader && (latest == kNone || portion > latest)) latest = portion;
    }
    return latest;
  }

  std::size_t readers(ValueId value) const {
    if (readers_.empty()) count_readers();
    return readers_[value.number];
  }

  void count_readers() const {
    readers_.assign(graph().value_count(), 0);
    for (std::uint32_t i = 0; i < graph().node_count(); ++i) {
      for (const ValueId input : graph().node(NodeId{i}).inputs) {
        if (input.is_valid()) ++readers_[input.number];
      }
    }
    for (const ValueId output : graph().outputs()) ++readers_[output.number];
  }

  void remember(const LayerCost& cost, Portion& portion) const {
    const auto& origins = source_.origins[cost.node.number];
    portion.nodes.insert(portion.nodes.end(), origins.begin(), origins.end());
  }

  void add(const LayerCost& cost, Portion& portion) const {
    // A Gather reads only some rows of its table.
    const auto weights = static_cast<double>(std::min(cost.parameter_bytes, cost.bytes_read));
    portion.work.flops += 2.0 * static_cast<double>(cost.effective_macs) +
                          static_cast<double>(cost.other_flops + cost.bias_flops);
    portion.fewest_flops += fewest_flops(cost);
    portion.work.weight_bytes += width_ * weights;
    portion.work.read_bytes +=
        width_ * std::max(0.0, static_cast<double>(cost.bytes_read) - weights);
    portion.work.written_bytes += width_ * static_cast<double>(cost.bytes_written);
    remember(cost, portion);
  }

  // What it reads of the portion never leaves it; only further operands are read.
  void join(const LayerCost& cost, Portion& portion) const {
    const double further =
        static_cast<double>(cost.bytes_read) - static_cast<double>(cost.bytes_written);
    portion.work.flops += static_cast<double>(cost.flops);
    portion.work.read_bytes += width_ * std::max(0.0, further);
    remember(cost, portion);
  }

  const Rewritten& source_;
  double width_ = 1;
  std::vector<std::size_t> portion_of_;
  std::vector<Portion> portions_;
  mutable std::vector<std::size_t> readers_;  // by value
};

}  // namespace

std::vector<Portion> portions_of(Inferred model, double width_factor) {
  const Rewritten source = simplify(std::move(model));
  std::vector<Portion> portions = Cutter(source, width_factor).cut();
  std::erase_if(portions, [](const Portion& portion) {
    return portion.work.flops <= 0 && portion.work.bytes() <= 0;
  });
  return portions;
}

}  // namespace assay
