// A batch norm after a convolution is a scale and a shift of each output channel: both go into the
// convolution's weight and bias.
#include <cmath>
#include <cstring>
#include <memory>

#include "transform/batch_norm.h"
#include "transform/cast_precision.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

bool has_foldable_type(const Tensor& tensor) {
  return tensor.type() == DataType::Float32 || is_half(tensor.type());
}

std::vector<double> numbers_of(const Node& node, std::size_t input,
                               const std::function<const Tensor*(ValueId)>& constant) {
  const Tensor* tensor = node.has_input(input) ? constant(node.inputs[input]) : nullptr;
  if (tensor == nullptr || !has_foldable_type(*tensor)) return {};
  return tensor->to_double();
}

}  // namespace

std::optional<ChannelAffine> batch_norm_affine(
    const Node& norm, const std::function<const Tensor*(ValueId)>& constant) {
  if (norm.int_or("training_mode", 0) != 0) return {};
  const auto gamma = numbers_of(norm, 1, constant);
  const auto beta = numbers_of(norm, 2, constant);
  const auto mean = numbers_of(norm, 3, constant);
  const auto variance = numbers_of(norm, 4, constant);
  const std::size_t channels = gamma.size();
  if (channels == 0 || beta.size() != channels || mean.size() != channels ||
      variance.size() != channels) {
    return {};
  }
  const double epsilon = norm.float_or("epsilon", 1e-5f);
  ChannelAffine affine{std::vector<float>(channels), std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const double scale = gamma[c] / std::sqrt(variance[c] + epsilon);
    affine.scale[c] = static_cast<float>(scale);
    affine.shift[c] = static_cast<float>(beta[c] - mean[c] * scale);
  }
  return affine;
}

namespace {

// Made when the engine asks for it, and the original need not stay in memory beside it.
Tensor scaled_weight(const Tensor& weight, const std::shared_ptr<const ChannelAffine>& affine) {
  const auto fill = [weight, affine](std::span<std::byte> bytes) {
    std::memcpy(bytes.data(), weight.bytes().data(), bytes.size());
    weight.release();
    auto* values = reinterpret_cast<float*>(bytes.data());
    const std::size_t per_channel = bytes.size() / sizeof(float) / affine->scale.size();
    for (const float scale : affine->scale) {
      for (std::size_t i = 0; i < per_channel; ++i) *values++ *= scale;
    }
  };
  return Tensor(DataType::Float32, weight.dims(), generated_storage(weight.byte_size(), fill));
}

// In the type of the weight given; rounded once.
Tensor folded_weight_of(const Tensor& weight, const std::shared_ptr<const ChannelAffine>& affine) {
  return converted(scaled_weight(converted(weight, DataType::Float32), affine), weight.type());
}

Tensor shifted_bias(const std::vector<double>& bias, const ChannelAffine& affine) {
  std::vector<float> values = affine.shift;
  for (std::size_t c = 0; c < values.size() && !bias.empty(); ++c) {
    values[c] += static_cast<float>(bias[c] * affine.scale[c]);
  }
  return Tensor::of_float({static_cast<std::int64_t>(values.size())}, values);
}

void fold_into_convolution(GraphEdit& edit, NodeId norm_id) {
  const Node norm = edit.node(norm_id);
  const NodeId conv_id = edit.maker_id(norm.inputs[0]);
  if (!conv_id.is_valid() || !edit.node(conv_id).is("Conv")) return;
  if (edit.only_reader(norm.inputs[0]) != norm_id) return;
  Node conv = edit.node(conv_id);
  const Tensor* weight = conv.has_input(1) ? edit.constant(conv.inputs[1]) : nullptr;
  if (weight == nullptr || !has_foldable_type(*weight) || weight->dims().empty()) return;
  const auto constant = [&](ValueId value) { return edit.constant(value); };
  const auto affine = batch_norm_affine(norm, constant);
  if (!affine || static_cast<std::int64_t>(affine->scale.size()) != weight->dims()[0]) return;
  const auto bias = numbers_of(conv, 2, constant);
  if (conv.has_input(2) && bias.size() != affine->scale.size()) return;

  const DataType type = weight->type();  // adding constants moves the tensors
  const auto shared = std::make_shared<const ChannelAffine>(*affine);
  const std::string name = norm.name.empty() ? conv.name : norm.name;
  const ValueId folded_weight =
      edit.add_constant(name + ".folded_weight", folded_weight_of(*weight, shared));
  const ValueId folded_bias =
      edit.add_constant(name + ".folded_bias", converted(shifted_bias(bias, *shared), type));
  conv.inputs = {conv.inputs[0], folded_weight, folded_bias};
  conv.outputs = {norm.outputs[0]};
  edit.absorb(conv_id, norm_id);
  edit.set_node(norm_id, std::move(conv));
}

}  // namespace

void fold_batch_norms(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (edit.is_alive(id) && edit.node(id).is("BatchNormalization"))
      fold_into_convolution(edit, id);
  }
}

}  // namespace assay::transform
