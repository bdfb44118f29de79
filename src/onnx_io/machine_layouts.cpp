#include "onnx_io/machine_layouts.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"

namespace assay::onnx {

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kBlocked = "com.microsoft.nchwc";

bool has_channels_last(const Node& node) {
  if (node.domain != kMicrosoft) return false;
  if (node.op == "NhwcMaxPool" || node.op == "NhwcFusedConv") return true;
  return node.op == "QLinearConv" ||
         ((node.op == "QLinearAveragePool" || node.op == "QLinearGlobalAveragePool") &&
          node.int_or("channels_last", 0) != 0);
}

bool has_machine_layout(const Node& node) {
  return node.domain == kBlocked || has_channels_last(node);
}

void drop_attribute(Node& node, std::string_view attribute) {
  std::erase_if(node.attributes, [&](const Attribute& a) { return a.name == attribute; });
}

// Filters in blocks of channels as [outputs, inputs, kernel…].
struct FilterBlocks {
  std::size_t outputs = 0, inputs = 0, taps = 0, block = 0;

  // Where few inputs come, only outputs are in blocks.
  std::size_t input_block() const { return inputs < block ? 1 : block; }
  std::size_t stored_index(std::size_t output, std::size_t input, std::size_t tap) const {
    const std::size_t inner = input_block();
    const std::size_t row = (output / block * (inputs / inner) + input / inner) * taps + tap;
    return (row * inner + input % inner) * block + output % block;
  }
};

void unpack(const FilterBlocks& blocks, const std::byte* stored, std::byte* filters) {
  constexpr std::size_t kSize = sizeof(float);
  std::size_t at = 0;
  for (std::size_t output = 0; output < blocks.outputs; ++output) {
    for (std::size_t input = 0; input < blocks.inputs; ++input) {
      for (std::size_t tap = 0; tap < blocks.taps; ++tap, at += kSize)
        std::memcpy(filters + at, stored + blocks.stored_index(output, input, tap) * kSize, kSize);
    }
  }
}

class LayoutRewrite {
 public:
  explicit LayoutRewrite(const Graph& graph) : old_(graph), fresh_(graph.declarations()) {
    for (const Value& value : graph.values()) names_.insert(value.name);
    for (const auto& [value, tensor] : graph.initializers()) fresh_.add_initializer(value, tensor);
    block_ = block_size();
  }

  Graph run() && {
    for (const Node& node : old_.nodes()) rewrite(node);
    std::unordered_set<std::uint32_t> read;
    for (const ValueId output : old_.outputs()) read.insert(output.number);
    for (const Node& node : nodes_) note_reads(node, read);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const bool is_idle = way_back_.contains(i) && !read.contains(nodes_[i].outputs[0].number);
      if (!is_idle) fresh_.add_node(std::move(nodes_[i]));
    }
    return std::move(fresh_);
  }

