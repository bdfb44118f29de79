#include "execute/cpu/lowering.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "execute/cpu/names.h"
#include "execute/inputs.h"
#include "execute/precision.h"

namespace assay::cpu {

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
  add_product_lowering(table);
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
  return table;
}

LowerFunction find_lowering(const Node& node) {
  static const LowerTable table = all_lowerings();
  const auto found = table.find(node.is_standard() ? node.op : node.domain + "." + node.op);
  return found == table.end() ? nullptr : found->second;
}

void check_cancelled(Progress* progress) {
  if (progress != nullptr && progress->cancelled()) {
    throw Error(ErrorKind::Cancelled, "compiling was interrupted");
  }
}

std::int64_t total_bytes(const std::vector<Place>& places) {
  std::int64_t sum = 0;
  for (const Place& place : places) sum = saturating_add(sum, place.bytes());
  return sum;
}

}  // namespace

std::byte* Addresses::bytes(const Place& place) const {
  std::byte* start = starts_[place.buffer.number];
  return start + place.offset * bits(place.type) / 8;
}

Lowering::Lowering(const Rewritten& source, const LoweringOptions& options, WeightPool& weights,
                   Tuner& tuner)
    : source_(source),
      options_(options),
      weights_(weights),
      tuner_(tuner),
      dynamic_(
          std::make_shared<std::vector<reference::RuntimeValue>>(source.model.graph.value_count())),
      readers_(consumers(source.model.graph)),
      visible_(source.model.graph.value_count(), false),
      is_state_(source.model.graph.value_count(), false),
      covered_(source.model.graph.node_count(), false),
      native_(source.model.graph.value_count()),
      others_(source.model.graph.value_count()) {
  for (const ValueId output : graph().outputs()) visible_[output.number] = true;
  for (const Carried& state : graph().carried()) is_state_[state.input.number] = true;
  for (const Node& one : graph().nodes()) {
    for_each_subgraph(one, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) visible_[capture.outer.number] = true;
    });
  }
}

void Lowering::run(Progress* progress) {
  place_inputs();
  for (std::uint32_t i = 0; i < graph().node_count(); ++i) {
    check_cancelled(progress);
    if (progress != nullptr) {
      progress->report(static_cast<double>(i) / static_cast<double>(graph().node_count()),
                       "compiling");
    }
    if (!covered_[i]) lower(NodeId{i});
  }
  hand_state_on();
  // Callers read outputs row by row.
  for (const ValueId output : execute::taken_outputs(graph())) {
    if (!is_dynamic(output)) row_major(output);
  }
}

// Where new state was not written over the old, it is copied there in the end.
void Lowering::hand_state_on() {
  for (const auto& [input, output] : graph().carried()) {
    const Place to = native(input);
    const Place from = to.blocked ? in_layout(output, *to.blocked) : row_major(output);
    if (from.buffer != to.buffer) add_reorder(output, from, to);
  }
}

void Lowering::place_inputs() {
  for (const ValueId input : execute::given_inputs(graph())) {
    if (!is_dynamic(input)) set_place(input, new_row_major(input));
  }
}

void Lowering::lower(NodeId id) {
  cover(id);
  const Node& what = node(id);
  const auto is_static = [&](ValueId value) { return !value.is_valid() || !is_dynamic(value); };
  const bool all_static =
      std::ranges::all_of(what.inputs, is_static) && std::ranges::all_of(what.outputs, is_static);
  const LowerFunction lowering = all_static ? find_lowering(what) : nullptr;
  if (lowering == nullptr || !lowering(*this, id)) lower_by_reference(*this, id);
}

const Tensor* Lowering::constant(ValueId id) const {
  if (!id.is_valid()) return nullptr;
  if (const Tensor* stored = graph().initializer(id)) return stored;
  return model().known_value(id);
}

std::optional<double> Lowering::number(ValueId id) const {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->elements() != 1 || tensor->type() == DataType::String) return {};
  return tensor->to_double().front();
}

bool Lowering::is_dynamic(ValueId id) const {
  const ValueType& type = graph().value(id).type;
  return constant(id) == nullptr &&
         (!type.is_tensor() || !type.has_known_shape() || bits(type.element) < 8);
}

bool Lowering::is_float(ValueId id) const {
  if (!id.is_valid() || is_dynamic(id)) return false;
  if (const Tensor* tensor = constant(id)) return tensor->type() == DataType::Float32;
  return graph().value(id).type.element == DataType::Float32;
}

const std::vector<std::int64_t> Lowering::dims(ValueId id) const {
  if (const Tensor* tensor = constant(id)) return tensor->dims();
  return graph().value(id).type.shape->values();
}

