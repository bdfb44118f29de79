#include "execute/cuda/executable.h"

#include <array>

#include "assay/memory.h"
#include "base/fail.h"
#include "execute/inputs.h"
#include "transform/cast_precision.h"
#include "transform/simplify.h"

namespace assay::cuda {

namespace {

// What the widest loads, and NVIDIA's libraries, ask for.
constexpr std::int64_t kAlignment = 256;
constexpr const char* kArenaName = "activations";

transform::PrecisionPlan precision_plan(const ProgramOptions& options) {
  transform::PrecisionPlan plan{.widens_constants = true, .narrows_caches = true};
  if (options.precision) plan.type = *options.precision;
  return plan;
}

}  // namespace

Executable::Executable(Inferred model, const ProgramOptions& options, Progress* progress)
    : device_(gpu::device()), stream_((device_.use(), device_)) {
  for (const ValueId id : execute::state_inputs(model.graph))
    state_types_.push_back(model.graph.value(id).type.element);
  memory_.planned_weight_bytes = execute::stored_bytes(model.graph, options.precision);
  memory_.planned_arena_bytes = plan_memory(model, {.stored_as = options.precision}).arena_bytes;
  rewritten_ =
      transform::with_precision(transform::simplify(std::move(model)), precision_plan(options));
  lower(options, progress);
}

void Executable::lower(const ProgramOptions& options, Progress* progress) {
  Lowering lowering(rewritten_, options, device_);
  lowering.run(progress);
  for (const ValueId id : execute::given_inputs(graph())) inputs_.push_back(port_of(lowering, id));
  for (const ValueId id : execute::state_inputs(graph())) {
    state_.push_back(port_of(lowering, id));
    state_.back().declared = state_types_[state_.size() - 1];
  }
  for (const ValueId id : execute::taken_outputs(graph()))
    outputs_.push_back(port_of(lowering, id));
  check_memory(lowering);
  lowering.finish(progress);
  host_values_ = lowering.host_values();
  kernels_ = std::move(lowering.kernels());
  const Addresses addresses = place_arena(lowering);
  bind(lowering, addresses);
  memory_.weight_bytes = lowering.weights().bytes();
  weights_ = lowering.weights().take();
}

Executable::Port Executable::port_of(Lowering& lowering, ValueId id) const {
  Port port{.id = id, .placement = {}};
  port.constant = lowering.constant(id);
  if (port.constant == nullptr && lowering.is_on_device(id))
    port.placement = lowering.row_major(id);
  return port;
}

execute::ArenaPlan Executable::planned_arena(Lowering& lowering) const {
  const auto& steps = lowering.steps();
  execute::ArenaPlanner planner(lowering.buffers(), steps.size(), kAlignment);
  for (std::size_t i = 0; i < steps.size(); ++i) planner.touch_all(steps[i].touched, i);
  for (const auto* ports : {&inputs_, &state_, &outputs_})
    for (const Port& port : *ports)
      if (port.placement) planner.keep(port.placement->buffer);
  const auto& wrong = lowering.placed_wrong_index();
  if (wrong) planner.keep(wrong->buffer);
  return planner.plan();
}

// Before time is spent on choosing algorithms for what cannot run.
void Executable::check_memory(Lowering& lowering) const {
  const std::int64_t bytes = planned_arena(lowering).bytes;
  if (bytes > device_.free_bytes()) gpu::fail_for_memory(device_, bytes, kArenaName);
}

Addresses Executable::place_arena(Lowering& lowering) {
  execute::ArenaPlan plan = planned_arena(lowering);
  arena_ = gpu::Memory(device_, plan.bytes, kArenaName);
  memory_.arena_bytes = plan.bytes;
  memory_.workspace_bytes = plan.workspace_bytes;
  buffers_ = std::move(plan.buffers);
  std::vector<gpu::DevicePointer> starts;
  for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
    const bool is_there = plan.offsets[i] != execute::ArenaPlan::kNowhere;
    const auto* fixed = lowering.buffers().all()[i].fixed;
    starts.push_back(is_there ? arena_.address() + static_cast<gpu::DevicePointer>(plan.offsets[i])
                              : reinterpret_cast<gpu::DevicePointer>(fixed));
  }
  return {std::move(starts), kernels_};
}

void Executable::bind(Lowering& lowering, const Addresses& addresses) {
  for (PlannedStep& step : lowering.steps()) {
    runners_.push_back(step.bind(addresses));
    on_host_.push_back(step.on_host);
    infos_.push_back(std::move(step.info));
  }
  for (auto* ports : {&inputs_, &state_, &outputs_})
    for (Port& port : *ports)
      if (port.placement) port.address = addresses.of(*port.placement);
  if (const auto& wrong = lowering.placed_wrong_index()) {
    wrong_index_ = addresses.of(*wrong);
    stream_.fill(wrong_index_, 0, wrong->bytes());
  }
}

void Executable::copy_in(const Port& port, const Tensor& tensor) {
  if (!port.placement) {
    (*host_values_)[port.id.number] = tensor;
    return;
  }
  // A cache of 16 bits is given and shown as the model declares it.
  const Tensor kept = transform::converted(tensor, port.placement->type);
  if (kept.byte_size() > 0) stream_.copy_in(port.address, kept.bytes());
  if (kept.type() != tensor.type()) stream_.wait("copying state");
}

Tensor Executable::copied_out(const Port& port) const {
  if (port.constant != nullptr) return *port.constant;
  if (!port.placement) {
    const Tensor* tensor = (*host_values_)[port.id.number].tensor();
    if (tensor == nullptr) fail_bad_input("output '{}' is no tensor", graph().value(port.id).name);
    return *tensor;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(port.placement->bytes()));
  if (!bytes.empty()) stream_.copy_out(bytes, port.address);
  stream_.wait("copying results");
  return Tensor(port.placement->type, port.placement->dims, heap_storage(std::move(bytes)));
}

void Executable::set_inputs(std::span<const Tensor> given) {
  for (std::size_t i = 0; i < given.size(); ++i) copy_in(inputs_[i], given[i]);
  stream_.wait("copying inputs");
}

void Executable::set_state(std::span<const Tensor> state) {
  for (std::size_t i = 0; i < state.size(); ++i) copy_in(state_[i], state[i]);
  stream_.wait("copying state");
}

std::vector<Tensor> Executable::state_values() const {
  std::vector<Tensor> values;
  for (const Port& port : state_)
    values.push_back(transform::converted(copied_out(port), port.declared));
  return values;
}

void Executable::check_indices() const {
  if (wrong_index_ == 0) return;
  std::array<std::int64_t, 3> words = {};
  stream_.copy_out(std::as_writable_bytes(std::span(words)), wrong_index_);
  stream_.wait("running the model");
  if (words[0] == 0) return;
  stream_.fill(wrong_index_, 0, sizeof(words));
  const Node& node = graph().node(NodeId{static_cast<std::uint32_t>(words[0] - 1)});
  const bool is_label = node.op.find("Loss") != std::string::npos || node.domain == kOwnDomain;
  if (is_label)
    fail_bad_input("{} '{}': label {} is not one of {} classes", node.op, node.name, words[1],
                   words[2]);
  fail_bad_input("{} '{}': index {} is out of range for dimension {}", node.op, node.name, words[1],
                 words[2]);
}

Tensor Executable::output(std::size_t i) const {
  return copied_out(outputs_[i]);
}

}  // namespace assay::cuda
