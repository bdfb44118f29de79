#include "execute/cpu/executable.h"

#include <algorithm>
#include <cstring>

#include "assay/memory.h"
#include "base/as_size.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "base/instruction_set.h"
#include "execute/arena_plan.h"
#include "execute/cpu/arena_guard.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/library_memory.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/simd/fp16/fp16_product.h"
#include "execute/cpu/tensor_floats.h"
#include "execute/inputs.h"
#include "transform/cast_precision.h"
#include "transform/simplify.h"

namespace assay::cpu {

using transform::PrecisionPlan;
using transform::simplify;
using transform::with_precision;

namespace {

constexpr std::int64_t kAlignment = 64;

bool converts_float16() {
  return may_use(InstructionSet::Avx2);
}

// Activations are of 16 bits where oneDNN computes on bfloat16, the processor on float16, or it
// converts float16 (F16C) and memory counts; else weights alone, which is what a layer that reads
// many of them gains from.
PrecisionPlan precision_plan(const LoweringOptions& lowering) {
  const ProgramOptions& options = lowering.program;
  PrecisionPlan plan{.widens_constants = true};
  if (options.precision) plan.type = *options.precision;
  // To convert activations takes longer than to read wide ones from the caches.
  const bool converts = converts_float16() && options.optimize_for == OptimizeFor::Memory;
  if (fp16() == nullptr && !converts) plan.in_float16 = PrecisionPlan::Stored::Weights;
  if (!has_bfloat16()) plan.in_bfloat16 = PrecisionPlan::Stored::Weights;
  plan.in_float16 = std::min(plan.in_float16, lowering.stored);
  plan.in_bfloat16 = std::min(plan.in_bfloat16, lowering.stored);
  return plan;
}

}  // namespace

Executable::Executable(Inferred model, const LoweringOptions& options, Progress* progress)
    : weights_(options.program.optimize_for), keeps_outputs_(options.program.keep_outputs) {
  memory_.planned_weight_bytes = execute::stored_bytes(model.graph, options.program.precision);
  memory_.planned_arena_bytes =
      plan_memory(model, {.stored_as = options.program.precision}).arena_bytes;
  check_memory_for(saturating_add(memory_.planned_weight_bytes, memory_.planned_arena_bytes),
                   std::string_view("running this model"));
  rewritten_ =
      with_precision(simplify(std::move(model), {.has_8_bit_products = has_exact_8_bit_products()}),
                     precision_plan(options));
  lower(options, progress);
}

void Executable::lower(const LoweringOptions& options, Progress* progress) {
  const bool has_to_fit = options.program.optimize_for == OptimizeFor::Memory;
  const ForgetPrimitives forget_primitives(has_to_fit);
  Tuner tuner({.model_bytes = memory_.planned_weight_bytes,
               .threads = options.threads,
               .measures = !has_to_fit,
               .file = execute::tuning_place(options.program)});
  Lowering lowering(rewritten_, options, weights_, tuner);
  lowering.run(progress);
  tuner.save();
  if (has_to_fit) give_back_code_pages();
  lowering.weights().prepare();
  if (has_to_fit) give_back_code_pages();
  find_inputs_and_outputs(lowering);
  bind(lowering, plan_arena(lowering));
  memory_.weight_bytes = weights_.bytes() + lowering.weights().bytes_used_as_stored() +
                         lowering.inner_memory().weight_bytes;
  memory_.arena_bytes += lowering.inner_memory().arena_bytes;
  memory_.workspace_bytes += lowering.inner_memory().workspace_bytes;
  dynamic_ = lowering.dynamic_values();
}

void Executable::find_inputs_and_outputs(Lowering& lowering) {
  for (const ValueId id : execute::given_inputs(graph())) {
    Input input{.id = id, .placement = {}};
    if (!lowering.is_dynamic(id)) input.placement = lowering.native(id);
    inputs_.push_back(std::move(input));
  }
  for (const ValueId id : execute::state_inputs(graph())) state_.push_back({lowering.native(id)});
  for (const ValueId id : execute::taken_outputs(graph())) {
    Output output{.id = id,
                  .placement = {},
                  .constant = lowering.constant(id),
                  .complete_after = lowering.steps().size()};
    const auto& complete = lowering.complete_outputs();
    const auto found = std::ranges::find(complete, id, &CompleteOutput::id);
    if (found != complete.end()) {
      output.placement = found->placement;
      output.complete_after = found->steps;
    }
    outputs_.push_back(std::move(output));
  }
}

std::vector<std::byte*> Executable::plan_arena(Lowering& lowering) {
  const auto& steps = lowering.steps();
  execute::ArenaPlanner planner(lowering.buffers(), steps.size(), kAlignment, kArenaGap);
  for (std::size_t i = 0; i < steps.size(); ++i) planner.touch_all(steps[i].touched, i);
  for (const Input& input : inputs_) {
    if (input.placement) planner.keep(input.placement->buffer);
  }
  for (const Output& output : outputs_) {
    if (!output.placement) continue;
    if (keeps_outputs_) planner.keep(output.placement->buffer);
    planner.touch(output.placement->buffer, std::max<std::size_t>(output.complete_after, 1) - 1);
  }
  for (const State& state : state_) planner.keep(state.placement.buffer);
  execute::ArenaPlan plan = planner.plan();
  arena_ = MemoryBlock(static_cast<std::size_t>(plan.bytes), "activations");
  memory_.arena_bytes = plan.bytes;
  memory_.workspace_bytes = plan.workspace_bytes;
  buffers_ = std::move(plan.buffers);
  std::vector<std::byte*> addresses;
  for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
    const bool is_there = plan.offsets[i] != execute::ArenaPlan::kNowhere;
    addresses.push_back(is_there ? arena_.data() + plan.offsets[i]
                                 : lowering.buffers().all()[i].fixed);
  }
  return addresses;
}

