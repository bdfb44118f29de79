// The fast engine: a graph simplified, lowered to steps, its buffers packed into one arena.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assay/memory.h"
#include "assay/timing.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "execute/cpu/lowering.h"
#include "execute/cpu/onednn/library_memory.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/engines.h"
#include "execute/inputs.h"
#include "execute/threads.h"
#include "memory/arena.h"
#include "transform/simplify.h"

namespace assay::cpu {

namespace {

constexpr std::int64_t kAlignment = 64;

// Which steps each buffer of the arena is needed for.
struct BufferUse {
  std::vector<Block> blocks;            // of the arena's buffers
  std::vector<std::uint32_t> block_of;  // by buffer; kNone: a weight, or never touched
};

class UseFinder {
 public:
  UseFinder(const std::vector<BufferInfo>& buffers, std::size_t steps)
      : buffers_(buffers), last_step_(steps == 0 ? 0 : steps - 1) {
    use_.block_of.assign(buffers.size(), BufferId::kNone);
  }

  void touch(BufferId id, std::size_t step) {
    if (!id.is_valid() || buffers_[id.number].fixed != nullptr) return;
    std::uint32_t& block = use_.block_of[id.number];
    if (block == BufferId::kNone) {
      block = static_cast<std::uint32_t>(use_.blocks.size());
      const std::int64_t bytes = buffers_[id.number].bytes;
      use_.blocks.push_back(
          {std::max<std::int64_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment, step,
           step});
    }
    Block& found = use_.blocks[block];
    found.first = std::min(found.first, step);
    found.last = std::max(found.last, step);
  }
  // Inputs stay for the next run, outputs until they are read.
  void keep(BufferId id) {
    touch(id, 0);
    touch(id, last_step_);
  }
  BufferUse take() { return std::move(use_); }

 private:
  const std::vector<BufferInfo>& buffers_;
  std::size_t last_step_ = 0;
  BufferUse use_;
};

struct Output {
  ValueId id;
  std::optional<Place> place;  // in the arena or, for a constant, nowhere
  const Tensor* constant = nullptr;
};

bool holds_odd_numbers(const Tensor& tensor) {
  if (tensor.type() != DataType::Float32) return false;
  for (const float number : tensor.to_vector<float>()) {
    if (!std::isfinite(number)) return true;
  }
  return false;
}

class OneDnnProgram : public Program {
 public:
  OneDnnProgram(Inferred model, const ProgramOptions& options, bool careful, Progress* progress);

  const std::vector<Value>& inputs() const override { return inputs_; }
  const std::vector<Value>& outputs() const override { return outputs_; }
  const std::vector<Value>& state() const override { return state_; }
  const std::vector<StepInfo>& steps() const override { return infos_; }
  ProgramMemory memory() const override { return memory_; }
  std::vector<ProgramBuffer> buffers() const override { return buffers_; }
  int threads() const override { return threads_; }

  void set_inputs(std::span<const Tensor> given) override;
  void set_state(std::span<const Tensor> state) override;
  std::vector<Tensor> state_values() const override;
  void run() override;
  std::vector<Tensor> results() const override;

  void observe_steps(bool on) override { observes_ = on; }
  void on_step(std::function<void(std::size_t)> listener) override {
    listener_ = std::move(listener);
  }
  void reset_step_times() override {
    std::ranges::fill(step_nanoseconds_, 0);
    run_nanoseconds_ = 0;
  }
  std::span<const std::int64_t> step_nanoseconds() const override { return step_nanoseconds_; }
  std::int64_t run_nanoseconds() const override { return run_nanoseconds_; }

 private:
  void lower(bool careful, Progress* progress);
  std::vector<std::byte*> plan_arena(Lowering& lowering);
  void find_inputs_and_outputs(Lowering& lowering);
  void bind(Lowering& lowering, std::vector<std::byte*> addresses);
  void observed_run();

  const Graph& graph() const { return rewritten_.model.graph; }

