// Whatever the bytes, reading a model and counting it ends with an answer or with an assay::Error.
//
// Any other exception, std::bad_alloc among them, is a bug, as is a crash, a hang, or memory in
// proportion to a number the file merely claims.
#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/bind.h"
#include "assay/cost.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/memory.h"
#include "assay/onnx.h"

namespace {

using namespace assay;

// Small numbers for whatever the model leaves open.
Shape closed(const std::optional<Shape>& shape) {
  if (!shape) return Shape{1, 2, 4, 4};
  Shape known = *shape;
  for (std::size_t axis = 0; axis < known.rank(); ++axis) {
    if (!known[axis].is_known()) known[axis] = axis == 0 ? 1 : 2;
  }
  return known;
}

Bindings bindings_for(const Graph& graph) {
  Bindings bindings;
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    if (!value.type.is_tensor() || value.type.has_known_shape()) continue;
    bindings.input_shapes[value.name] = closed(value.type.shape);
  }
  return bindings;
}

void count(std::span<const std::byte> bytes) {
  Graph graph = read_onnx(bytes, "fuzz");
  const Bindings bindings = bindings_for(graph);
  BoundGraph bound = bind_inputs(std::move(graph), bindings);
  const Inferred inferred = infer_shapes(std::move(bound.graph));
  count_costs(inferred);
  plan_memory(inferred);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    count(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
    // A refusal is an answer.
  }
  return 0;
}
