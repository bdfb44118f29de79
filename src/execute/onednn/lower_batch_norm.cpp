// Batch norms in training and their gradients, by oneDNN, in the layout the images have.
#include "base/checked.h"
#include "execute/onednn/steps.h"

namespace assay::onednn {

namespace {

bool is_slow(const BatchNormChoice& choice) {
  return choice.implementation.starts_with("ref") ||
         choice.implementation.find("sse41") != std::string::npos;
}

std::optional<Desc> layout_of(Lowering& lowering, ValueId images) {
  const Dims dims = lowering.dims(images);
  if (dims.size() < 2 || dims.size() > 5 || checked_product(dims).value_or(0) == 0) return {};
  const Place native = lowering.native(images);
  return native.blocked ? *native.blocked : plain_desc(dims);
}

Place new_vector(Lowering& lowering, std::int64_t elements) {
  const auto bytes = elements * static_cast<std::int64_t>(sizeof(float));
  return row_major_place(lowering.new_buffer(bytes), DataType::Float32, {elements});
}

Place new_like(Lowering& lowering, const Desc& layout, const Dims& dims) {
  return place_for(lowering.new_buffer(static_cast<std::int64_t>(bytes_of(layout))), layout, dims);
}

// running · momentum + of the batch · (1 - momentum), written over the running statistic itself
// where nobody needs that any more.
struct RunningStatistic {
  Place from;
  Place to;
};

RunningStatistic running_statistic(Lowering& lowering, NodeId id, std::size_t input) {
  const Node& node = lowering.node(id);
  const ValueId running = node.inputs[input];
  const ValueId next = node.outputs[input - 2];
  RunningStatistic statistic{.from = lowering.row_major(running), .to = {}};
  statistic.to = lowering.may_replace(running, id) ? statistic.from : lowering.new_row_major(next);
  lowering.set_place(next, statistic.to);
  return statistic;
}

void follow(const float* running, const float* of_batch, float momentum, float* to,
            std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c) {
    to[c] = momentum * running[c] + (1 - momentum) * of_batch[c];
  }
}

bool takes_vectors(const Lowering& lowering, const Node& node, std::size_t first, std::size_t last,
                   std::int64_t channels) {
  for (std::size_t i = first; i <= last; ++i) {
    if (!lowering.is_float(node.inputs[i])) return false;
    if (lowering.dims(node.inputs[i]) != Dims{channels}) return false;
  }
  return true;
}

}  // namespace

bool lower_trained_batch_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() != 5 || node.outputs.size() != 3 || !node.has_output(2)) return false;
  if (!lowering.is_float(node.inputs[0])) return false;
  const auto layout = layout_of(lowering, node.inputs[0]);
  if (!layout) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!takes_vectors(lowering, node, 1, 4, dims[1])) return false;
  const auto choice = batch_norm({*layout, node.float_or("epsilon", 1e-5f)});
  if (!choice || is_slow(*choice)) return false;
  const Place source = lowering.in_layout(node.inputs[0], *layout);
  const Place result = new_like(lowering, *layout, dims);
  const Place mean = new_vector(lowering, dims[1]);
  const Place variance = new_vector(lowering, dims[1]);
  const Place scale = lowering.row_major(node.inputs[1]);
  const Place shift = lowering.row_major(node.inputs[2]);
  const RunningStatistic running_mean = running_statistic(lowering, id, 3);
  const RunningStatistic running_variance = running_statistic(lowering, id, 4);
  const Desc vector = plain_desc({dims[1]});
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .executed_flops = saturating_multiply(result.elements(), 7),
                  .reads = {source, scale, shift, running_mean.from, running_variance.from},
                  .writes = {result, mean, variance, running_mean.to, running_variance.to}};
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, *layout, source}, {DNNL_ARG_DST, *layout, result},
      {DNNL_ARG_SCALE, vector, scale}, {DNNL_ARG_SHIFT, vector, shift},
      {DNNL_ARG_MEAN, vector, mean},   {DNNL_ARG_VARIANCE, vector, variance}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  const Binder normalise = primitive_binder(choice->primitive, std::move(arguments));
  const float momentum = node.float_or("momentum", 0.9f);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const Runner run = normalise(at);
    const auto channels = static_cast<std::size_t>(mean.elements());
    const float* means[] = {at.floats(running_mean.from), at.floats(mean)};
    const float* variances[] = {at.floats(running_variance.from), at.floats(variance)};
    float* to_mean = at.floats(running_mean.to);
    float* to_variance = at.floats(running_variance.to);
    return [=] {
      run();
      follow(means[0], means[1], momentum, to_mean, channels);
      follow(variances[0], variances[1], momentum, to_variance, channels);
    };
  });
  lowering.set_place(node.outputs[0], result);
  lowering.keep_statistics(node.inputs[0], {mean, variance});
  return true;
}

namespace {

bool lower_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto* statistics = lowering.statistics_of(node.inputs[0]);
  const auto layout = layout_of(lowering, node.inputs[0]);
  if (statistics == nullptr || !layout || node.outputs.size() != 3) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!takes_vectors(lowering, node, 1, 1, dims[1])) return false;
  const auto choice = batch_norm_gradient({*layout, node.float_or("epsilon", 1e-5f)});
  if (!choice || is_slow(*choice)) return false;
  const Place source = lowering.in_layout(node.inputs[0], *layout);
  const Place gradient = lowering.in_layout(node.inputs[2], *layout);
  const Place scale = lowering.row_major(node.inputs[1]);
  const bool in_place = lowering.may_overwrite(node.inputs[2], id) &&
                        gradient.buffer == lowering.native(node.inputs[2]).buffer;
  const Place result = in_place ? gradient : new_like(lowering, *layout, dims);
  const Place by_scale = lowering.new_row_major(node.outputs[1]);
  const Place by_shift = lowering.new_row_major(node.outputs[2]);
  const Desc vector = plain_desc({dims[1]});
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .executed_flops = saturating_multiply(result.elements(), 10),
                  .reads = {source, gradient, scale, statistics->mean, statistics->variance},
                  .writes = {result, by_scale, by_shift}};
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, *layout, source},           {DNNL_ARG_DIFF_DST, *layout, gradient},
      {DNNL_ARG_DIFF_SRC, *layout, result},      {DNNL_ARG_SCALE, vector, scale},
      {DNNL_ARG_SHIFT, vector, scale},  // asked for, never read
      {DNNL_ARG_MEAN, vector, statistics->mean}, {DNNL_ARG_VARIANCE, vector, statistics->variance},
      {DNNL_ARG_DIFF_SCALE, vector, by_scale},   {DNNL_ARG_DIFF_SHIFT, vector, by_shift}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  lowering.add_step(draft, primitive_binder(choice->primitive, std::move(arguments)));
  lowering.set_place(node.outputs[0], result);
  lowering.set_place(node.outputs[1], by_scale);
  lowering.set_place(node.outputs[2], by_shift);
  return true;
}

}  // namespace

void add_batch_norm_gradient_lowering(LowerTable& table) {
  table["assay.BatchNormalizationGradient"] = lower_gradient;
}

}  // namespace assay::onednn
