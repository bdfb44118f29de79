#include "execute/cuda/lowering.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cuda/chain.h"
#include "execute/cuda/expressions.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/names.h"
#include "execute/inputs.h"
#include "execute/precision.h"
#include "transform/cast_precision.h"

namespace assay::cuda {

using execute::precision_name;
using execute::precision_of;

namespace {

LowerTable all_lowerings() {
  LowerTable table;
  add_elementwise_lowering(table);
  add_view_lowering(table);
  add_movement_lowering(table);
  add_product_lowering(table);
  add_convolution_lowering(table);
  add_pooling_lowering(table);
  add_row_lowering(table);
  add_recurrent_lowering(table);
  add_convolution_gradient_lowering(table);
  add_gradient_lowering(table);
  add_loss_lowering(table);
  add_optimizer_lowering(table);
  add_cached_attention_lowering(table);
  add_weight_only_lowering(table);
  add_norm_lowering(table);
  add_batch_norm_lowering(table);
  add_recurrent_gradient_lowering(table);
  add_selection_lowering(table);
  add_scatter_lowering(table);
  add_resize_lowering(table);
  add_quantized_product_lowering(table);
  add_quantized_convolution_lowering(table);
  add_quantized_elementwise_lowering(table);
  return table;
}

LowerFunction find_lowering(const Node& node) {
  static const LowerTable table = all_lowerings();
  const auto found = table.find(table_name(node));
  return found == table.end() ? nullptr : found->second;
}

void check_cancelled(Progress* progress) {
  if (progress != nullptr && progress->cancelled())
    throw Error(ErrorKind::Cancelled, "compiling was interrupted");
}

std::string storage_of(const std::vector<Placement>& writes, const std::string& precision) {
  if (writes.empty() || !transform::is_half(writes.front().type)) return "";
  const std::string stored = precision_name(writes.front().type);
  return stored == precision ? "" : stored;
}

std::int64_t total_bytes(const std::vector<Placement>& placements) {
  std::int64_t sum = 0;
  for (const Placement& placement : placements)
    sum = saturating_add(sum, placement.distinct_bytes());
  return sum;
}

}  // namespace

Lowering::Lowering(const transform::Rewritten& source, const ProgramOptions& options,
                   const gpu::Device& device)
    : source_(source),
      options_(options),
      device_(device),
      facts_(source.model),
      weights_(device, buffers_),
      libraries_(device),
      contests_(options, device),
      placements_(source.model.graph.value_count()),
      covered_(source.model.graph.node_count(), false),
      is_on_host_(source.model.graph.value_count(), false),
      host_values_(std::make_shared<std::vector<reference::RuntimeValue>>(
          source.model.graph.value_count())) {}

void Lowering::run(Progress* progress) {
  place_inputs();
  const auto count = static_cast<double>(graph().node_count());
  for (std::uint32_t i = 0; i < graph().node_count(); ++i) {
    check_cancelled(progress);
    if (progress != nullptr) progress->report(i / count, "compiling");
    if (!covered_[i]) lower(NodeId{i});
  }
  add_waiting_updates(*this);
  hand_state_on();
  for (const ValueId output : execute::taken_outputs(graph()))
    if (is_on_device(output) && constant(output) == nullptr) row_major(output);
}

void Lowering::finish(Progress* progress) {
  kernels_.compile(device_, progress);
  contests_.decide(*this, progress);
}

void Lowering::place_inputs() {
  for (const ValueId input : execute::given_inputs(graph())) {
    if (is_on_device(input)) {
      set_placement(input, new_row_major(input));
    } else {
      set_on_host(input);
    }
  }
  for (const ValueId input : execute::state_inputs(graph()))
    set_placement(input, new_row_major(input));
}

// The old state is read until the last step; the new one is copied over it in the end, unless a
// step has written it there. One that lies in another's old state is saved from being overwritten
// first.
void Lowering::hand_state_on() {
  struct Copy {
    ValueId value;
    Placement from;
    Placement to;
  };
  std::vector<Copy> copies;
  const auto is_state = [&](BufferId buffer) {
    return std::ranges::any_of(graph().carried(), [&](const Carried& state) {
      return native(state.input).buffer == buffer;
    });
  };
  for (const auto& [input, output] : graph().carried()) {
    const Placement to = native(input);
    Placement from = native(output);
    const bool is_there =
        from.buffer == to.buffer && from.offset == to.offset && from.strides == to.strides;
    if (is_there) continue;
    if (is_state(from.buffer)) {
      const Placement saved = in_new_buffer(row_major_placement(from.type, from.dims));
      add_copy(output, from, saved);
      from = saved;
    }
    copies.push_back({output, from, to});
  }
  for (const Copy& copy : copies) add_copy(copy.value, copy.from, copy.to);
}

bool Lowering::may_replace(ValueId id, NodeId reader) const {
  if (!facts_.is_state(id) || is_visible(id)) return false;
  const std::optional<Placement>& placement = placements_[id.number].native;
  return placement && is_done_with(id, placement->buffer, reader);
}

// Whether all who read this value, or what lies in the same buffer, have been lowered.
bool Lowering::is_done_with(ValueId id, BufferId buffer, NodeId except) const {
  return std::ranges::all_of(readers(id), [&](NodeId one) {
    if (one == except) return true;
    if (!covered_[one.number]) return false;
    return std::ranges::all_of(node(one).outputs, [&](ValueId output) {
      if (!output.is_valid() || !has_placement(output)) return true;
      if (placements_[output.number].native->buffer != buffer) return true;
      return !is_visible(output) && is_done_with(output, buffer, except);
    });
  });
}

void Lowering::lower(NodeId id) {
  cover(id);
  const Node& what = node(id);
  const auto fits = [&](ValueId value) { return !value.is_valid() || is_on_device(value); };
  const bool all_fit =
      std::ranges::all_of(what.inputs, fits) && std::ranges::all_of(what.outputs, fits);
  const LowerFunction lowering = all_fit ? find_lowering(what) : nullptr;
  if (lowering == nullptr || !lowering(*this, id)) lower_on_host(*this, id);
}

void Lowering::compute_first(ValueId id) {
  if (!id.is_valid() || is_available(id)) return;
  const NodeId producer = graph().producer(id);
  if (!producer.is_valid() || covered_[producer.number]) return;
  for (const ValueId input : node(producer).inputs) compute_first(input);
  lower(producer);
}

bool Lowering::is_on_device(ValueId id) const {
  return !facts_.is_dynamic(id) && has_device_type(type(id));
}

std::optional<Dims> Lowering::integers(const Node& node, const char* attribute,
                                       std::size_t input) const {
  if (const auto* found = node.get<std::vector<std::int64_t>>(attribute)) return *found;
  if (!node.has_input(input)) return Dims{};
  const Tensor* tensor = constant(node.inputs[input]);
  if (tensor == nullptr) return {};
  return tensor->to_int64();
}

bool Lowering::is_available(ValueId id) const {
  return constant(id) != nullptr || has_placement(id) || is_on_host_[id.number];
}

Placement Lowering::native(ValueId id) {
  std::optional<Placement>& found = placements_[id.number].native;
  if (found) return *found;
  if (is_on_host_[id.number]) {
    set_placement(id, new_row_major(id));
    add_copy_to_device(*this, id, *found);
    return *found;
  }
  const Tensor* tensor = constant(id);
  if (tensor == nullptr) fail_running("value '{}' was not computed", graph().value(id).name);
  found = weights_.stored(*tensor);
  return *found;
}

Placement Lowering::weight(const Tensor& tensor) {
  return weights_.stored(tensor);
}

Placement Lowering::weight_channels_last(ValueId id) {
  const Tensor* tensor = constant(id);
  return tensor == nullptr ? channels_last(id) : weights_.stored_channels_last(*tensor);
}

const Placement* Lowering::find_placement(ValueId id, bool (Placement::*fits)() const) {
  native(id);
  const ValuePlacements& all = placements_[id.number];
  if ((*all.native.*fits)()) return &*all.native;
  const auto found = std::ranges::find_if(
      all.others, [&](const Placement& placement) { return (placement.*fits)(); });
  return found == all.others.end() ? nullptr : &*found;
}

// The value's buffer is recorded, so that the profile can tell what lives there.
Placement Lowering::copied_to(ValueId id, Placement to) {
  to = in_new_buffer(std::move(to));
  add_copy(id, native(id), to);
  placements_[id.number].others.push_back(to);
  buffers_.add_value(to.buffer, id);
  return to;
}

Placement Lowering::dense(ValueId id) {
  if (const Placement* found = find_placement(id, &Placement::is_dense)) return *found;
  return row_major(id);
}

Placement Lowering::row_major(ValueId id) {
  if (const Placement* found = find_placement(id, &Placement::is_row_major)) return *found;
  return copied_to(id, row_major_placement(type(id), dims(id)));
}

Placement Lowering::channels_last(ValueId id) {
  if (const Placement* found = find_placement(id, &Placement::is_channels_last)) return *found;
  return copied_to(id, channels_last_placement(type(id), dims(id)));
}

Placement Lowering::padded_channels_last(ValueId id, std::int64_t channels) {
  for (const auto fits : {&Placement::is_padded, &Placement::is_channels_last})
    if (const Placement* found = find_placement(id, fits)) return *found;
  return copied_to(id, padded_placement(type(id), dims(id), channels));
}

Placement Lowering::in_new_buffer(Placement placement) {
  placement.offset = 0;
  placement.buffer = new_buffer(placement.bytes_with_gaps());
  return placement;
}

Placement Lowering::wrong_index() {
  if (!wrong_index_) wrong_index_ = in_new_buffer(row_major_placement(DataType::Int64, {3}));
  return *wrong_index_;
}

Placement Lowering::new_row_major(ValueId id) {
  return in_new_buffer(row_major_placement(type(id), dims(id)));
}

Placement Lowering::new_channels_last(ValueId id) {
  return in_new_buffer(channels_last_placement(type(id), dims(id)));
}

void Lowering::set_placement(ValueId id, Placement placement) {
  buffers_.add_value(placement.buffer, id);
  placements_[id.number].native = std::move(placement);
}

std::vector<NodeId> Lowering::origins_of(const std::vector<NodeId>& nodes) const {
  std::vector<NodeId> origins;
  for (const NodeId id : nodes) {
    const auto& own = source_.origins[id.number];
    origins.insert(origins.end(), own.begin(), own.end());
  }
  std::ranges::sort(origins);
  return origins;
}

std::int64_t Lowering::weight_bytes(const std::vector<Placement>& reads) const {
  std::int64_t sum = 0;
  for (const Placement& read : reads)
    if (read.buffer.is_valid() && buffers_.is_fixed(read.buffer))
      sum = saturating_add(sum, read.distinct_bytes());
  return sum;
}

// It is read only where something is wrong.
std::vector<Placement> Lowering::without_wrong_index(std::vector<Placement> reads) const {
  std::erase_if(reads, [&](const Placement& read) { return is_wrong_index(read.buffer); });
  return reads;
}

void Lowering::add_step(const StepDraft& draft, Binder bind) {
  PlannedStep step;
  step.info = {.name = draft.name,
               .op = draft.op,
               .layers = origins_of(draft.nodes),
               .algorithm = draft.algorithm,
               .precision = draft.precision,
               .isa = draft.on_host ? "" : draft.isa,
               .device = draft.on_host ? "cpu" : kDevice,
               .executed_flops = draft.executed_flops,
               .bytes_read = total_bytes(without_wrong_index(draft.reads)),
               .weight_bytes = weight_bytes(draft.reads),
               .bytes_written = total_bytes(draft.writes),
               .fell_back = draft.fell_back};
  if (!draft.nodes.empty()) {
    const Node& main = node(draft.nodes.front());
    step.info.name = graph().display_name(draft.nodes.front());
    step.info.op = main.op;
    if (draft.precision.empty()) step.info.precision = precision_of(graph(), main);
  }
  step.info.storage = storage_of(draft.writes, step.info.precision);
  step.bind = std::move(bind);
  step.on_host = draft.on_host;
  for (const auto* placements : {&draft.reads, &draft.writes})
    for (const Placement& placement : *placements) step.touched.push_back(placement.buffer);
  step.touched.insert(step.touched.end(), draft.workspace.begin(), draft.workspace.end());
  steps_.push_back(std::move(step));
}

void Lowering::add_kernel_step(StepDraft draft, KernelId kernel, const gpu::Launch& shape) {
  KernelCall call{.kernel = kernel, .shape = shape, .arguments = draft.reads};
  call.arguments.insert(call.arguments.end(), draft.writes.begin(), draft.writes.end());
  for (const BufferId id : draft.workspace)
    call.arguments.push_back({.buffer = id, .dims = {}, .strides = {}});
  add_step(draft, binder_of(call));
}

void Lowering::add_contest(const StepDraft& draft, const std::string& question,
                           std::vector<Candidate> candidates) {
  contests_.enter(*this, draft, question, std::move(candidates));
}

void Lowering::add_copy(ValueId value, const Placement& from, const Placement& to) {
  if (to.elements() == 0) return;
  const KernelText kernel = to.is_padded() ? pixel_copy_kernel(from, to) : copy_kernel(from, to);
  add_kernel_step({.name = graph().value(value).name,
                   .op = "Reorder",
                   .algorithm = "copy",
                   .precision = precision_name(to.type),
                   .reads = {from},
                   .writes = {to}},
                  kernels_.add(kernel.text), kernel.shape);
}

}  // namespace assay::cuda
