// What steps of the forward pass save for the gradient of their node, a later node.
#pragma once

#include <map>
#include <variant>
#include <vector>

#include "execute/cpu/placement.h"

namespace assay::cpu {

// Of a batch norm in training: what it found of its images, channel by channel.
struct BatchVectors {
  Placement mean;
  Placement variance;
  Placement factor;  // scale over standard deviation
  Placement shift;
};

// Of one direction of an LSTM or GRU: gates and states of all time steps.
struct RecurrentTrace {
  Placement gates;
  Placement hidden;
  Placement cell;
};
using RecurrentTraces = std::vector<RecurrentTrace>;  // by direction

class SavedForBackward {
 public:
  using Saved = std::variant<BatchVectors, RecurrentTraces>;

  void save(NodeId gradient, Saved saved) { by_gradient_[gradient] = std::move(saved); }
  // Null where nothing of that kind was saved for the gradient.
  template <typename Kind>
  const Kind* find(NodeId gradient) const {
    const auto found = by_gradient_.find(gradient);
    return found == by_gradient_.end() ? nullptr : std::get_if<Kind>(&found->second);
  }

 private:
  std::map<NodeId, Saved> by_gradient_;
};

}  // namespace assay::cpu
