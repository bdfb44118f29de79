// Batch norms in training and their gradients, in the layout the images have. Once the statistics
// are there, a norm is the first op of an element-wise chain.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "execute/cpu/kernels/batch_norm.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

Placement new_doubles(Lowering& lowering, std::int64_t elements) {
  const auto bytes = elements * static_cast<std::int64_t>(sizeof(double));
  return row_major_placement(lowering.new_buffer(bytes), DataType::Float64, {elements});
}

// One number for each channel, those that fill up a block included: for these it is zero.
Placement new_vector(Lowering& lowering, const NormShape& shape) {
  const auto bytes = shape.all_channels() * static_cast<std::int64_t>(sizeof(float));
  return row_major_placement(lowering.new_buffer(bytes), DataType::Float32, {shape.all_channels()});
}

NormShape norm_shape(const Placement& images) {
  if (images.dims.size() == 2) return {1, 1, images.dims[1], images.dims[0]};
  if (const auto blocks = block_shape(images))
    return {blocks->batch, blocks->channel_blocks, blocks->block, blocks->pixels};
  const std::int64_t pixels = checked_product(std::span(images.dims).subspan(2)).value_or(0);
  return {images.dims[0], images.dims[1], 1, pixels};
}

bool can_sum_up(const Lowering& lowering, ValueId images) {
  const Dims dims = lowering.dims(images);
  return dims.size() >= 2 && checked_product(dims).value_or(0) > 0;
}

// As the images lie, if that is one of the layouts with channels side by side; else row-major.
Placement summable(Lowering& lowering, ValueId images) {
  const Placement native = lowering.native(images);
  return block_shape(native) ? native : lowering.row_major(images);
}

Placement laid_like(Lowering& lowering, ValueId value, const Placement& images) {
  return images.blocked ? lowering.in_layout(value, *images.blocked) : lowering.row_major(value);
}

int threads_for_all(const Lowering& lowering, const NormShape& shape) {
  return threads_for(lowering, Rows{shape.images * shape.groups, shape.channels * shape.pixels});
}

// running · momentum + of the batch · (1 - momentum), written over the running statistic itself
// where nobody needs that any more.
struct RunningStatistic {
  Placement from;
  Placement of_batch;
  Placement to;
};