  ProgramOptions options_;
  int threads_ = 1;
  execute::TeamScope team_;
  Rewritten rewritten_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<Value> state_;
  std::vector<ProgramBuffer> buffers_;
  std::vector<StepInfo> infos_;
  ProgramMemory memory_;
  WeightPool weights_;
  MemoryBlock arena_;
  std::vector<Runner> runners_;
  std::vector<std::optional<Place>> input_places_;  // none: a dynamic value
  std::vector<Output> output_places_;
  std::vector<Place> state_places_;
  std::vector<std::byte*> state_addresses_;
  std::vector<std::byte*> input_addresses_;
  std::vector<std::byte*> output_addresses_;
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic_;
  bool has_inputs_ = false;
  bool has_state_ = false;
  bool has_run_ = false;
  bool observes_ = false;
  std::function<void(std::size_t)> listener_;
  std::vector<std::int64_t> step_nanoseconds_;
  std::int64_t run_nanoseconds_ = 0;
};

OneDnnProgram::OneDnnProgram(Inferred model, const ProgramOptions& options, bool careful,
                             Progress* progress)
    : options_(options),
      threads_(execute::thread_count(options.threads)),
      team_(threads_, options.pin_threads),
      weights_(options.optimize_for) {
  execute::check_is_runnable(model.graph);
  inputs_ = execute::values_of(model.graph, execute::given_inputs(model.graph));
  outputs_ = execute::values_of(model.graph, execute::taken_outputs(model.graph));
  state_ = execute::values_of(model.graph, execute::state_inputs(model.graph));
  memory_.planned_weight_bytes = execute::stored_bytes(model.graph);
  memory_.planned_arena_bytes = plan_memory(model).arena_bytes;
  check_memory_for(saturating_add(memory_.planned_weight_bytes, memory_.planned_arena_bytes),
                   std::string_view("running this model"));
  rewritten_ = simplify(std::move(model));
  lower(careful, progress);
}

void OneDnnProgram::lower(bool careful, Progress* progress) {
  const bool has_to_fit = options_.optimize_for == OptimizeFor::Memory;
  const ForgetPrimitives forget_primitives(has_to_fit);
  Tuner tuner({.model_bytes = memory_.planned_weight_bytes,
               .threads = threads_,
               .measures = !has_to_fit,
               .file = options_.tuning_file});
  Lowering lowering(rewritten_, {.program = options_, .threads = threads_, .careful = careful},
                    weights_, tuner);
  lowering.run(progress);
  tuner.save();
  if (has_to_fit) give_back_code_pages();
  lowering.prepare_weights();
  if (has_to_fit) give_back_code_pages();
  find_inputs_and_outputs(lowering);
  bind(lowering, plan_arena(lowering));
  memory_.weight_bytes =
      weights_.bytes() + lowering.bytes_used_as_stored() + lowering.inner_memory().weight_bytes;
  memory_.arena_bytes += lowering.inner_memory().arena_bytes;
  dynamic_ = lowering.dynamic_values();
}

void OneDnnProgram::find_inputs_and_outputs(Lowering& lowering) {
  for (const ValueId id : execute::given_inputs(graph())) {
    input_places_.push_back(lowering.is_dynamic(id) ? std::nullopt
                                                    : std::optional(lowering.native(id)));
  }
  for (const ValueId id : execute::state_inputs(graph()))
    state_places_.push_back(lowering.native(id));
  for (const ValueId id : execute::taken_outputs(graph())) {
    Output output{.id = id, .place = {}, .constant = lowering.constant(id)};
    if (output.constant == nullptr && !lowering.is_dynamic(id))
      output.place = lowering.row_major(id);
    output_places_.push_back(std::move(output));
  }
}

std::vector<std::byte*> OneDnnProgram::plan_arena(Lowering& lowering) {
  const auto& buffers = lowering.buffers();
  const auto& steps = lowering.steps();
  UseFinder finder(buffers, steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const BufferId id : steps[i].touched) finder.touch(id, i);
  }
  for (const auto& place : input_places_) {
    if (place) finder.keep(place->buffer);
  }
  for (const Output& output : output_places_) {
    if (output.place) finder.keep(output.place->buffer);
  }
  for (const Place& place : state_places_) finder.keep(place.buffer);
  const BufferUse use = finder.take();
  const auto by_step = bytes_by_step(use.blocks, std::max<std::size_t>(steps.size(), 1));
  const Packing packing = pack(use.blocks, by_step);
  arena_ = MemoryBlock(static_cast<std::size_t>(packing.bytes), "activations");
  memory_.arena_bytes = packing.bytes;
  std::vector<std::byte*> addresses(buffers.size(), nullptr);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::uint32_t block = use.block_of[i];
    addresses[i] = buffers[i].fixed;
    if (block == BufferId::kNone) continue;
    addresses[i] = arena_.data() + packing.offsets[block];
    buffers_.push_back({.value = lowering.first_value_in(BufferId{static_cast<std::uint32_t>(i)}),
                        .bytes = use.blocks[block].bytes,
                        .offset = packing.offsets[block],
                        .first_step = use.blocks[block].first,
                        .last_step = use.blocks[block].last});
  }
  return addresses;
}

