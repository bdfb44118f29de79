// A graph that is rebuilt node by node, where one node may become several. Values keep their
// numbers; those between the new nodes are added. Every new node bears the name of the one it came
// from, which is also its origin.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "transform/edit.h"

namespace assay::transform {

inline constexpr const char* kMicrosoftDomain = "com.microsoft";

// An operator without its results.
struct Piece {
  std::string op;
  std::vector<ValueId> inputs;
  std::vector<Attribute> attributes = {};
  std::string domain = "";
};

class Expansion {
 public:
  explicit Expansion(Inferred model);

  // The node whose turn it is, without outputs that nothing reads.
  void begin(NodeId id);
  const Node& node() const { return node_; }
  void keep();  // as it was
  // The node in float32, where it works in 16 bits: operands are converted first, and what the
  // pieces make afterwards, by `narrow`.
  void widen();
  void narrow();

  // Facts about values.
  bool is_float(ValueId id) const;                         // float32 of known shape, with elements
  bool are_floats(const std::vector<ValueId>& ids) const;  // all that are valid
  Dims dims(ValueId id) const;
  DataType element(ValueId id) const { return graph_.value(id).type.element; }
  const Tensor* constant(ValueId id) const;
  std::int64_t opset() const { return graph_.opset(); }
  const Graph& graph() const { return graph_; }

  ValueId integers(const std::vector<std::int64_t>& numbers);
  ValueId number(float number);
  ValueId floats(const Dims& dims, const std::vector<float>& numbers);

  // The piece as a node whose one result is a new value, or the values given.
  ValueId add(Piece piece, const Dims& dims, DataType element = DataType::Float32);
  std::vector<ValueId> add_many(Piece piece, const std::vector<Dims>& dims,
                                const std::vector<DataType>& elements);
  void add_as(Piece piece, std::vector<ValueId> results);
  // One after the other: each reads what the one before made in the place of its first input. The
  // last makes `result`, and all have its shape.
  void add_chain(std::vector<Piece> pieces, ValueId result);

  // Standard ops whose form depends on the opset.
  Piece clip(ValueId value, float low, float high);
  Piece reduce(const std::string& op, ValueId value, std::int64_t axis, bool keeps_axis);
  Piece split(ValueId value, std::int64_t axis, const std::vector<std::int64_t>& sizes);
  ValueId reshaped(ValueId value, const Dims& dims);
  ValueId as_floats(ValueId integers);

  // What was made for one node and serves others too, by name; invalid where there is none yet.
  ValueId& shared(const std::string& key) { return shared_[key]; }

  Rewritten finish() &&;

 private:
  ValueId new_value(const std::string& what, const Dims& dims, DataType element);

  Inferred old_;
  Graph graph_;
  std::vector<bool> is_read_;  // by value of the old graph
  NodeId current_;
  Node node_;
  std::vector<std::pair<ValueId, ValueId>> widened_results_;  // in float32, and of the old graph
  std::vector<std::vector<NodeId>> origins_;
  std::map<std::string, ValueId> shared_;
};

// Each expands the node whose turn it is, or leaves it and says no.
bool expand_attention(Expansion& expansion);
bool expand_multi_head_attention(Expansion& expansion);
bool expand_quantized_attention(Expansion& expansion);
bool expand_quantized_layer(Expansion& expansion);
bool expand_batch_first(Expansion& expansion);  // LSTM, GRU and RNN
bool expand_loop(Expansion& expansion);
bool expand_column_convolution(Expansion& expansion);

}  // namespace assay::transform