 private:
  static void note_reads(const Node& node, std::unordered_set<std::uint32_t>& read) {
    for (const ValueId input : node.inputs) {
      if (input.is_valid()) read.insert(input.number);
    }
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) read.insert(capture.outer.number);
    });
  }

  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    fail_bad_input(
        "{} '{}': {}; save the model with ONNX Runtime's optimization level 'extended'", node.op,
        node.name.empty() && node.has_output(0) ? old_.value(node.outputs[0]).name : node.name,
        why);
  }

  std::size_t block_size() const {
    for (const Node& node : old_.nodes()) {
      const Tensor* weights = is_blocked_convolution(node) ? stored(node, 1) : nullptr;
      if (weights != nullptr && !weights->dims().empty() && weights->dims()[0] % 16 != 0) return 8;
    }
    return 16;
  }
  static bool is_blocked_convolution(const Node& node) {
    return node.domain == kBlocked && node.op == "Conv";
  }

  const Tensor* stored(const Node& node, std::size_t input) const {
    return node.has_input(input) ? old_.initializer(node.inputs[input]) : nullptr;
  }

  void rewrite(const Node& node) {
    if (node.domain == kBlocked) return rewrite_blocked(node);
    if (has_channels_last(node)) return rewrite_channels_last(node);
    nodes_.push_back(node);
  }

  // Channels last.

  std::optional<std::size_t> rank_of(const Node& node) const {
    if (const auto* kernel = node.get<Numbers>("kernel_shape")) return kernel->size() + 2;
    const std::size_t weights = node.op == "QLinearConv" ? 3 : 1;
    if (const Tensor* filter = stored(node, weights)) return filter->dims().size();
    if (!node.has_input(0)) return {};
    const ValueType& type = old_.value(node.inputs[0]).type;
    return type.shape ? std::optional(type.shape->rank()) : std::nullopt;
  }

  void rewrite_channels_last(const Node& old) {
    Node node = old;
    const bool is_last = old.op.starts_with("Nhwc") || old.int_or("channels_last", 0) != 0;
    drop_attribute(node, "channels_last");
    if (old.op == "QLinearConv") node.domain = "";
    if (old.op == "NhwcFusedConv") node.op = "FusedConv";
    if (old.op == "NhwcMaxPool") {
      node.op = "MaxPool";
      node.domain = "";
    }
    if (!is_last) return nodes_.push_back(std::move(node));
    const auto rank = rank_of(old);
    if (!rank || *rank < 3 || !node.has_input(0) || !node.has_output(0))
      refuse(old, "the rank of its images is not known");
    node.inputs[0] = channels_first(node.inputs[0], *rank);
    if (old.op == "NhwcFusedConv" && node.has_input(3))
      node.inputs[3] = channels_first(node.inputs[3], *rank);
    add_with_channels_last_result(std::move(node), *rank);
  }

  ValueId channels_first(ValueId id, std::size_t rank) {
    const auto found = channels_first_.find(id.number);
    if (found != channels_first_.end()) return found->second;
    const ValueId moved = new_value(old_.value(id).name + "_channels_first");
    Numbers order = {0, static_cast<std::int64_t>(rank) - 1};
    for (std::size_t i = 1; i + 1 < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    add_transpose(id, moved, std::move(order));
    channels_first_[id.number] = moved;
    return moved;
  }

  // The node makes a value with channels first, from which a Transpose makes the one of the file.
  void add_with_channels_last_result(Node node, std::size_t rank) {
    const ValueId given = node.outputs[0];
    const ValueId result = new_value(old_.value(given).name + "_channels_first");
    node.outputs[0] = result;
    nodes_.push_back(std::move(node));
    channels_first_[given.number] = result;
    add_way_back(result, given, rank);
  }

  void add_way_back(ValueId from, ValueId to, std::size_t rank) {
    Numbers order = {0};
    for (std::size_t i = 2; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    order.push_back(1);
    way_back_.insert(nodes_.size());
    add_transpose(from, to, std::move(order));
  }

  void add_transpose(ValueId from, ValueId to, Numbers order) {
    nodes_.push_back(Node{.name = fresh_.value(to).name,
                          .op = "Transpose",
                          .domain = "",
                          .inputs = {from},
                          .outputs = {to},
                          .attributes = {{"perm", std::move(order)}}});
  }

  ValueId new_value(const std::string& wanted) {
    std::string name = wanted;
    for (std::size_t i = names_.size(); !names_.insert(name).second; ++i)
      name = fmt::format("{}_{}", wanted, i);
    return fresh_.add_value(name);
  }

  // Blocks of channels.

  void rewrite_blocked(const Node& node) {
    constexpr std::size_t kRank = 4;
    const bool is_last = node.int_or("channels_last", 0) != 0;
    if (node.op == "Conv") return rewrite_blocked_convolution(node);
    if (node.op == "ReorderInput") {
      return add_identity(node, is_last ? channels_first(node.inputs[0], kRank) : node.inputs[0],
                          node.outputs[0]);
    }
    if (node.op == "ReorderOutput") {
      const ValueId whole = without_padding(node);
      if (!is_last) return add_identity(node, whole, node.outputs[0]);
      channels_first_[node.outputs[0].number] = whole;
      return add_way_back(whole, node.outputs[0], kRank);
    }
    if (node.op != "MaxPool" && node.op != "AveragePool" && node.op != "GlobalMaxPool" &&
        node.op != "GlobalAveragePool") {
      refuse(node, "it works on blocks of channels");
    }
    Node plain = node;
    plain.domain = "";
    nodes_.push_back(std::move(plain));
  }

  void add_identity(const Node& node, ValueId from, ValueId to) {
    nodes_.push_back(
        Node{.name = node.name, .op = "Identity", .domain = "", .inputs = {from}, .outputs = {to}});
  }

  // Of a ReorderOutput: its input's channels that are not there only to fill a block.
  ValueId without_padding(const Node& node) {
    const std::int64_t channels = node.int_or("channels", 0);
    if (channels % static_cast<std::int64_t>(block_) == 0) return node.inputs[0];
    const ValueId some = new_value(old_.value(node.outputs[0]).name + "_some_channels");
    const auto constant = [&](const char* what, std::int64_t number) {
      const ValueId id = new_value(fmt::format("{}_{}", old_.value(node.outputs[0]).name, what));
      fresh_.add_initializer(id, Tensor::of_int64({1}, {number}));
      return id;
    };
    nodes_.push_back(Node{.name = node.name,
                          .op = "Slice",
                          .domain = "",
                          .inputs = {node.inputs[0], constant("first", 0),
                                     constant("last", channels), constant("axis", 1)},
                          .outputs = {some}});
    return some;
  }

  void rewrite_blocked_convolution(const Node& old) {
    const Tensor* weights = stored(old, 1);
    if (weights == nullptr || weights->type() != DataType::Float32 || weights->dims().size() != 4)
      refuse(old, "its weights are not stored float32 images");
    const ValueId filters = new_value(old_.value(old.inputs[1]).name + "_unpacked");
    fresh_.add_initializer(filters, unpacked(old, *weights));
    Node node = old;
    node.inputs[1] = filters;
    const bool is_fused = old.has_input(3) || !old.string_or("activation", "").empty();
    node.domain = is_fused ? kMicrosoft : "";
    node.op = is_fused ? "FusedConv" : "Conv";
    if (!is_fused) {
      drop_attribute(node, "activation");
      drop_attribute(node, "activation_params");
      node.inputs.resize(std::min<std::size_t>(node.inputs.size(), 3));
    }
    nodes_.push_back(std::move(node));
  }

  Tensor unpacked(const Node& node, const Tensor& weights) const {
    const auto size = [&](std::size_t i) { return static_cast<std::size_t>(weights.dims()[i]); };
    const FilterBlocks blocks{
        .outputs = size(0), .inputs = size(1), .taps = size(2) * size(3), .block = block_};
    if (blocks.outputs % block_ != 0 || blocks.inputs % blocks.input_block() != 0)
      refuse(node, fmt::format("its channels do not fill blocks of {}", block_));
    const auto storage =
        generated_storage(weights.byte_size(), [weights, blocks](std::span<std::byte> filters) {
          unpack(blocks, weights.bytes().data(), filters.data());
        });
    return Tensor(DataType::Float32, weights.dims(), storage);
  }

  const Graph& old_;
  Graph fresh_;
  std::size_t block_ = 16;
  std::vector<Node> nodes_;
  std::unordered_set<std::size_t> way_back_;  // positions of Transposes that may have no reader
  std::unordered_map<std::uint32_t, ValueId> channels_first_;  // by value with channels last
  std::unordered_set<std::string> names_;
};

}  // namespace

bool has_machine_layouts(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), has_machine_layout);
}

Graph without_machine_layouts(const Graph& graph) {
  return LayoutRewrite(graph).run();
}

}  // namespace assay::onnx