void OneDnnProgram::bind(Lowering& lowering, std::vector<std::byte*> starts) {
  const Addresses addresses(std::move(starts));
  for (PlannedStep& step : lowering.steps()) {
    runners_.push_back(step.bind(addresses));
    infos_.push_back(std::move(step.info));
  }
  for (const auto& place : input_places_) {
    input_addresses_.push_back(place ? addresses.bytes(*place) : nullptr);
  }
  for (const Place& place : state_places_) state_addresses_.push_back(addresses.bytes(place));
  for (const Output& output : output_places_) {
    output_addresses_.push_back(output.place ? addresses.bytes(*output.place) : nullptr);
  }
  step_nanoseconds_.assign(runners_.size(), 0);
}

void OneDnnProgram::set_inputs(std::span<const Tensor> given) {
  execute::check_inputs(inputs_, given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!input_places_[i]) {
      (*dynamic_)[execute::given_inputs(graph())[i].number] = given[i];
    } else if (given[i].byte_size() > 0) {
      std::memcpy(input_addresses_[i], given[i].bytes().data(), given[i].byte_size());
    }
  }
  has_inputs_ = true;
}

namespace {

// The elements of a place as a caller sees them, and back.
void copy_in(const Tensor& tensor, const Place& place, std::byte* to) {
  if (tensor.byte_size() == 0) return;
  if (!place.blocked) {
    std::memcpy(to, tensor.bytes().data(), tensor.byte_size());
    return;
  }
  with_floats(tensor, [&](const float* values) {
    reorder(plain_desc(place.blocked->dims()), const_cast<float*>(values), *place.blocked, to);
  });
}

Tensor copied_out(const Place& place, std::byte* from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(place.bytes()));
  if (place.blocked) {
    reorder(*place.blocked, from, plain_desc(place.blocked->dims()), bytes.data());
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), from, bytes.size());
  }
  return Tensor(place.type, place.dims, heap_storage(std::move(bytes)));
}

}  // namespace

void OneDnnProgram::set_state(std::span<const Tensor> state) {
  execute::check_inputs(state_, state, "state");
  for (std::size_t i = 0; i < state.size(); ++i) {
    copy_in(state[i], state_places_[i], state_addresses_[i]);
  }
  has_state_ = true;
}

std::vector<Tensor> OneDnnProgram::state_values() const {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < state_places_.size(); ++i) {
    values.push_back(copied_out(state_places_[i], state_addresses_[i]));
  }
  return values;
}

// One reading of the clock a step: a step begins when the one before it has ended.
void OneDnnProgram::observed_run() {
  Clock& clock = steady_clock();
  const std::int64_t begin = clock.nanoseconds();
  std::int64_t start = begin;
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    runners_[i]();
    const std::int64_t end = clock.nanoseconds();
    step_nanoseconds_[i] += end - start;
    start = end;
    if (!listener_) continue;
    listener_(i);
    start = clock.nanoseconds();
  }
  run_nanoseconds_ += start - begin;
}

