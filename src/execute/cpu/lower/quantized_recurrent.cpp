// DynamicQuantizeLSTM in its usual form: default activations, no peepholes, no clipping, sequences
// of equal length; weights, their scales and zero points do not change.
#include "execute/cpu/kernels/quantized_recurrent.h"
#include "base/checked.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/lower/recurrent.h"
#include "execute/cpu/simd/vnni.h"

namespace assay::cpu {

namespace {

// W or R of all directions, [directions, depth, 4·hidden], with one scale and zero point for each
// direction, or for each of its columns.
struct StoredMatrix {
  Tensor numbers;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;

  // `bytes` are those of `numbers`.
  PlainBytes direction(std::int64_t index, const std::byte* bytes) const;
};

template <typename T>
std::span<const T> part_of(const std::vector<T>& numbers, std::int64_t index,
                           std::int64_t directions) {
  const std::size_t count = numbers.size() / static_cast<std::size_t>(directions);
  return std::span(numbers).subspan(static_cast<std::size_t>(index) * count, count);
}

PlainBytes StoredMatrix::direction(std::int64_t index, const std::byte* bytes) const {
  const Dims& dims = numbers.dims();
  return {.numbers = bytes + index * dims[1] * dims[2],
          .is_signed = numbers.type() == DataType::Int8,
          .depth = dims[1],
          .scales = part_of(scales, index, dims[0]),
          .zero_points = part_of(zero_points, index, dims[0])};
}

std::optional<StoredMatrix> stored_matrix(const Lowering& lowering, const Node& node,
                                          std::size_t input, std::size_t scale_input,
                                          const Dims& wanted) {
  if (!node.has_input(scale_input) || !node.has_input(scale_input + 1)) return {};
  const Tensor* numbers = lowering.constant(node.inputs[input]);
  if (numbers == nullptr || !is_8_bit(numbers->type()) || numbers->dims() != wanted) return {};
  StoredMatrix matrix{.numbers = *numbers,
                      .scales = constant_numbers(lowering, node.inputs[scale_input]),
                      .zero_points = {}};
  for (const float zero : constant_numbers(lowering, node.inputs[scale_input + 1]))
    matrix.zero_points.push_back(static_cast<std::int32_t>(zero));
  const auto fits = [&](std::size_t count) {
    const auto directions = static_cast<std::size_t>(wanted[0]);
    return count == directions || count == directions * static_cast<std::size_t>(wanted[2]);
  };
  if (!fits(matrix.scales.size()) || !fits(matrix.zero_points.size())) return {};
  if (wanted[1] > kDeepestByteProduct) return {};
  return matrix;
}

struct QuantizedLstmLayer {
  RecurrentLayer layer;
  StoredMatrix input, recurrent;
  std::vector<float> bias;  // empty: none

  QuantizedLstm direction(std::int64_t index) const;
};

QuantizedLstm QuantizedLstmLayer::direction(std::int64_t index) const {
  const auto own = part_of(bias, index, layer.directions);
  return {layer.direction(index), input.direction(index, input.numbers.bytes().data()),
          recurrent.direction(index, recurrent.numbers.bytes().data()),
          own.empty() ? nullptr : own.data()};
}

bool has_float_states(const Lowering& lowering, const Node& node, const Dims& wanted) {
  for (const std::size_t input : {5u, 6u}) {
    if (!node.has_input(input)) continue;
    if (!lowering.is_float(node.inputs[input])) return false;
    if (lowering.dims(node.inputs[input]) != wanted) return false;
  }
  return true;
}

std::optional<QuantizedLstmLayer> quantized_layer(const Lowering& lowering, const Node& node) {
  const auto layer = usual_layer(lowering, node, 1);
  if (!layer) return {};
  const RecurrentSizes& sizes = layer->sizes;
  const std::int64_t columns = sizes.weight_rows();
  auto input = stored_matrix(lowering, node, 1, 8, {layer->directions, sizes.inputs, columns});
  auto recurrent = stored_matrix(lowering, node, 2, 10, {layer->directions, sizes.hidden, columns});
  if (!input || !recurrent) return {};
  if (!has_float_states(lowering, node, {layer->directions, sizes.batch, sizes.hidden})) return {};
  QuantizedLstmLayer all{*layer, std::move(*input), std::move(*recurrent), {}};
  if (node.has_input(3)) all.bias = constant_numbers(lowering, node.inputs[3]);
  const auto biases = static_cast<std::size_t>(layer->directions * 2 * columns);
  if (node.has_input(3) && all.bias.size() != biases) return {};
  return all;
}

// One matrix of all directions, each packed.
Placement packed_matrix(Lowering& lowering, const RecurrentSizes& sizes, const StoredMatrix& matrix,
                        std::int64_t bytes) {
  const std::int64_t directions = matrix.numbers.dims()[0];
  return lowering.weights().prepared(
      matrix.numbers, "8-bit panels", static_cast<std::size_t>(directions * bytes),
      [=](const Tensor& stored, std::byte* packed) {
        for (std::int64_t i = 0; i < directions; ++i)
          pack_bytes(sizes, matrix.direction(i, stored.bytes().data()),
                     reinterpret_cast<std::int8_t*>(packed) + i * bytes);
      });
}

void add_quantized_direction(Lowering& lowering, NodeId id, const QuantizedLstmLayer& all,
                             std::int64_t index, const RecurrentOutputs& outputs) {
  const auto own = std::make_shared<const QuantizedLstm>(all.direction(index));
  const RecurrentPlacements places =
      place_direction(lowering, lowering.node(id), all.layer, index, outputs);
  const std::int64_t input_bytes = own->input.packed_bytes();
  const std::int64_t recurrent_bytes = own->recurrent.packed_bytes();
  const Placement input = packed_matrix(lowering, own->sizes, all.input, input_bytes);
  const Placement recurrent = packed_matrix(lowering, own->sizes, all.recurrent, recurrent_bytes);
  const int threads = lowering.threads();
  const BufferId workspace = lowering.new_buffer(own->workspace_bytes(threads));
  StepDraft draft = draft_of(id, own->sizes, places);
  draft.precision = "int8";
  draft.reads.push_back(input);
  draft.reads.push_back(recurrent);
  draft.workspace.push_back(workspace);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const QuantizedBuffers buffers{
        .floats = places.buffers_at(at),
        .input = reinterpret_cast<const std::int8_t*>(at.bytes(input)) + index * input_bytes,
        .recurrent =
            reinterpret_cast<const std::int8_t*>(at.bytes(recurrent)) + index * recurrent_bytes,
        .workspace = reinterpret_cast<std::uint8_t*>(at.start(workspace))};
    return [=] { run_quantized_lstm(*own, buffers, fastest_byte_product(), threads); };
  });
}

bool lower_quantized_lstm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (lowering.options().ieee_strict) return false;
  const auto all = quantized_layer(lowering, node);
  if (!all) return false;
  const RecurrentOutputs outputs = place_outputs(lowering, node);
  for (std::int64_t index = 0; index < all->layer.directions; ++index)
    add_quantized_direction(lowering, id, *all, index, outputs);
  return true;
}

}  // namespace

void add_quantized_recurrent_lowering(LowerTable& table) {
  table["com.microsoft.DynamicQuantizeLSTM"] = lower_quantized_lstm;
}

}  // namespace assay::cpu
