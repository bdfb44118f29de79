// What the lowerings of LSTM and GRU share with those of their gradients, which have the op's own
// inputs and attributes.
#pragma once

#include "execute/cpu/kernels/recurrent.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

struct RecurrentLayer {
  RecurrentSizes sizes = {};  // of the first direction
  std::int64_t directions = 1;

  RecurrentSizes direction(std::int64_t index) const;
  std::size_t own_inputs() const { return sizes.is_lstm() ? 8 : 6; }
};

// Nothing where the node is not of the form that is fast here.
std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node);

// What a direction's forward run leaves in its buffers.
struct RecurrentTrace {
  Place gates;
  Place hidden;
  Place cell;
};

// Results of the op that somebody reads.
struct RecurrentOutputs {
  std::optional<Place> all = {};
  std::optional<Place> last_hidden = {};
  std::optional<Place> last_cell = {};
};

// A step for each direction.
std::vector<RecurrentTrace> add_forward_steps(Lowering& lowering, NodeId id,
                                              const RecurrentLayer& layer,
                                              const RecurrentOutputs& outputs);

Place scratch_floats(Lowering& lowering, std::int64_t count);

// The input's place, if there is such an input.
std::optional<Place> given_place(Lowering& lowering, const Node& node, std::size_t input);

// Where a direction's part of a place begins; null for no place.
float* part_at(const Addresses& at, const std::optional<Place>& place, std::int64_t offset);

// W, R and B of all directions, where they are stored.
struct RecurrentWeightPlaces {
  Place input;
  Place recurrent;
  std::optional<Place> bias;
};
void add_weights(const RecurrentWeightPlaces& places, StepDraft& draft);
RecurrentWeightPlaces weight_places(Lowering& lowering, const Node& node);
PlainWeights weights_of(const RecurrentSizes& sizes, std::int64_t direction,
                        const RecurrentWeightPlaces& places, const Addresses& at);

}  // namespace assay::cpu
