#include "execute/cpu/lowering.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "execute/cpu/names.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/inputs.h"
#include "execute/precision.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

using transform::Rewritten;

namespace {

LowerTable all_lowerings() {
  LowerTable table;
  add_convolution_lowering(table);
  add_convolution_gradient_lowering(table);
  add_pooling_lowering(table);
  add_optimizer_lowering(table);
  add_batch_norm_gradient_lowering(table);
  add_pooling_gradient_lowering(table);
  add_row_gradient_lowering(table);
  add_loss_lowering(table);
  add_quantized_convolution_lowering(table);
  add_integer_product_lowering(table);
  add_quantized_conversion_lowering(table);
  add_byte_table_lowering(table);
  add_quantized_arithmetic_lowering(table);
  add_quantized_concat_lowering(table);
  add_quantized_product_lowering(table);
  add_quantized_pooling_lowering(table);
  add_quantized_softmax_lowering(table);
  add_weight_only_product_lowering(table);
  add_integer_convolution_lowering(table);
  add_quantized_recurrent_lowering(table);
  add_product_lowering(table);
  add_cached_attention_lowering(table);
  add_elementwise_lowering(table);
  add_view_lowering(table);
  add_movement_lowering(table);
  add_gather_lowering(table);
  add_normalization_lowering(table);
  add_resize_lowering(table);
  add_reduction_lowering(table);
  add_recurrent_lowering(table);
  add_recurrent_gradient_lowering(table);
  add_branch_lowering(table);
  add_cast_lowering(table);
  add_direct_lowering(table);
  add_typed_lowering(table);
  add_loop_lowering(table);
  return table;
}

LowerFunction find_lowering(const Node& node) {
  static const LowerTable table = all_lowerings();
  const auto found = table.find(node.is_standard() ? node.op : node.domain + "." + node.op);
  return found == table.end() ? nullptr : found->second;
}

void check_cancelled(Progress* progress) {
  if (progress != nullptr && progress->cancelled()) {
    throw Error(ErrorKind::Cancelled, "cancelled while compiling");
  }
}

// oneDNN changes layout and type at once.
bool converts_in_reorders(DataType from, DataType to) {
  return from != DataType::Float16 && to != DataType::Float16 && has_bfloat16();
}

// Of numbers of 16 bits that are computed in another precision.
std::string storage_of(const std::vector<Placement>& writes, const std::string& precision) {
  if (writes.empty() || !transform::is_half(writes.front().type)) return "";
  const std::string stored = execute::precision_name(writes.front().type);
  return stored == precision ? "" : stored;
}

std::int64_t total_bytes(const std::vector<Placement>& placements) {
  std::int64_t sum = 0;
  for (const Placement& placement : placements) sum = saturating_add(sum, placement.bytes());
  return sum;
}

}  // namespace

std::byte* Addresses::bytes(const Placement& placement) const {
  std::byte* start = starts_[placement.buffer.number];
  return start + placement.offset * bits(placement.type) / 8;
}

Lowering::Lowering(const Rewritten& source, const LoweringOptions& options, WeightPool& weights,
                   Tuner& tuner)
    : source_(source),
      options_(options),
      tuner_(tuner),
      values_(source.model),
      weights_(weights, buffers_, options.program.optimize_for),
      placements_(source.model.graph.value_count()),
      covered_(source.model.graph.node_count(), false),
      dynamic_(
          std::make_shared<std::vector<reference::RuntimeValue>>(source.model.graph.value_count())),
      open_outputs_(execute::taken_outputs(source.model.graph)) {
  std::erase_if(open_outputs_, [&](ValueId id) { return is_dynamic(id) || constant(id); });
}

void Lowering::run(Progress* progress) {
  place_inputs();
  find_complete_outputs();
  for (std::uint32_t i = 0; i < graph().node_count(); ++i) {
    check_cancelled(progress);
    if (progress != nullptr) {
      progress->report(static_cast<double>(i) / static_cast<double>(graph().node_count()),
                       "compiling");
    }
    if (covered_[i]) continue;
    lower(NodeId{i});
    find_complete_outputs();
  }
  hand_state_on();
  for (const ValueId output : open_outputs_) row_major(output);
  for (const ValueId output : open_outputs_) complete(output, row_major(output));
  open_outputs_.clear();
}

// Outputs that are kept are laid out row by row in the end, for callers to read.
void Lowering::find_complete_outputs() {
  if (options_.program.keep_outputs) return;
  const auto is_complete = [&](ValueId id) {
    const NodeId maker = graph().producer(id);
    return placements(id).native && (!maker.is_valid() || is_covered(maker));
  };
  const auto rest = std::ranges::stable_partition(open_outputs_, std::not_fn(is_complete));
  for (const ValueId output : rest) complete(output, as_shown(output));
  open_outputs_.erase(rest.begin(), rest.end());
}

void Lowering::complete(ValueId output, Placement placement) {
  complete_outputs_.push_back({output, std::move(placement), steps_.size()});
}

