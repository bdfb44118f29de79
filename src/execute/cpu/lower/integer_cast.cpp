// Cast between integers and floats, as masks and sums of 8-bit products need it.
#include "base/number_cast.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

template <typename From, typename To>
void convert(const std::byte* from, std::byte* to, std::int64_t first, std::int64_t last) {
  const auto* numbers = reinterpret_cast<const From*>(from);
  auto* results = reinterpret_cast<To*>(to);
  for (std::int64_t i = first; i < last; ++i) results[i] = number_cast<To>(numbers[i]);
}

using Conversion = void (*)(const std::byte*, std::byte*, std::int64_t, std::int64_t);

Conversion conversion_from_floats(DataType to) {
  switch (to) {
    case DataType::Int32:
      return convert<float, std::int32_t>;
    case DataType::Int64:
      return convert<float, std::int64_t>;
    case DataType::Int8:
      return convert<float, std::int8_t>;
    case DataType::UInt8:
      return convert<float, std::uint8_t>;
    default:
      return nullptr;
  }
}

Conversion conversion(DataType from, DataType to) {
  if (to == DataType::Float32) {
    switch (from) {
      case DataType::Int32:
        return convert<std::int32_t, float>;
      case DataType::Int64:
        return convert<std::int64_t, float>;
      case DataType::Int8:
        return convert<std::int8_t, float>;
      case DataType::UInt8:
        return convert<std::uint8_t, float>;
      default:
        return nullptr;
    }
  }
  if (from == DataType::Float32) return conversion_from_floats(to);
  if (from == DataType::Int64 && to == DataType::Int32) return convert<std::int64_t, std::int32_t>;
  if (from == DataType::Int32 && to == DataType::Int64) return convert<std::int32_t, std::int64_t>;
  return nullptr;
}

}  // namespace

bool lower_integer_cast(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId value = node.outputs[0];
  const Conversion function =
      conversion(type_of(lowering, node.inputs[0]), type_of(lowering, value));
  if (function == nullptr) return false;
  const Placement native = lowering.native(node.inputs[0]);
  // oneDNN, whose layout an image has, knows no integers of 64 bits.
  const bool is_image = is_dense_image(native) && type_of(lowering, value) != DataType::Int64;
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
