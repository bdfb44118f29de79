// Batch norms in training and their gradients, by oneDNN, in the layout the images have.
#include "base/checked.h"
#include "execute/onednn/steps.h"

namespace assay::onednn {

namespace {

constexpr const char* kGradientOp = "BatchNormalizationGradient";

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

// running · momentum + of the batch · (1 - momentum), written over the running statistic itself
// where nobody needs that any more.
struct RunningStatistic {
  Place from;
  Place of_batch;
  Place to;
};

// None where the norm was not asked for them: it repeats what has been done before.
std::vector<RunningStatistic> running_statistics(Lowering& lowering, NodeId id, const Place& mean,
                                                 const Place& variance) {
  const Node& node = lowering.node(id);
  std::vector<RunningStatistic> statistics;
  for (const std::size_t i : {1u, 2u}) {
    if (!node.has_output(i)) continue;
    const ValueId running = node.inputs[2 + i];
    const Place from = lowering.row_major(running);
    const bool in_place = lowering.may_replace(running, id);
    const Place to = in_place ? from : lowering.new_row_major(node.outputs[i]);
    lowering.set_place(node.outputs[i], to);
    statistics.push_back({from, i == 1 ? mean : variance, to});
  }
  return statistics;
}

Runner follow(const RunningStatistic& statistic, float momentum, const Addresses& at) {
  const float* running = at.floats(statistic.from);
  const float* of_batch = at.floats(statistic.of_batch);
  float* to = at.floats(statistic.to);
  return [=, channels = statistic.to.elements()] {
    for (std::int64_t c = 0; c < channels; ++c) {
      to[c] = momentum * running[c] + (1 - momentum) * of_batch[c];
    }
  };
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
  if (node.inputs.size() != 5 || node.outputs.size() > 3) return false;
  if (!lowering.is_float(node.inputs[0])) return false;
  const auto layout = layout_of(lowering, node.inputs[0]);
  if (!layout) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!takes_vectors(lowering, node, 1, 4, dims[1])) return false;
  const auto choice = batch_norm({*layout, node.float_or("epsilon", 1e-5f)});
  if (!choice || is_slow(*choice)) return false;
  const Place source = lowering.in_layout(node.inputs[0], *layout);
  const Place result = lowering.new_place(*layout, dims);
  const Place mean = new_vector(lowering, dims[1]);
  const Place variance = new_vector(lowering, dims[1]);
  const Place scale = lowering.row_major(node.inputs[1]);
  const Place shift = lowering.row_major(node.inputs[2]);
  const auto statistics = running_statistics(lowering, id, mean, variance);
  const Desc vector = plain_desc({dims[1]});
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .executed_flops = saturating_multiply(result.elements(), 7),
                  .reads = {source, scale, shift},
                  .writes = {result, mean, variance}};
  for (const RunningStatistic& one : statistics) {
    draft.reads.push_back(one.from);
    draft.writes.push_back(one.to);
  }
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, *layout, source}, {DNNL_ARG_DST, *layout, result},
      {DNNL_ARG_SCALE, vector, scale}, {DNNL_ARG_SHIFT, vector, shift},
      {DNNL_ARG_MEAN, vector, mean},   {DNNL_ARG_VARIANCE, vector, variance}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  const Binder normalise = primitive_binder(choice->primitive, std::move(arguments));
  const float momentum = node.float_or("momentum", 0.9f);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    std::vector<Runner> parts = {normalise(at)};
    for (const RunningStatistic& one : statistics) parts.push_back(follow(one, momentum, at));
    return [parts] {
      for (const Runner& part : parts) part();
    };
  });
  lowering.set_place(node.outputs[0], result);
  for (const NodeId reader : lowering.readers(node.inputs[0])) {
    if (lowering.node(reader).op == kGradientOp) lowering.keep_for(reader, {mean, variance});
  }
  return true;
}

namespace {

bool lower_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto* statistics = lowering.kept_for(id);
  const auto layout = layout_of(lowering, node.inputs[0]);
  if (statistics == nullptr || !layout || node.outputs.size() != 3) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!takes_vectors(lowering, node, 1, 1, dims[1])) return false;
  const auto choice = batch_norm_gradient({*layout, node.float_or("epsilon", 1e-5f)});
  if (!choice || is_slow(*choice)) return false;
  const Place source = lowering.in_layout(node.inputs[0], *layout);
  const Place gradient = lowering.in_layout(node.inputs[2], *layout);
  const Place mean = (*statistics)[0];
  const Place variance = (*statistics)[1];
  const Place scale = lowering.row_major(node.inputs[1]);
  const bool in_place = lowering.may_overwrite(node.inputs[2], id) &&
                        gradient.buffer == lowering.native(node.inputs[2]).buffer;
  const Place result = in_place ? gradient : lowering.new_place(*layout, dims);
  const Place by_scale = lowering.new_row_major(node.outputs[1]);
  const Place by_shift = lowering.new_row_major(node.outputs[2]);
  const Desc vector = plain_desc({dims[1]});
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .executed_flops = saturating_multiply(result.elements(), 10),
                  .reads = {source, gradient, scale, mean, variance},
                  .writes = {result, by_scale, by_shift}};
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, *layout, source},         {DNNL_ARG_DIFF_DST, *layout, gradient},
      {DNNL_ARG_DIFF_SRC, *layout, result},    {DNNL_ARG_SCALE, vector, scale},
      {DNNL_ARG_SHIFT, vector, scale},  // asked for, never read
      {DNNL_ARG_MEAN, vector, mean},           {DNNL_ARG_VARIANCE, vector, variance},
      {DNNL_ARG_DIFF_SCALE, vector, by_scale}, {DNNL_ARG_DIFF_SHIFT, vector, by_shift}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  lowering.add_step(draft, primitive_binder(choice->primitive, std::move(arguments)));
  lowering.set_place(node.outputs[0], result);
  lowering.set_place(node.outputs[1], by_scale);
  lowering.set_place(node.outputs[2], by_shift);
  return true;
}

}  // namespace

void add_batch_norm_gradient_lowering(LowerTable& table) {
  table[std::string("assay.") + kGradientOp] = lower_gradient;
}

}  // namespace assay::onednn