// As it was left, where that is a layout that an OutputView can tell.
Placement Lowering::as_shown(ValueId output) {
  const Placement placement = native(output);
  const bool is_known = placement.is_row_major() || block_shape(placement);
  return is_known && placement.type == type(output) ? placement : row_major(output);
}

// Where new state was not written over the old, it is copied there in the end.
void Lowering::hand_state_on() {
  for (const auto& [input, output] : graph().carried()) {
    const Placement to = native(input);
    const Placement from = to.blocked ? in_layout(output, *to.blocked) : row_major(output);
    if (from.buffer != to.buffer) add_reorder(output, from, to);
  }
}

void Lowering::place_inputs() {
  for (const ValueId input : execute::given_inputs(graph())) {
    if (!is_dynamic(input)) set_placement(input, new_row_major(input));
  }
}

void Lowering::lower(NodeId id) {
  cover(id);
  const Node& what = node(id);
  const auto is_static = [&](ValueId value) { return !value.is_valid() || !is_dynamic(value); };
  const bool inputs_static = std::ranges::all_of(what.inputs, is_static);
  const bool all_static = inputs_static && std::ranges::all_of(what.outputs, is_static);
  // A loop whose body has known shapes is compiled even if only the data says how often it runs.
  const bool may_run = all_static || (what.is("Loop") && inputs_static);
  const LowerFunction lowering = may_run ? find_lowering(what) : nullptr;
  if (lowering == nullptr || !lowering(*this, id)) lower_by_reference(*this, id);
}

bool Lowering::is_available(ValueId id) const {
  return constant(id) != nullptr || placements(id).native.has_value() || is_state(id);
}

bool Lowering::may_overwrite(ValueId id, NodeId reader) const {
  if (constant(id) != nullptr || !placements(id).native) return false;
  std::vector<BufferId> taken = {placements(id).native->buffer};
  for (const Placement& other : placements(id).others) taken.push_back(other.buffer);
  const auto is_done = [&](ValueId value) {
    const bool is_input = std::ranges::find(graph().inputs(), value) != graph().inputs().end();
    if (values_.is_visible(value) || is_input) return false;
    return std::ranges::all_of(readers(value),
                               [&](NodeId one) { return one == reader || is_covered(one); });
  };
  return std::ranges::all_of(taken, [&](BufferId buffer) {
    return !buffers_.is_fixed(buffer) && std::ranges::all_of(buffers_[buffer].values, is_done);
  });
}

bool Lowering::may_replace(ValueId id, NodeId reader) const {
  return is_state(id) && std::ranges::all_of(readers(id), [&](NodeId one) {
           return one == reader || is_covered(one);
         });
}

Placement Lowering::new_row_major(ValueId id) {
  return new_row_major_as(id, graph().value(id).type.element);
}

Placement Lowering::new_row_major_as(ValueId id, DataType type) {
  return with_buffer(row_major_placement({}, type, dims(id)));
}

Placement Lowering::new_placement(const Desc& desc, const Dims& dims) {
  return placement_for(new_buffer(static_cast<std::int64_t>(bytes_of(desc))), desc, dims);
}

void Lowering::set_placement(ValueId id, Placement placement) {
  buffers_.add_value(placement.buffer, id);
  placements(id).native = std::move(placement);
}

Placement Lowering::place_constant(ValueId id, const Tensor& tensor) {
  if (tensor.type() == DataType::String || bits(tensor.type()) < 8) {
    fail_bad_input("constant '{}': {} cannot be laid out for the fast engine",
                   graph().value(id).name, name(tensor.type()));
  }
  return weights_.stored(tensor);
}

Placement Lowering::native(ValueId id) {
  if (is_open_state(id)) set_placement(id, new_row_major(id));
  std::optional<Placement>& found = placements(id).native;
  if (found) return *found;
  const Tensor* tensor = constant(id);
  if (tensor == nullptr) fail_running("value '{}' was not computed", graph().value(id).name);
  found = place_constant(id, *tensor);
  return *found;
}

Placement Lowering::strided(ValueId id) {
  const Placement placement = native(id);
  return placement.blocked || placement.type != type(id) ? row_major(id) : placement;
}

Placement Lowering::strided_in_any_type(ValueId id) {
  const Placement placement = native(id);
  return placement.blocked ? row_major(id) : placement;
}

Placement Lowering::row_major_in_any_type(ValueId id) {
  const Placement placement = native(id);
  return placement.is_row_major() ? placement : row_major(id);
}

// The value's buffer is recorded, so that no view of it is overwritten.
Placement Lowering::copied_to(ValueId id, const Placement& from, const Placement& to) {
  add_reorder(id, from, to);
  placements(id).others.push_back(to);
  buffers_.add_value(to.buffer, id);
  return to;
}

Placement Lowering::row_major(ValueId id) {
  return row_major_as(id, type(id));
}