namespace {

OutputView view_of(const Tensor& tensor, std::size_t output) {
  return {.output = output, .type = tensor.type(), .dims = tensor.dims(), .bytes = tensor.bytes()};
}

OutputView view_of(const Placement& placement, const std::byte* address, std::size_t output) {
  const auto shape = block_shape(placement);
  const std::size_t bytes = shape ? bytes_of(*placement.blocked) : as_size(placement.bytes());
  return {.output = output,
          .type = placement.type,
          .dims = placement.dims,
          .bytes = {address, bytes},
          .channel_block = shape ? shape->block : 0};
}

}  // namespace

void Executable::bind(Lowering& lowering, std::vector<std::byte*> starts) {
  const Addresses addresses(std::move(starts));
  const std::span<std::byte> arena(arena_.data(), arena_.size());
  for (PlannedStep& step : lowering.steps()) {
    std::vector<std::span<std::byte>> own;
    for (const BufferId id : step.touched) {
      if (!id.is_valid() || lowering.buffers().is_fixed(id)) continue;
      own.push_back({addresses.start(id), static_cast<std::size_t>(lowering.buffers()[id].bytes)});
    }
    runners_.push_back(guarded(step.bind(addresses), arena, std::move(own)));
    infos_.push_back(std::move(step.info));
  }
  for (Input& input : inputs_) {
    if (input.placement) input.address = addresses.bytes(*input.placement);
  }
  for (State& state : state_) state.address = addresses.bytes(state.placement);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    output.view.output = i;
    if (output.constant != nullptr) output.view = view_of(*output.constant, i);
    if (!output.placement) continue;
    output.address = addresses.bytes(*output.placement);
    output.view = view_of(*output.placement, output.address, i);
  }
}

void Executable::set_inputs(std::span<const Tensor> given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!inputs_[i].placement) {
      (*dynamic_)[inputs_[i].id.number] = given[i];
    } else if (given[i].byte_size() > 0) {
      std::memcpy(inputs_[i].address, given[i].bytes().data(), given[i].byte_size());
    }
  }
}

namespace {

// Between a tensor of a caller and a placement, whatever its layout.
void copy_in(const Tensor& tensor, const Placement& placement, std::byte* to) {
  if (tensor.byte_size() == 0) return;
  if (!placement.blocked) {
    std::memcpy(to, tensor.bytes().data(), tensor.byte_size());
    return;
  }
  with_floats(tensor, [&](const float* values) {
    reorder(plain_desc(placement.blocked->dims()), const_cast<float*>(values), *placement.blocked,
            to);
  });
}

Tensor copied_out(const Placement& placement, std::byte* from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(placement.bytes()));
  if (placement.blocked) {
    reorder(*placement.blocked, from, plain_desc(placement.blocked->dims()), bytes.data());
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), from, bytes.size());
  }
  return Tensor(placement.type, placement.dims, heap_storage(std::move(bytes)));
}

}  // namespace

void Executable::set_state(std::span<const Tensor> state) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    copy_in(state[i], state_[i].placement, state_[i].address);
  }
}

std::vector<Tensor> Executable::state_values() const {
  std::vector<Tensor> values;
  for (const State& state : state_) values.push_back(copied_out(state.placement, state.address));
  return values;
}

const Tensor& Executable::dynamic_output(const Output& output) const {
  const Tensor* tensor = (*dynamic_)[output.id.number].tensor();
  if (tensor == nullptr) fail_bad_input("output '{}' is no tensor", graph().value(output.id).name);
  return *tensor;
}

void Executable::show_outputs(std::size_t steps, FunctionRef<void(const OutputView&)> show) const {
  for (const Output& output : outputs_) {
    if (output.complete_after != steps) continue;
    const bool is_dynamic = !output.placement && output.constant == nullptr;
    show(is_dynamic ? view_of(dynamic_output(output), output.view.output) : output.view);
  }
}

const std::byte* Executable::output_address(std::size_t i) const {
  const Output& output = outputs_[i];
  return output.constant != nullptr ? output.constant->bytes().data() : output.address;
}

bool Executable::is_dynamic() const {
  return std::ranges::any_of(inputs_, [](const Input& input) { return !input.placement; }) ||
         std::ranges::any_of(outputs_, [](const Output& output) {
           return !output.placement && output.constant == nullptr;
         });
}

std::vector<Tensor> Executable::results() const {
  std::vector<Tensor> tensors;
  for (const Output& output : outputs_) {
    if (output.constant != nullptr) {
      tensors.push_back(*output.constant);
    } else if (output.placement) {
      tensors.push_back(copied_out(*output.placement, output.address));
    } else {
      tensors.push_back(dynamic_output(output));
    }
  }
  return tensors;
}

}  // namespace assay::cpu