bool Lowering::is_available(ValueId id) const {
  return constant(id) != nullptr || native_[id.number].has_value() || is_state_[id.number];
}

NodeId Lowering::only_reader(ValueId id) const {
  const auto& readers = readers_[id.number];
  return readers.size() == 1 && !visible_[id.number] ? readers.front() : NodeId{};
}

bool Lowering::may_overwrite(ValueId id, NodeId reader) const {
  if (constant(id) != nullptr || !native_[id.number]) return false;
  std::vector<BufferId> taken = {native_[id.number]->buffer};
  for (const Place& other : others_[id.number]) taken.push_back(other.buffer);
  const auto is_done = [&](ValueId value) {
    const bool is_input = std::ranges::find(graph().inputs(), value) != graph().inputs().end();
    if (visible_[value.number] || is_input) return false;
    return std::ranges::all_of(readers_[value.number],
                               [&](NodeId one) { return one == reader || covered_[one.number]; });
  };
  return std::ranges::all_of(taken, [&](BufferId buffer) {
    return buffers_[buffer.number].fixed == nullptr &&
           std::ranges::all_of(values_in_[buffer.number], is_done);
  });
}

bool Lowering::may_replace(ValueId id, NodeId reader) const {
  return is_state_[id.number] && std::ranges::all_of(readers_[id.number], [&](NodeId one) {
           return one == reader || covered_[one.number];
         });
}

BufferId Lowering::new_buffer(std::int64_t bytes) {
  buffers_.push_back({.bytes = bytes});
  values_in_.emplace_back();
  return BufferId{static_cast<std::uint32_t>(buffers_.size() - 1)};
}

Place Lowering::new_row_major(ValueId id) {
  Place place = row_major_place({}, graph().value(id).type.element, dims(id));
  place.buffer = new_buffer(place.bytes());
  return place;
}

Place Lowering::new_place(const Desc& desc, const Dims& dims) {
  return place_for(new_buffer(static_cast<std::int64_t>(bytes_of(desc))), desc, dims);
}

void Lowering::set_place(ValueId id, Place place) {
  values_in_[place.buffer.number].push_back(id);
  native_[id.number] = std::move(place);
}

namespace {

// Shows a tensor to `use(first row, part)`, a very large one in parts that need not stay in memory
// afterwards: it is never there twice, as it is stored and as the engine wants it.
constexpr std::int64_t kRowsInPart = 256;

template <typename Use>
void by_parts(const Tensor& tensor, const Use& use) {
  const std::int64_t rows = tensor.dims().empty() ? 1 : tensor.dims()[0];
  if (tensor.byte_size() < kLargeWeight || rows <= kRowsInPart) return use(std::int64_t{0}, tensor);
  for (std::int64_t first = 0; first < rows; first += kRowsInPart) {
    const Tensor part = tensor.rows(first, std::min(kRowsInPart, rows - first));
    use(first, part);
    part.release();
  }
}

void copy_constant(const Tensor& tensor, std::byte* address) {
  by_parts(tensor, [&](std::int64_t, const Tensor& part) {
    if (part.byte_size() > 0) std::memcpy(address, part.bytes().data(), part.byte_size());
    address += part.byte_size();
  });
}

}  // namespace

Place Lowering::place_constant(ValueId id, const Tensor& tensor) {
  if (tensor.type() == DataType::String || bits(tensor.type()) < 8) {
    fail_bad_input("constant '{}': {} cannot be laid out for the fast engine",
                   graph().value(id).name, name(tensor.type()));
  }
  const WeightKey key{tensor.identity(), "stored"};
  const auto known = weights_by_layout_.find(key);
  if (known != weights_by_layout_.end() && tensor.byte_size() > 0) {
    Place place = row_major_place(known->second.buffer, tensor.type(), tensor.dims());
    if (place.bytes() <= known->second.bytes()) return place;
  }
  Place place = row_major_place(new_buffer(static_cast<std::int64_t>(tensor.byte_size())),
                                tensor.type(), tensor.dims());
  if (tensor.byte_size() > 0 && may_use_stored(tensor)) {
    buffers_[place.buffer.number].fixed = stored_bytes_of(tensor);
  } else {
    std::byte* address = weights_.allocate(std::max<std::size_t>(tensor.byte_size(), 1));
    copy_constant(tensor, address);
    buffers_[place.buffer.number].fixed = address;
    if (!is_used_as_stored(tensor)) tensor.release();
  }
  if (tensor.byte_size() > 0) weights_by_layout_[key] = place;
  return place;
}

Place Lowering::native(ValueId id) {
  if (is_open_state(id)) set_place(id, new_row_major(id));
  if (native_[id.number]) return *native_[id.number];
  const Tensor* tensor = constant(id);
  if (tensor == nullptr) fail_running("value '{}' was not computed", graph().value(id).name);
  native_[id.number] = place_constant(id, *tensor);
  return *native_[id.number];
}