// None where the norm was not asked for them: it repeats what has been done before.
std::vector<RunningStatistic> running_statistics(Lowering& lowering, NodeId id,
                                                 const Placement& mean, const Placement& variance) {
  const Node& node = lowering.node(id);
  std::vector<RunningStatistic> statistics;
  for (const std::size_t i : {1u, 2u}) {
    if (!node.has_output(i)) continue;
    const ValueId running = node.inputs[2 + i];
    const Placement from = lowering.row_major(running);
    const bool in_place = lowering.may_replace(running, id);
    const Placement to = in_place ? from : lowering.new_row_major(node.outputs[i]);
    lowering.set_placement(node.outputs[i], to);
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

// Scale over standard deviation, and shift, of every channel; zeros for padding.
void find_factors(const NormShape& shape, std::int64_t channels, float epsilon,
                  const float* variance, const float* scale, const float* shift, float* factors,
                  float* shifts) {
  for (std::int64_t c = 0; c < channels; ++c) {
    const double deviation =
        std::sqrt(static_cast<double>(variance[c]) + static_cast<double>(epsilon));
    factors[c] = static_cast<float>(static_cast<double>(scale[c]) / deviation);
    shifts[c] = shift[c];
  }
  std::fill(factors + channels, factors + shape.all_channels(), 0.0f);
  std::fill(shifts + channels, shifts + shape.all_channels(), 0.0f);
}

float epsilon_of(const Node& norm) {
  return norm.float_or("epsilon", 1e-5f);
}

bool is_norm_gradient(const Node& node) {
  return node.domain == kOwnDomain && node.op == "BatchNormalizationGradient";
}

// For those of this very norm: of the same images, with the same scale and epsilon.
void save_for_gradients(Lowering& lowering, const Node& norm, const BatchVectors& found) {
  for (const NodeId reader : lowering.readers(norm.inputs[0])) {
    const Node& gradient = lowering.node(reader);
    if (!is_norm_gradient(gradient) || gradient.inputs[0] != norm.inputs[0]) continue;
    if (gradient.inputs[1] != norm.inputs[1] || epsilon_of(gradient) != epsilon_of(norm)) continue;
    lowering.saved().save(reader, found);
  }
}

}  // namespace

std::optional<BatchVectors> lower_batch_statistics(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() != 5 || node.outputs.size() > 3) return {};
  if (!lowering.is_float(node.inputs[0]) || !can_sum_up(lowering, node.inputs[0])) return {};
  const std::int64_t channels = lowering.dims(node.inputs[0])[1];
  if (!takes_vectors(lowering, node, 1, 4, channels)) return {};
  const Placement images = summable(lowering, node.inputs[0]);
  const NormShape shape = norm_shape(images);
  const BatchVectors found{new_vector(lowering, shape), new_vector(lowering, shape),
                           new_vector(lowering, shape), new_vector(lowering, shape)};
  const Placement scale = lowering.row_major(node.inputs[1]);
  const Placement shift = lowering.row_major(node.inputs[2]);
  const auto statistics = running_statistics(lowering, id, found.mean, found.variance);
  const int threads = threads_for_all(lowering, shape);
  const Placement workspace = new_doubles(lowering, norm_workspace(shape, threads));
  StepDraft draft{.nodes = {id},
                  .algorithm = "statistics of the batch",
                  .executed_flops = saturating_multiply(images.elements(), 4),
                  .reads = {images, scale, shift},
                  .writes = {found.mean, found.variance, found.factor, found.shift},
                  .workspace = {workspace.buffer}};
  for (const RunningStatistic& one : statistics) {
    draft.reads.push_back(one.from);
    draft.writes.push_back(one.to);
  }
  const float momentum = node.float_or("momentum", 0.9f);
  const float epsilon = epsilon_of(node);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    std::vector<Runner> followers;
    for (const RunningStatistic& one : statistics) followers.push_back(follow(one, momentum, at));
    return [=, from = at.floats(images), doubles = reinterpret_cast<double*>(at.bytes(workspace)),
            moments = BatchMoments{at.floats(found.mean), at.floats(found.variance)},
            scales = at.floats(scale), shifts = at.floats(shift), factors = at.floats(found.factor),
            saved_shifts = at.floats(found.shift)] {
      find_moments(shape, threads, from, doubles, moments);
      find_factors(shape, channels, epsilon, moments.variance, scales, shifts, factors,
                   saved_shifts);
      for (const Runner& follower : followers) follower();
    };
  });
  save_for_gradients(lowering, node, found);
  return found;
}

