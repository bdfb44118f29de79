#include "execute/cuda/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "execute/cuda/expressions.h"
#include "execute/cuda/kernel_text.h"
#include "graph/node_kinds.h"

namespace assay::cuda {

namespace {

constexpr std::size_t kMostNodes = 32;
constexpr std::size_t kMostOperands = 16;

// Writes nodes as statements, and collects what they read.
class ChainWriter {
 public:
  ChainWriter(Lowering& lowering, const Chain& chain)
      : lowering_(lowering), dims_(lowering.dims(chain.result)) {
    if (chain.start.is_valid()) names_[chain.start] = "x";
  }

  void write(const Node& node);
  ChainText finish(ValueId result) {
    text_.result = names_.at(result);
    return std::move(text_);
  }

  // An input as an expression of the type it is computed in.
  std::string input(const Node& node, std::size_t i) { return read(node.inputs[i], {}); }
  // A vector along an axis.
  std::string vector(const Node& node, std::size_t i, std::size_t axis) {
    return read(node.inputs[i], axis);
  }
  std::size_t axis(const Node& node) const {
    const auto rank = static_cast<std::int64_t>(dims_.size());
    const std::int64_t axis = node.int_or("axis", 1);
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  }
  DataType type(ValueId id) const { return lowering_.type(id); }

 private:
  using Key = std::pair<ValueId, std::optional<std::size_t>>;

  std::string read(ValueId id, std::optional<std::size_t> axis);
  std::optional<std::string> literal(ValueId id) const;

  Lowering& lowering_;
  Dims dims_;
  std::map<ValueId, std::string> names_;  // of what the chain computes
  std::map<Key, std::string> operands_;
  ChainText text_;
};

std::optional<std::string> ChainWriter::literal(ValueId id) const {
  const Tensor* tensor = lowering_.constant(id);
  if (tensor == nullptr || tensor->elements() != 1) return {};
  const std::string type = computed_type(tensor->type());
  if (is_integer(tensor->type()) && tensor->type() != DataType::UInt64)
    return fmt::format("({}){}ll", type, tensor->to_int64().front());
  return number_text(tensor->to_double().front(), type);
}

std::string ChainWriter::read(ValueId id, std::optional<std::size_t> axis) {
  const auto computed = names_.find(id);
  if (computed != names_.end()) return computed->second;
  if (const auto number = literal(id)) return *number;
  const auto [found, is_new] =
      operands_.try_emplace({id, axis}, fmt::format("a{}", text_.operands.size()));
  if (is_new) {
    const Placement native = lowering_.native(id);
    text_.operands.push_back(axis ? along_axis(native, dims_, *axis) : broadcast(native, dims_));
  }
  return found->second;
}

std::string range_text(DataType type, const std::string& x) {
  const bool is_signed = type == DataType::Int8 || type == DataType::Int16;
  const int width = bits(type);
  const int low = is_signed ? -(1 << (width - 1)) : 0;
  const int high = low + (1 << width) - 1;
  return fmt::format("limited({}, {}.0f, {}.0f)", x, low, high);
}

using Special = std::string (*)(ChainWriter&, const Node&);

std::string batch_norm(ChainWriter& write, const Node& node) {
  const auto vector = [&](std::size_t i) { return write.vector(node, i, 1); };
  const std::string epsilon = number_text(node.float_or("epsilon", 1e-5f), "float");
  return fmt::format("(({} - {}) * ({} / sqrt({} + {})) + {})", write.input(node, 0), vector(3),
                     vector(1), vector(4), epsilon, vector(2));
}

std::string dequantized(ChainWriter& write, const Node& node) {
  const std::size_t axis = write.axis(node);
  const std::string scale = write.vector(node, 1, axis);
  if (!node.has_input(2)) return fmt::format("((float){} * {})", write.input(node, 0), scale);
  return fmt::format("((float)((int){} - (int){}) * {})", write.input(node, 0),
                     write.vector(node, 2, axis), scale);
}

std::string quantized(ChainWriter& write, const Node& node) {
  const std::size_t axis = write.axis(node);
  const std::string zero =
      node.has_input(2) ? "(float)" + write.vector(node, 2, axis) : std::string("0.0f");
  const DataType type = write.type(node.outputs[0]);
  return range_text(type, fmt::format("rint({} / {}) + {}", write.input(node, 0),
                                      write.vector(node, 1, axis), zero));
}

const std::map<std::string, Special>& specials() {
  static const std::map<std::string, Special> kTable = {{"BatchNormalization", batch_norm},
                                                        {"DequantizeLinear", dequantized},
                                                        {"QuantizeLinear", quantized}};
  return kTable;
}

// What comparisons and choices compute in is not the type of their result.
std::size_t deciding_input(const Node& node) {
  return node.is("Where") ? 1 : 0;
}

bool is_cast(const Node& node) {
  return node.is("Cast") || node.is("CastLike");
}

// Inputs that change what is computed and not only its numbers are no operands.
std::size_t operand_count(const Node& node) {
  return node.is("Dropout") || is_cast(node) ? 1 : node.inputs.size();
}

void ChainWriter::write(const Node& node) {
  const DataType to = lowering_.type(node.outputs[0]);
  std::string expression;
  int flops = 1;
  const auto special = specials().find(node.op);
  if (node.is_standard() && special != specials().end()) {
    expression = special->second(*this, node);
    flops = 2;
  } else {
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < operand_count(node); ++i)
      inputs.push_back(node.has_input(i) ? input(node, i) : "");
    const std::string type = computed_type(lowering_.type(node.inputs[deciding_input(node)]));
    const auto operation = operation_of(node, inputs, type);
    expression = is_cast(node)
                     ? cast_text(lowering_.type(node.inputs[0]), to, operation->expression)
                     : operation->expression;
    flops = operation->flops;
  }
  const std::string name = fmt::format("v{}", names_.size());
  const std::string type = computed_type(to);
  text_.statements += fmt::format("  const {0} {1} = ({0})({2});\n", type, name, expression);
  text_.flops +=
      flops * lowering_.graph().value(node.outputs[0]).type.shape->elements().value_or(0);
  names_[node.outputs[0]] = name;
}

// What a chain could hold so far.
class Growth {
 public:
  Growth(const Lowering& lowering, Dims dims) : lowering_(lowering), dims_(std::move(dims)) {}

