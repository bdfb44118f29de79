// Matrix products of 8-bit numbers whose 32-bit sums are finished by a pass of ours: MatMulInteger,
// whose results they are; MatMulIntegerToFloat, whose source is quantised while it runs;
// QLinearMatMul and QGemm where weights less their zero point need 9 bits. There, a row's own sum,
// times the zero point of the weights, is taken from its products.
#include <memory>

#include "base/checked.h"
#include "execute/cpu/lower/integer_sums.h"
#include "execute/cpu/lower/quantized_product.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

std::vector<float> for_each_column(std::vector<float> numbers, std::int64_t n) {
  if (numbers.size() == 1) numbers.assign(static_cast<std::size_t>(n), numbers.front());
  return numbers;
}

// The source's own numbers, one of each, which may change from run to run.
struct SourceNumbers {
  std::optional<Placement> scale = {};  // absent: part of the epilogue's scales
  std::optional<Placement> zero_point = {};
};

struct SumsPlaces {
  Placement source, sums, result;
  SourceNumbers numbers;
};

struct SumsConstants {
  SumsEpilogue epilogue;
  std::vector<std::int32_t> bias = {};
  std::vector<std::int32_t> column_sums = {};
};

Binder sums_binder(const Binder& product, SumsConstants constants, const ProductLayer& layer,
                   const SumsPlaces& places, int threads) {
  constants.column_sums = column_sums(layer);
  const auto shared = std::make_shared<const SumsConstants>(std::move(constants));
  return [=, m = layer.m, k = static_cast<std::size_t>(layer.k)](const Addresses& at) -> Runner {
    const Runner multiply = product(at);
    const std::byte* source = at.bytes(places.source);
    auto* sums = reinterpret_cast<std::int32_t*>(at.bytes(places.sums));
    std::byte* to = at.bytes(places.result);
    const float* scale = places.numbers.scale ? at.floats(*places.numbers.scale) : nullptr;
    const std::byte* zero =
        places.numbers.zero_point ? at.bytes(*places.numbers.zero_point) : nullptr;
    const bool is_signed = places.source.type == DataType::Int8;
    return [=] {
      multiply();
      const SumsEpilogue& how = shared->epilogue;
      SumsRow row{.source_zero_point = zero_point_at(zero, is_signed),
                  .column_sums = shared->column_sums.data(),
                  .scales = how.scales.data(),
                  .integer_bias = shared->bias.empty() ? nullptr : shared->bias.data()};
      if (scale != nullptr) row.source_scale = *scale;
      const std::size_t width = shared->column_sums.size();
      const std::size_t stride = width * how.result_bytes();
      execute::in_parallel(threads, m, [&](std::int64_t first, std::int64_t last) {
        SumsRow own = row;
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
          if (!how.zero_points.empty())
            own.source_sum = simd().byte_sum(source + i * k, is_signed, k);
          finish_sums(how, own, sums + i * width, to + i * stride, width);
        }
      });
    };
  };
}

// Adds the step that makes `value`.
bool add_sums_step(Lowering& lowering, const ProductLayer& layer, ValueId source,
                   const SourceNumbers& numbers, SumsConstants constants, ValueId value,
                   const std::vector<NodeId>& covered = {}) {
  constants.epilogue.zero_points = layer.weight_zero_points;
  Product what;
  what.source = plain_desc({layer.m, layer.k}, type_of(lowering, source));
  what.result = plain_desc({layer.m, layer.n}, DataType::Int32);
  SumsPlaces places{
      .source = lowering.row_major(source), .sums = {}, .result = {}, .numbers = numbers};
  places.sums = row_major_placement({}, DataType::Int32, {layer.m, layer.n});
  places.sums.buffer = lowering.new_buffer(places.sums.bytes());
  auto step = product_step(lowering, layer, what, places.source, places.sums, {});
  if (!step) return false;
  places.result = lowering.new_row_major(value);
  StepDraft& draft = step->draft;
  for (const auto& read : {numbers.scale, numbers.zero_point}) {
    if (read) draft.reads.push_back(*read);
  }
  draft.writes = {places.result};
  draft.workspace.push_back(places.sums.buffer);
  for (const NodeId node : covered) {
    lowering.cover(node);
    draft.nodes.push_back(node);
  }
  const int threads = threads_for(lowering, Rows{layer.m, layer.n});
  lowering.add_step(draft, sums_binder(step->bind, std::move(constants), layer, places, threads));
  lowering.set_placement(value, places.result);
  return true;
}

