// Cast between integers, truths and floats, as masks and sums of 8-bit products need it.
#include "execute/cpu/kernels/typed.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// oneDNN, whose layout an image has, knows these alone.
bool has_image_layout(DataType type) {
  return type == DataType::Float32 || type == DataType::Int32 || type == DataType::Int8 ||
         type == DataType::UInt8;
}

}  // namespace

bool lower_integer_cast(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId value = node.outputs[0];
  const TypedConversion function =
      typed_conversion(type_of(lowering, node.inputs[0]), type_of(lowering, value));
  if (function == nullptr) return false;
  const Placement native = lowering.native(node.inputs[0]);
  const bool is_image = is_dense_image(native) && has_image_layout(type_of(lowering, value));
  const Placement source = is_image ? native : lowering.row_major(node.inputs[0]);
  if (source.elements() == 0) return false;
  const Placement result = new_dense(lowering, is_image, source.dims, type_of(lowering, value));
  const int threads = threads_for(lowering, Rows{1, source.elements()});
  lowering.add_step({.nodes = {id}, .algorithm = "convert", .reads = {source}, .writes = {result}},
                    [=, count = source.elements()](const Addresses& at) -> Runner {
                      const std::byte* from = at.bytes(source);
                      std::byte* to = at.bytes(result);
                      return [=] {
                        execute::in_parallel(threads, count,
                                             [&](std::int64_t first, std::int64_t last) {
                                               function(from, to, first, last);
                                             });
                      };
                    });
  lowering.set_placement(value, result);
  return true;
}

}  // namespace assay::cpu
