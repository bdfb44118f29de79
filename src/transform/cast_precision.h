// Floating types of a whole graph changed: what `assay/precision.h` promises, as a pass that
// remembers where its nodes come from.
#pragma once

#include "transform/edit.h"

namespace assay::transform {

struct PrecisionPlan {
  // Of all floating values, wherever an op may run in it. Undefined: as the model stores them.
  DataType type = DataType::Undefined;
  // What is stored in 16 bits: weights alone, which some ops read as they are and others widened,
  // or activations too; or nothing, though weights have been rounded.
  enum class Stored { Nothing, Weights, Everything };
  Stored in_bfloat16 = Stored::Everything;
  Stored in_float16 = Stored::Everything;
  // Constants that float32 ops read are widened at once; else by a Cast.
  bool widens_constants = false;
  // Caches of keys and values that are carried from run to run are kept in 16 bits.
  bool narrows_caches = false;
};

bool is_half(DataType type);  // bfloat16 or float16

// Whether any value of the graph, or constant, is of 16 bits.
bool holds_halves(const Graph& graph);

// Carried from run to run, and read by cached attention alone.
bool is_key_value_cache(const Graph& graph, const Carried& state);

// A simplified model with Casts where types change. With nothing to change, the model itself.
Rewritten with_precision(Rewritten source, const PrecisionPlan& plan);

// The tensor in another floating type, made when its bytes are first asked for.
Tensor converted(const Tensor& tensor, DataType type);

}  // namespace assay::transform
