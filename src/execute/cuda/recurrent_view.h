// RNN, GRU and LSTM and their gradients, as kernels see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/cuda/activation_text.h"
#include "execute/cuda/lowering.h"

namespace assay::cuda {

struct RecurrentView {
  std::string op;  // "LSTM"
  std::int64_t gates = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t features = 0;
  std::int64_t directions = 1;
  bool is_reverse = false;
  bool is_batch_first = false;
  bool resets_before = false;               // the reset gate of a GRU acts before the product
  bool is_coupled = false;                  // the forget gate is 1 - the input gate
  double clip = 0;                          // bounds the input of every activation; 0: no bound
  Placement input;                          // steps, batch, features
  Placement weight;                         // directions, gates · hidden, features
  Placement recurrence;                     // directions, gates · hidden, hidden
  std::string type;                         // it computes in
  std::vector<ActivationText> activations;  // of each direction

  std::int64_t rows() const { return gates * hidden; }
  // Of a warp, which so reads a row of weights once for all of them.
  std::int64_t samples() const;
  bool has_cell() const { return op == "LSTM"; }
  DataType sum_type() const { return type == "double" ? DataType::Float64 : DataType::Float32; }

  // Expressions of the coordinates d, b and u.
  std::string reversed_text() const;
  std::string activated(std::size_t function, const std::string& x) const;
  std::string slope(std::size_t function, const std::string& x) const;
  // "name[…]", of a buffer of directions, batch, hidden.
  std::string own(const std::string& name) const;
  // Of sample b at step `step`, an expression; needs `length`.
  std::string position(const std::string& step) const;
};

void swap_axes(Placement& placement, std::size_t a, std::size_t b);

// Of a node whose first inputs and attributes are those of `op`; nothing if it is no usual one.
std::optional<RecurrentView> recurrent_view_of(Lowering& lowering, const Node& node,
                                               const std::string& op);

// What the forward pass keeps for the gradient, in this order; those it lacks have no buffer.
enum RecurrentKept {
  kKeptSums,   // directions, steps · batch, gates · hidden: what activations were computed of
  kKeptState,  // directions, steps · batch, hidden: before the step
  kKeptCell,   // an LSTM's, the same
  kKeptReset,  // of a GRU: the reset state, or what is multiplied by the reset gate
  kKeptEntries
};
inline constexpr const char* kRecurrentKept = "recurrent";

// The gradient that has all of the op's own inputs and attributes; invalid: none.
NodeId recurrent_gradient_of(const Lowering& lowering, const Node& node);

}  // namespace assay::cuda