Place Lowering::strided(ValueId id) {
  const Place place = native(id);
  return place.blocked ? row_major(id) : place;
}

Place Lowering::row_major(ValueId id) {
  const Place from = native(id);
  if (from.is_row_major()) return from;
  for (const Place& other : others_[id.number]) {
    if (other.is_row_major()) return other;
  }
  Place to = new_row_major(id);
  add_reorder(id, from, to);
  others_[id.number].push_back(to);
  values_in_[to.buffer.number].push_back(id);  // so that no view of it is overwritten
  return to;
}

const Place* Lowering::place_like(ValueId id, const Place& wanted) {
  const auto fits = [&](const Place& place) {
    return wanted.blocked ? place.blocked && *place.blocked == *wanted.blocked
                          : place.is_row_major();
  };
  native(id);
  if (fits(*native_[id.number])) return &*native_[id.number];
  for (const Place& other : others_[id.number]) {
    if (fits(other)) return &other;
  }
  return nullptr;
}

bool Lowering::has_layout(ValueId id, const Desc& desc) {
  if (is_open_state(id)) return true;
  return place_like(id, place_for({}, desc, dims(id))) != nullptr;
}

std::vector<Desc> Lowering::layouts(ValueId id) {
  const Place first = native(id);
  std::vector<Desc> all;
  if (first.blocked || first.is_row_major()) all.push_back(desc_of(first));
  for (const Place& other : others_[id.number]) all.push_back(desc_of(other));
  if (all.empty()) all.push_back(plain_desc(dims(id)));
  return all;
}

Place Lowering::in_layout(ValueId id, const Desc& desc) {
  Place to = place_for({}, desc, dims(id));
  if (is_open_state(id)) {
    to.buffer = new_buffer(static_cast<std::int64_t>(bytes_of(desc)));
    set_place(id, to);
  }
  if (const Place* found = place_like(id, to)) return *found;
  if (!to.blocked) return row_major(id);
  const bool is_seen_alike = desc.dims() == dims(id);
  const Place from = is_seen_alike || native(id).blocked ? native(id) : row_major(id);
  to.buffer = new_buffer(static_cast<std::int64_t>(bytes_of(desc)));
  add_reorder(id, from, to);
  others_[id.number].push_back(to);
  values_in_[to.buffer.number].push_back(id);  // so that no view of it is overwritten
  return to;
}

// Where memory counts, or a weight is very large, one that already lies as the engine wants it is
// used where it is stored. The graph that holds it lives as long as the program.
bool Lowering::may_use_stored(const Tensor& tensor) const {
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % alignof(float) == 0;
  const bool counts =
      options_.program.optimize_for == OptimizeFor::Memory || tensor.byte_size() > kLargeWeight;
  return counts && is_aligned;
}

namespace {

void reorder_whole(const Tensor& tensor, const Desc& from, const Desc& to, std::byte* address) {
  with_floats(tensor,
              [&](const float* values) { reorder(from, const_cast<float*>(values), to, address); });
}

// Whether parts can be written into the layout one after the other.
bool can_be_cut(const Desc& to) {
  const std::int64_t rows = to.dims()[0];
  for (std::int64_t first = 0; first < rows; first += kRowsInPart) {
    if (!rows_of(to, first, std::min(kRowsInPart, rows - first))) return false;
  }
  return true;
}

void reorder_weight(const Tensor& tensor, const Desc& from, const Desc& to, std::byte* address) {
  const Dims dims = from.dims();
  const bool is_stored_by_rows = dims.size() == 2 && from == plain_desc(dims);
  if (tensor.byte_size() < kLargeWeight || !is_stored_by_rows || !can_be_cut(to)) {
    return reorder_whole(tensor, from, to, address);
  }
  by_parts(tensor.reshaped(dims), [&](std::int64_t first, const Tensor& part) {
    const std::int64_t rows = part.dims()[0];
    reorder_whole(part, plain_desc(part.dims()), *rows_of(to, first, rows), address);
  });
}

}  // namespace