  void produce(ValueId id) {
    produced_.insert(id);
    for (const NodeId reader : lowering_.readers(id)) frontier_.insert(reader);
  }

  bool can_take(NodeId id) const {
    const Node& node = lowering_.node(id);
    if (lowering_.is_covered(id) || !is_elementwise(lowering_, node)) return false;
    if (lowering_.dims(node.outputs[0]) != dims_) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      return !input.is_valid() || produced_.contains(input) || lowering_.is_available(input);
    });
  }

  void take(NodeId id) {
    nodes_.push_back(id);
    for (const ValueId input : lowering_.node(id).inputs)
      if (input.is_valid() && !produced_.contains(input)) operands_.insert(input);
    produce(lowering_.node(id).outputs[0]);
  }

  // Nothing but the last result is needed outside.
  bool is_closed() const {
    const ValueId last = lowering_.node(nodes_.back()).outputs[0];
    return std::ranges::all_of(produced_, [&](ValueId id) {
      if (id == last) return true;
      if (lowering_.is_visible(id)) return false;
      return std::ranges::all_of(lowering_.readers(id), [&](NodeId reader) {
        return std::ranges::find(nodes_, reader) != nodes_.end();
      });
    });
  }

  // The longest closed part of what can be reached.
  std::vector<NodeId> grown(std::vector<NodeId> first) {
    std::vector<NodeId> best = first;
    for (const NodeId id : first) take(id);
    while (!frontier_.empty() && nodes_.size() < kMostNodes && operands_.size() < kMostOperands) {
      const NodeId next = *frontier_.begin();
      frontier_.erase(frontier_.begin());
      if (std::ranges::find(nodes_, next) != nodes_.end() || !can_take(next)) continue;
      take(next);
      if (is_closed()) best = nodes_;
    }
    return best;
  }

 private:
  const Lowering& lowering_;
  Dims dims_;
  std::vector<NodeId> nodes_;
  std::set<ValueId> produced_;
  std::set<ValueId> operands_;
  std::set<NodeId> frontier_;
};

}  // namespace