void OneDnnProgram::run() {
  if (!has_inputs_ && !inputs_.empty()) fail_usage("set the inputs before running the program");
  if (!has_state_ && !state_.empty()) fail_usage("set the state before running the program");
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  if (observes_) {
    observed_run();
  } else {
    for (const Runner& run : runners_) run();
  }
  has_run_ = true;
}

std::vector<Tensor> OneDnnProgram::results() const {
  if (!has_run_) fail_usage("run the program before asking for its results");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < output_places_.size(); ++i) {
    const Output& output = output_places_[i];
    if (output.constant != nullptr) {
      tensors.push_back(*output.constant);
    } else if (!output.place) {
      const Tensor* tensor = (*dynamic_)[output.id.number].tensor();
      if (tensor == nullptr) fail_bad_input("output '{}' is no tensor", outputs_[i].name);
      tensors.push_back(*tensor);
    } else {
      tensors.push_back(copied_out(*output.place, output_addresses_[i]));
    }
  }
  return tensors;
}

// Fused activations and Winograd do not let NaN and infinity flow as the plain kernels do. Inputs
// that hold any get a second program that keeps to algorithms which do; it is compiled when the
// first such input comes.
class CarefulProgram : public Program {
 public:
  CarefulProgram(Inferred model, const ProgramOptions& options, Progress* progress)
      : model_(model),
        options_(options),
        usual_(std::make_unique<OneDnnProgram>(std::move(model), options, false, progress)),
        current_(usual_.get()) {}

  const std::vector<Value>& inputs() const override { return usual_->inputs(); }
  const std::vector<Value>& outputs() const override { return usual_->outputs(); }
  const std::vector<Value>& state() const override { return usual_->state(); }
  const std::vector<StepInfo>& steps() const override { return current_->steps(); }
  ProgramMemory memory() const override { return current_->memory(); }
  std::vector<ProgramBuffer> buffers() const override { return current_->buffers(); }
  int threads() const override { return usual_->threads(); }

  void set_inputs(std::span<const Tensor> given) override {
    execute::check_inputs(inputs(), given);
    const bool is_odd = std::ranges::any_of(given, holds_odd_numbers);
    if (is_odd && careful_ == nullptr) {
      careful_ = std::make_unique<OneDnnProgram>(model_, options_, true, nullptr);
      careful_->observe_steps(observes_);
    }
    current_ = is_odd ? careful_.get() : usual_.get();
    current_->set_inputs(given);
  }
  void set_state(std::span<const Tensor> state) override { current_->set_state(state); }
  std::vector<Tensor> state_values() const override { return current_->state_values(); }
  void run() override { current_->run(); }
  std::vector<Tensor> results() const override { return current_->results(); }

  void observe_steps(bool on) override {
    observes_ = on;
    usual_->observe_steps(on);
    if (careful_) careful_->observe_steps(on);
  }
  void on_step(std::function<void(std::size_t)> listener) override {
    current_->on_step(std::move(listener));
  }
  void reset_step_times() override { current_->reset_step_times(); }
  std::span<const std::int64_t> step_nanoseconds() const override {
    return current_->step_nanoseconds();
  }
  std::int64_t run_nanoseconds() const override { return current_->run_nanoseconds(); }

 private:
  Inferred model_;  // shares its weights with whatever it came from
  ProgramOptions options_;
  std::unique_ptr<OneDnnProgram> usual_;
  std::unique_ptr<OneDnnProgram> careful_;
  OneDnnProgram* current_ = nullptr;
  bool observes_ = false;
};

}  // namespace

std::unique_ptr<Program> compile_cpu(Inferred model, const ProgramOptions& options,
                                     Progress* progress) {
  // State cannot move from one program to another.
  if (!model.graph.carried().empty()) {
    return std::make_unique<OneDnnProgram>(std::move(model), options, false, progress);
  }
  return std::make_unique<CarefulProgram>(std::move(model), options, progress);
}

}  // namespace assay::cpu
