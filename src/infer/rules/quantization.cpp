// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include "infer/rules.h"

namespace assay::infer {

namespace {

void quantize(InferContext& context) {
  DataType element = context.type_from("output_dtype", DataType::Undefined);
  if (context.has(2)) element = context.element(2);
  if (element == DataType::Undefined) element = DataType::UInt8;
  context.set(0, element, context.type(0).shape);
}

void dequantize(InferContext& context) {
  context.set(0, context.element(1), context.type(0).shape);
}

void dynamic_quantize(InferContext& context) {
  context.set(0, DataType::UInt8, context.type(0).shape);
  context.set(1, DataType::Float32, Shape{});
  context.set(2, DataType::UInt8, Shape{});
}

}  // namespace

void add_quantization_rules(RuleTable& table) {
  table["QuantizeLinear"] = quantize;
  table["DequantizeLinear"] = dequantize;
  table["DynamicQuantizeLinear"] = dynamic_quantize;
}

}  // namespace assay::infer