bool has_one_number(const Lowering& lowering, ValueId id) {
  return !lowering.is_dynamic(id) && checked_product(lowering.dims(id)).value_or(0) == 1;
}

std::optional<SourceNumbers> source_numbers(Lowering& lowering, ValueId scale, ValueId zero_point) {
  SourceNumbers numbers;
  if (scale.is_valid()) {
    if (!lowering.is_float(scale) || !has_one_number(lowering, scale)) return {};
    numbers.scale = lowering.row_major(scale);
  }
  if (zero_point.is_valid()) {
    if (!has_one_number(lowering, zero_point)) return {};
    numbers.zero_point = lowering.row_major(zero_point);
  }
  return numbers;
}

bool lower_product_to_float(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const auto layer = product_layer_of(
      lowering, id,
      {.source = input(0), .weights = input(1), .weight_scale = input(3), .weight_zero = input(5)},
      false);
  if (!layer || lowering.is_dynamic(node.outputs[0])) return false;
  SumsEpilogue epilogue{.kind = SumsKind::Floats};
  epilogue.scales = for_each_column(layer->weight_scales, layer->n);
  epilogue.bias = constant_numbers(lowering, input(6));
  if (input(6).is_valid() && static_cast<std::int64_t>(epilogue.bias.size()) != layer->n)
    return false;
  const auto numbers = source_numbers(lowering, input(2), input(4));
  return numbers && add_sums_step(lowering, *layer, input(0), *numbers, {std::move(epilogue)},
                                  node.outputs[0]);
}

bool lower_integer_product(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const auto layer = product_layer_of(
      lowering, id, {.source = input(0), .weights = input(1), .weight_zero = input(3)}, false);
  if (!layer || lowering.is_dynamic(node.outputs[0])) return false;
  const auto numbers = source_numbers(lowering, {}, input(2));
  return numbers && add_sums_step(lowering, *layer, input(0), *numbers, {{.kind = SumsKind::Sums}},
                                  node.outputs[0]);
}

}  // namespace

bool lower_by_sums(Lowering& lowering, const ProductLayer& layer, const Tensor* bias) {
  const Node& node = lowering.node(layer.id);
  const ProductOperands of = operands_of(node);
  ValueId value = node.outputs[0];
  SumsEpilogue epilogue{.kind = of.result_scale.is_valid() ? SumsKind::Bytes : SumsKind::Floats};
  const auto source =
      scale8_of(lowering, of.source_scale, of.source_zero, type_of(lowering, of.source));
  if (!source) return false;
  if (epilogue.kind == SumsKind::Bytes) {
    const auto to = scale8_of(lowering, of.result_scale, of.result_zero, type_of(lowering, value));
    if (!to) return false;
    epilogue.to = *to;
  }
  for (const float scale : for_each_column(layer.weight_scales, layer.n))
    epilogue.scales.push_back(source->scale * scale / epilogue.to.scale);
  std::vector<std::int32_t> sums;
  if (bias != nullptr) {
    sums = bias->to_vector<std::int32_t>();
    sums.resize(static_cast<std::size_t>(layer.n), sums.front());
  }
  const auto clip = epilogue.kind == SumsKind::Bytes ? clip_after(lowering, value) : std::nullopt;
  if (clip) {
    const std::int32_t zero = epilogue.to.zero_point;
    epilogue.clamp = FloatBounds{static_cast<float>(clip->clamp.low - zero),
                                 static_cast<float>(clip->clamp.high - zero)};
    value = lowering.node(clip->node).outputs[0];
  }
  const auto numbers = source_numbers(lowering, {}, of.source_zero);
  const std::vector<NodeId> covered = clip ? std::vector{clip->node} : std::vector<NodeId>{};
  return numbers && add_sums_step(lowering, layer, of.source, *numbers,
                                  {std::move(epilogue), std::move(sums)}, value, covered);
}

void add_integer_product_lowering(LowerTable& table) {
  table["MatMulInteger"] = lower_integer_product;
  table["com.microsoft.MatMulIntegerToFloat"] = lower_product_to_float;
}

}  // namespace assay::cpu
