// What the lowerings of LSTM, GRU and RNN share with those of their gradients, which have the op's
// own inputs and attributes, and of the LSTM with 8-bit weights.
#pragma once

#include <optional>

#include "execute/cpu/kernels/recurrent.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

struct RecurrentLayer {
  RecurrentSizes sizes = {};  // of the first direction
  std::int64_t directions = 1;
  RecurrentForm second = {};  // of the second direction

  RecurrentSizes direction(std::int64_t index) const;
  std::size_t own_inputs() const { return sizes.is_lstm() ? 8 : 6; }
};

// Nothing where the node is not of the usual form: default activations, no peepholes, no clipping,
// sequences of equal length. Backward passes and 8-bit weights have no other.
std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node);
// The same whatever type the weights have; R has one entry for each unit along `hidden_axis`.
std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node,
                                          std::size_t hidden_axis);

// Results of the op that somebody reads.
struct RecurrentOutputs {
  std::optional<Placement> all = {};
  std::optional<Placement> last_hidden = {};
  std::optional<Placement> last_cell = {};
};

RecurrentOutputs place_outputs(Lowering& lowering, const Node& node);

// Where one direction's operands and workspace live, all but its weights.
struct RecurrentPlacements {
  Placement source;
  std::optional<Placement> hidden = {};  // initial
  std::optional<Placement> cell = {};
  std::optional<Placement> peepholes = {};
  std::optional<Placement> lengths = {};
  RecurrentTrace trace;
  RecurrentOutputs outputs = {};
  std::int64_t state_offset = 0;  // floats to where this direction's part of states begins
  std::int64_t output_step = 0;
  std::int64_t peephole_offset = 0;

  RecurrentBuffers buffers_at(const Addresses& at) const;
};
RecurrentPlacements place_direction(Lowering& lowering, const Node& node,
                                    const RecurrentLayer& layer, std::int64_t index,
                                    const RecurrentOutputs& outputs);
// The weights are still to be added.
StepDraft draft_of(NodeId id, const RecurrentSizes& sizes, const RecurrentPlacements& places);

// A step for each direction.
RecurrentTraces add_forward_steps(Lowering& lowering, NodeId id, const RecurrentLayer& layer,
                                  const RecurrentOutputs& outputs);

Placement workspace_floats(Lowering& lowering, std::int64_t count);

// Where the input lives, if there is such an input.
std::optional<Placement> given_placement(Lowering& lowering, const Node& node, std::size_t input);

// Where a direction's part of a value begins; null for no value.
float* part_at(const Addresses& at, const std::optional<Placement>& placement, std::int64_t offset);

// W, R and B of all directions, where they are stored.
struct RecurrentWeightPlacements {
  Placement input;
  Placement recurrent;
  std::optional<Placement> bias = {};
};
void add_weights(const RecurrentWeightPlacements& placements, StepDraft& draft);
RecurrentWeightPlacements weight_placements(Lowering& lowering, const Node& node);
PlainWeights weights_of(const RecurrentSizes& sizes, std::int64_t direction,
                        const RecurrentWeightPlacements& placements, const Addresses& at);

}  // namespace assay::cpu