Placement Lowering::row_major_as(ValueId id, DataType type) {
  const Placement from = native(id);
  Placement to = row_major_placement({}, type, dims(id));
  if (const Placement* found = placement_like(id, to)) return *found;
  if (const Tensor* tensor = constant(id)) {
    to = weights_.stored(weights_.in_type(*tensor, type));
    placements(id).others.push_back(to);
    return to;
  }
  if (from.blocked && from.type != type && !converts_in_reorders(from.type, type)) {
    return copied_to(id, row_major_as(id, from.type), with_buffer(to));
  }
  return copied_to(id, from, with_buffer(to));
}

// A blocked value in the layout it was left in.
Placement Lowering::in_type(ValueId id, DataType type) {
  const Placement from = native(id);
  const Desc wanted = with_type(*from.blocked, type);
  Placement to = from;
  to.type = type;
  to.blocked = wanted;
  if (const Placement* found = placement_like(id, to)) return *found;
  to.buffer = new_buffer(static_cast<std::int64_t>(bytes_of(wanted)));
  return copied_to(id, from, to);
}

Placement Lowering::with_buffer(Placement placement) {
  placement.buffer = new_buffer(placement.bytes());
  return placement;
}

const Placement* Lowering::placement_like(ValueId id, const Placement& wanted) {
  const auto fits = [&](const Placement& placement) {
    return wanted.blocked ? placement.blocked && *placement.blocked == *wanted.blocked
                          : placement.is_row_major() && placement.type == wanted.type;
  };
  native(id);
  const ValuePlacements& all = placements(id);
  if (fits(*all.native)) return &*all.native;
  const auto found = std::ranges::find_if(all.others, fits);
  return found == all.others.end() ? nullptr : &*found;
}

bool Lowering::has_layout(ValueId id, const Desc& desc) {
  if (is_open_state(id)) return true;
  return placement_like(id, placement_for({}, desc, dims(id))) != nullptr;
}

std::vector<Desc> Lowering::layouts(ValueId id) {
  const Placement first = native(id);
  std::vector<Desc> all;
  if (first.blocked || first.is_row_major()) all.push_back(desc_of(first));
  for (const Placement& other : placements(id).others) all.push_back(desc_of(other));
  if (all.empty()) all.push_back(plain_desc(dims(id), first.type));
  return all;
}

Placement Lowering::in_layout(ValueId id, const Desc& desc) {
  Placement to = placement_for({}, desc, dims(id));
  if (is_open_state(id)) {
    to.buffer = new_buffer(static_cast<std::int64_t>(bytes_of(desc)));
    set_placement(id, to);
  }
  if (const Placement* found = placement_like(id, to)) return *found;
  if (!to.blocked) return row_major_as(id, to.type);
  const bool is_seen_alike = desc.dims() == dims(id);
  Placement from = is_seen_alike || native(id).blocked ? native(id) : row_major(id);
  if (from.type != to.type && !converts_in_reorders(from.type, to.type)) {
    from = from.blocked ? in_type(id, to.type) : row_major_as(id, to.type);
    if (const Placement* found = placement_like(id, to)) return *found;
  }
  to.buffer = new_buffer(static_cast<std::int64_t>(bytes_of(desc)));
  return copied_to(id, from, to);
}

void Lowering::add_inner_memory(const ProgramMemory& memory) {
  inner_memory_.weight_bytes += memory.weight_bytes;
  inner_memory_.arena_bytes += memory.arena_bytes;
  inner_memory_.workspace_bytes += memory.workspace_bytes;
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

std::int64_t Lowering::weight_bytes(std::vector<Placement> reads) const {
  std::erase_if(reads,
                [&](const Placement& placement) { return !buffers_.is_fixed(placement.buffer); });
  return total_bytes(reads);
}

void Lowering::add_step(const StepDraft& draft, Binder bind) {
  PlannedStep step;
  step.info.name = graph().display_name(draft.nodes.front());
  step.info.op = node(draft.nodes.front()).op;
  step.info.layers = origins_of(draft.nodes);
  step.info.algorithm = draft.algorithm;
  step.info.precision = draft.precision.empty()
                            ? execute::precision_of(graph(), node(draft.nodes.front()))
                            : draft.precision;
  step.info.storage = storage_of(draft.writes, step.info.precision);
  step.info.isa = draft.isa.empty() ? isa_of(draft.algorithm, step.info.precision) : draft.isa;
  if (!draft.fell_back.empty()) step.info.isa.clear();
  step.info.device = kDevice;
  step.info.executed_flops = draft.executed_flops;
  step.info.bytes_read = total_bytes(draft.reads);
  step.info.weight_bytes = weight_bytes(draft.reads);
  step.info.bytes_written = total_bytes(draft.writes);
  step.info.fell_back = draft.fell_back;
  step.bind = std::move(bind);
  for (const auto* placements : {&draft.reads, &draft.writes}) {
    for (const Placement& placement : *placements) step.touched.push_back(placement.buffer);
  }
  step.touched.insert(step.touched.end(), draft.workspace.begin(), draft.workspace.end());
  steps_.push_back(std::move(step));
}

}  // namespace assay::cpu