namespace {

// The backward pass of a norm: it starts from the gradient of its result, or of the ReLU's behind
// it.
struct Backward {
  NodeId norm;
  ValueId gradient;
  NodeId relu = {};  // its gradient's node, if it is taken in the same pass
};

bool lower_backward(Lowering& lowering, const Backward& what) {
  const Node& node = lowering.node(what.norm);
  const auto* found = lowering.saved().find<BatchVectors>(what.norm);
  if (found == nullptr || node.outputs.size() != 3) return false;
  const BatchVectors saved = *found;
  const std::int64_t channels = lowering.dims(node.inputs[0])[1];
  if (!takes_vectors(lowering, node, 1, 1, channels)) return false;
  const Placement images = summable(lowering, node.inputs[0]);
  const NormShape shape = norm_shape(images);
  if (shape.all_channels() != saved.mean.elements()) return false;
  const Placement gradient = laid_like(lowering, what.gradient, images);
  const NodeId reader = what.relu.is_valid() ? what.relu : what.norm;
  const bool in_place = lowering.may_overwrite(what.gradient, reader) &&
                        gradient.buffer == lowering.native(what.gradient).buffer;
  const Placement result =
      in_place ? gradient : lowering.new_placement(desc_of(images), images.dims);
  const Placement by_scale = lowering.new_row_major(node.outputs[1]);
  const Placement by_shift = lowering.new_row_major(node.outputs[2]);
  const Placement even = new_vector(lowering, shape);
  const Placement along = new_vector(lowering, shape);
  const int threads = threads_for_all(lowering, shape);
  const Placement workspace = new_doubles(lowering, norm_workspace(shape, threads));
  StepDraft draft{
      .nodes = {what.norm},
      .algorithm = "channel by channel",
      .executed_flops = saturating_multiply(result.elements(), 10),
      .reads = {images, gradient, saved.mean, saved.variance, saved.factor, saved.shift},
      .writes = {result, by_scale, by_shift},
      .workspace = {even.buffer, along.buffer, workspace.buffer}};
  if (what.relu.is_valid()) draft.nodes.push_back(what.relu);
  const float epsilon = epsilon_of(node);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const NormBackward backward{
        .images = at.floats(images),
        .gradients = at.floats(gradient),
        .variance = at.floats(saved.variance),
        .epsilon = epsilon,
        .norm = {at.floats(saved.mean), at.floats(saved.factor), at.floats(saved.shift)},
        .positive_only = what.relu.is_valid(),
        .even = at.floats(even),
        .along = at.floats(along),
        .by_scale = at.floats(by_scale),
        .by_shift = at.floats(by_shift),
        .real_channels = channels,
        .result = at.floats(result)};
    return [=, doubles = reinterpret_cast<double*>(at.bytes(workspace))] {
      norm_backward(shape, threads, backward, doubles);
    };
  });
  lowering.set_placement(node.outputs[0], result);
  lowering.set_placement(node.outputs[1], by_scale);
  lowering.set_placement(node.outputs[2], by_shift);
  return true;
}

bool lower_batch_norm_gradient(Lowering& lowering, NodeId id) {
  return lower_backward(lowering, {.norm = id, .gradient = lowering.node(id).inputs[2]});
}

// Whether the value is a ReLU's, applied to the norm whose gradient that is. Norms that share
// images and scale might still differ in their shift.
bool is_relu_of(const Lowering& lowering, ValueId result, const Node& gradient) {
  const Graph& graph = lowering.graph();
  const NodeId relu = graph.producer(result);
  if (!relu.is_valid() || !graph.node(relu).is("Relu")) return false;
  const NodeId producer = graph.producer(graph.node(relu).inputs[0]);
  if (!producer.is_valid() || !graph.node(producer).is("BatchNormalization")) return false;
  const Node& norm = graph.node(producer);
  if (norm.inputs[0] != gradient.inputs[0] || norm.inputs[1] != gradient.inputs[1]) return false;
  return std::ranges::all_of(lowering.readers(norm.inputs[0]), [&](NodeId reader) {
    const Node& other = lowering.node(reader);
    return !other.is("BatchNormalization") || other.inputs[2] == norm.inputs[2];
  });
}

}  // namespace

bool lower_relu_and_norm_gradient(Lowering& lowering, NodeId id) {
  const Node& relu = lowering.node(id);
  const NodeId reader = lowering.only_reader(relu.outputs[0]);
  if (!reader.is_valid() || lowering.is_covered(reader)) return false;
  const Node& norm = lowering.node(reader);
  if (!is_norm_gradient(norm) || norm.inputs[2] != relu.outputs[0]) return false;
  if (!is_relu_of(lowering, relu.inputs[0], norm)) return false;
  if (!lower_backward(lowering, {.norm = reader, .gradient = relu.inputs[1], .relu = id})) {
    return false;
  }
  lowering.cover(reader);
  return true;
}

void add_batch_norm_gradient_lowering(LowerTable& table) {
  table["assay.BatchNormalizationGradient"] = lower_batch_norm_gradient;
}

}  // namespace assay::cpu