std::int64_t Lowering::bytes_used_as_stored() const {
  std::size_t bytes = 0;
  for (const auto& [storage, used] : used_as_stored_) {
    std::vector<Stretch> stretches = used;
    std::ranges::sort(stretches, {}, &Stretch::first);
    std::size_t counted_up_to = 0;  // stretches may overlap
    for (const Stretch& stretch : stretches) {
      const std::size_t first = std::max(stretch.first, counted_up_to);
      if (stretch.last > first) bytes += stretch.last - first;
      counted_up_to = std::max(counted_up_to, stretch.last);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

std::byte* Lowering::stored_bytes_of(const Tensor& tensor) {
  const auto [storage, offset] = tensor.identity();
  used_as_stored_[storage].push_back({offset, offset + tensor.byte_size()});
  return const_cast<std::byte*>(tensor.bytes().data());
}

Place Lowering::weight(const Tensor& tensor, const Desc& from, const Desc& to) {
  std::string layout(reinterpret_cast<const char*>(&to.data), sizeof(to.data));
  if (from == to && may_use_stored(tensor)) {
    const WeightKey key{tensor.identity(), std::move(layout)};
    const auto known = weights_by_layout_.find(key);
    if (known != weights_by_layout_.end()) return known->second;
    Place place = place_for(new_buffer(static_cast<std::int64_t>(bytes_of(to))), to, to.dims());
    place.blocked = to;
    buffers_[place.buffer.number].fixed = stored_bytes_of(tensor);
    return weights_by_layout_[key] = place;
  }
  Place place = prepared_weight(tensor, std::move(layout), bytes_of(to),
                                [from, to](const Tensor& values, std::byte* address) {
                                  reorder_weight(values, from, to, address);
                                });
  place = place_for(place.buffer, to, to.dims());
  place.blocked = to;
  return place;
}

Place Lowering::prepared_weight(const Tensor& tensor, std::string layout, std::size_t bytes,
                                const PrepareWeight& prepare) {
  const WeightKey key{tensor.identity(), std::move(layout)};
  const auto known = weights_by_layout_.find(key);
  if (known != weights_by_layout_.end()) return known->second;
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const Place place =
      row_major_place(new_buffer(static_cast<std::int64_t>(bytes)), DataType::Float32, {floats});
  std::byte* address = weights_.allocate(bytes);
  buffers_[place.buffer.number].fixed = address;
  unprepared_.push_back({tensor, prepare, address});
  return weights_by_layout_[key] = place;
}

void Lowering::add_inner_memory(const ProgramMemory& memory) {
  inner_memory_.weight_bytes += memory.weight_bytes;
  inner_memory_.arena_bytes += memory.arena_bytes;
}

void Lowering::prepare_weights() {
  std::ranges::stable_sort(unprepared_, std::greater(), [](const UnpreparedWeight& weight) {
    return weight.tensor.byte_size();
  });
  for (const auto& [tensor, prepare, address] : unprepared_) {
    prepare(tensor, address);
    if (!is_used_as_stored(tensor)) tensor.release();
  }
  unprepared_.clear();
}

bool Lowering::is_used_as_stored(const Tensor& tensor) const {
  const auto [storage, offset] = tensor.identity();
  const auto used = used_as_stored_.find(storage);
  if (used == used_as_stored_.end()) return false;
  return std::ranges::any_of(used->second, [&, first = offset](const Stretch& stretch) {
    return stretch.first < first + tensor.byte_size() && first < stretch.last;
  });
}

Place Lowering::constant_floats(const std::vector<float>& values, std::vector<std::int64_t> dims) {
  const auto bytes = values.size() * sizeof(float);
  Place place = row_major_place(new_buffer(static_cast<std::int64_t>(bytes)), DataType::Float32,
                                std::move(dims));
  std::byte* address = weights_.allocate(std::max<std::size_t>(bytes, 1));
  if (bytes > 0) std::memcpy(address, values.data(), bytes);
  buffers_[place.buffer.number].fixed = address;
  return place;
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

std::int64_t Lowering::weight_bytes(std::vector<Place> reads) const {
  std::erase_if(reads,
                [&](const Place& place) { return buffers_[place.buffer.number].fixed == nullptr; });
  return total_bytes(reads);
}

void Lowering::add_step(const StepDraft& draft, Binder bind) {
  PlannedStep step;
  step.info.name = graph().display_name(draft.nodes.front());
  step.info.op = node(draft.nodes.front()).op;
  step.info.layers = origins_of(draft.nodes);
  step.info.algorithm = draft.algorithm;
  step.info.precision = execute::precision_of(graph(), node(draft.nodes.front()));
  step.info.device = kDevice;
  step.info.executed_flops = draft.executed_flops;
  step.info.bytes_read = total_bytes(draft.reads);
  step.info.weight_bytes = weight_bytes(draft.reads);
  step.info.bytes_written = total_bytes(draft.writes);
  step.info.fell_back = draft.fell_back;
  step.bind = std::move(bind);
  for (const auto* places : {&draft.reads, &draft.writes}) {
    for (const Place& place : *places) step.touched.push_back(place.buffer);
  }
  step.touched.insert(step.touched.end(), draft.scratch.begin(), draft.scratch.end());
  steps_.push_back(std::move(step));
}

}  // namespace assay::cpu