namespace {

// One number for each channel, of stored statistics.
bool is_plain_batch_norm(const Lowering& lowering, const Node& node) {
  const std::int64_t opset = lowering.graph().opset();
  constexpr std::int64_t kFirstOpsetOfChannels = 9;
  const bool is_per_element = opset < kFirstOpsetOfChannels && node.int_or("spatial", 1) == 0;
  return lowering.dims(node.inputs[0]).size() > 1 && !is_per_element &&
         !graph::is_training_batch_norm(node, opset);
}

// Unless it is known to be inference.
bool drops(const Lowering& lowering, const Node& node) {
  if (!node.has_input(2)) return false;
  const auto trains = lowering.number(node.inputs[2]);
  const auto ratio = node.has_input(1) ? lowering.number(node.inputs[1]) : 0.5;
  return trains != 0.0 && ratio != 0.0;
}

// Old versions let the second operand begin at any axis of the first.
bool broadcasts_from_an_axis(const Lowering& lowering, const Node& node) {
  constexpr std::int64_t kFirstOpsetOfBroadcasting = 7;
  return lowering.graph().opset() < kFirstOpsetOfBroadcasting && node.inputs.size() > 1 &&
         node.find("axis") != nullptr;
}

}  // namespace

bool is_elementwise(const Lowering& lowering, const Node& node) {
  const auto fits = [&](ValueId id) { return !id.is_valid() || lowering.is_on_device(id); };
  if (node.inputs.empty() || !node.inputs[0].is_valid()) return false;
  if (!std::ranges::all_of(node.inputs, fits) || !fits(node.outputs[0])) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.has_output(i) && lowering.is_read(node.outputs[i])) return false;
  if (node.is_standard() && specials().contains(node.op)) {
    if (node.is("BatchNormalization") && !is_plain_batch_norm(lowering, node)) return false;
    if (node.int_or("block_size", 0) != 0) return false;
    return node.is("QuantizeLinear") ? bits(lowering.type(node.outputs[0])) <= 16
                                     : computed_type(lowering.type(node.outputs[0])) == "float";
  }
  if (!has_expression(node) || broadcasts_from_an_axis(lowering, node)) return false;
  if (node.is("Dropout") && drops(lowering, node)) return false;
  const std::vector<std::string> dummies(operand_count(node), "x");
  const std::string type = computed_type(lowering.type(node.inputs[deciding_input(node)]));
  return operation_of(node, dummies, type).has_value();
}

Chain chain_from(const Lowering& lowering, NodeId first) {
  const ValueId output = lowering.node(first).outputs[0];
  Chain chain{
      .nodes = Growth(lowering, lowering.dims(output)).grown({first}), .start = {}, .result = {}};
  chain.result = lowering.node(chain.nodes.back()).outputs[0];
  return chain;
}

Chain chain_after(const Lowering& lowering, ValueId start) {
  Growth growth(lowering, lowering.dims(start));
  growth.produce(start);
  Chain chain{.nodes = growth.grown({}), .start = start, .result = start};
  if (!chain.nodes.empty()) chain.result = lowering.node(chain.nodes.back()).outputs[0];
  return chain;
}

ChainText text_of(Lowering& lowering, const Chain& chain) {
  ChainWriter writer(lowering, chain);
  for (const NodeId id : chain.nodes) writer.write(lowering.node(id));
  return writer.finish(chain.result);
}

}  // namespace assay::cuda
