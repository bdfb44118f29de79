// Who owns which stored tensor, and what it is: a parameter, a statistic or a constant.
//
// Parameters are what training would change. A tensor reaches its op through Transpose, Cast,
// DequantizeLinear and the like; the first op that really uses it owns it, so that a layer's row
// carries the layer's weights, and each stored tensor is counted once.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "assay/infer.h"

namespace assay::cost {

enum class Role { Constant, Statistic, Parameter };

struct OwnedParameters {
  std::int64_t parameters = 0;
  std::int64_t parameter_bytes = 0;
};

struct Ledger {
  // What each node owns; nodes of subgraphs are found under their own graph.
  std::map<std::pair<const Graph*, NodeId>, OwnedParameters> owned;
  OwnedParameters unowned;  // parameters that no executed node reads
  std::int64_t statistics = 0;
  std::int64_t statistics_bytes = 0;
  std::int64_t constants = 0;
  std::int64_t constants_bytes = 0;
};

Ledger make_ledger(const Inferred& model, std::optional<DataType> stored_as);

// The bytes of a tensor as counted: floating tensors take the width of `stored_as` where given.
std::int64_t counted_bytes(DataType type, std::int64_t elements, std::optional<DataType> stored_as);

}  // namespace assay::cost
