// Loop and Scan: the body becomes an executable of its own, which runs round by round. What is
// captured is copied in once, what is carried after each round. A body that cannot be compiled for
// the shapes at hand, as where carried shapes change, is left to the interpreter.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cpu/executable.h"
#include "execute/cpu/lower/body.h"
#include "execute/cpu/lowering.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

// Through nodes that only pass it on.
ValueId origin_of(const Graph& graph, ValueId value) {
  while (true) {
    const NodeId maker = graph.producer(value);
    if (!maker.is_valid() || !graph.node(maker).is("Identity")) return value;
    value = graph.node(maker).inputs[0];
  }
}

// How a Loop or a Scan divides the ends of its body.
struct LoopKind {
  std::size_t own_inputs = 0;  // of the node, before what it carries
  std::size_t ticks = 0;       // inputs of the body, before what it carries
  std::size_t conditions = 0;  // outputs of the body, before what it carries
  std::size_t carried = 0;
  std::size_t scanned_in = 0;
  std::size_t scanned_out = 0;
};

LoopKind kind_of(const Node& node, const Graph& body) {
  if (node.op == "Loop") {
    const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
    return {.own_inputs = 2,
            .ticks = 2,
            .conditions = 1,
            .carried = carried,
            .scanned_out = body.outputs().size() - 1 - carried};
  }
  const auto scanned = static_cast<std::size_t>(node.int_or("num_scan_inputs", 0));
  const std::size_t carried = body.inputs().size() - scanned;
  return {
      .carried = carried, .scanned_in = scanned, .scanned_out = body.outputs().size() - carried};
}

// A body made ready: constants inside, invariants and captures as inputs after the others.
struct LoopBody {
  std::shared_ptr<Executable> executable = nullptr;
  LoopKind kind = {};
  std::vector<std::size_t> changing = {};  // numbers of carried values that change
  std::vector<ValueId> fixed = {};         // outer values copied in once
  std::vector<ValueType> outputs = {};     // of the executable: condition, carried, collected
  std::vector<ValueType> scanned = {};     // slices of what is scanned
};

bool is_known(const ValueType& type) {
  return type.is_tensor() && type.has_known_shape() && bits(type.element) >= 8;
}

ValueType slice_type(const ValueType& whole) {
  const Dims dims = whole.shape->values();
  return tensor_type(whole.element, Shape(Dims(dims.begin() + 1, dims.end())));
}

class BodyMaker {
 public:
  BodyMaker(Lowering& lowering, const Node& node, const Graph& body)
      : lowering_(lowering),
        node_(node),
        kind_(kind_of(node, body)),
        alone_(standalone_body(lowering, body)) {}

  std::optional<LoopBody> make() {
    if (!set_input_types()) return {};
    divide_carried();
    auto inferred = inferred_body(with_ends(alone_.graph, inputs_, outputs_));
    if (!inferred || !check_types(inferred->graph)) return {};
    LoweringOptions options = lowering_.options();
    options.program.keep_outputs = true;
    LoopBody body{.kind = kind_, .changing = changing_, .fixed = fixed_, .scanned = scanned_};
    for (const ValueId output : inferred->graph.outputs())
      body.outputs.push_back(inferred->graph.value(output).type);
    body.executable = std::make_shared<Executable>(std::move(*inferred), options, nullptr);
    if (body.executable->is_dynamic()) return {};
    return body;
  }

 private:
  ValueId outer_carried(std::size_t i) const { return node_.inputs[kind_.own_inputs + i]; }
  ValueId inner_input(std::size_t i) const { return alone_.graph.inputs()[i]; }

  ValueType outer_type(ValueId id) const {
    if (const Tensor* constant = lowering_.constant(id))
      return tensor_type(constant->type(), constant->shape());
    return lowering_.graph().value(id).type;
  }

  bool set_input_types() {
    for (const ValueId id : alone_.captured) {
      if (lowering_.is_dynamic(id)) return false;
    }
    for (std::size_t i = 0; i < kind_.carried + kind_.scanned_in; ++i) {
      if (!outer_carried(i).is_valid()) return false;
      ValueType type = outer_type(outer_carried(i));
      if (!is_known(type)) return false;
      if (i >= kind_.carried) {
        type = slice_type(type);
        scanned_.push_back(type);
      }
      alone_.graph.value(inner_input(kind_.ticks + i)).type = std::move(type);
    }
    if (kind_.ticks == 0) return true;
    alone_.graph.value(inner_input(0)).type = tensor_type(DataType::Int64, Shape{});
    alone_.graph.value(inner_input(1)).type = tensor_type(DataType::Bool, Shape{});
    return true;
  }

  void divide_carried() {
    const auto all = alone_.graph.inputs();
    const std::vector<ValueId> given(all.begin(), all.end());
    const auto results = alone_.graph.outputs();
    const std::size_t own = kind_.ticks + kind_.carried + kind_.scanned_in;
    inputs_.assign(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(kind_.ticks));
    outputs_.assign(results.begin(),
                    results.begin() + static_cast<std::ptrdiff_t>(kind_.conditions));
    std::vector<ValueId> invariants;
    for (std::size_t i = 0; i < kind_.carried; ++i) {
      const ValueId inner = given[kind_.ticks + i];
      if (origin_of(alone_.graph, results[kind_.conditions + i]) != inner) {
        changing_.push_back(i);
        inputs_.push_back(inner);
        outputs_.push_back(results[kind_.conditions + i]);
      } else if (const Tensor* constant = lowering_.constant(outer_carried(i))) {
        alone_.graph.add_initializer(inner, *constant);
      } else {
        invariants.push_back(inner);
        fixed_.push_back(outer_carried(i));
      }
    }
    for (std::size_t i = 0; i < kind_.scanned_in; ++i)
      inputs_.push_back(given[kind_.ticks + kind_.carried + i]);
    inputs_.insert(inputs_.end(), invariants.begin(), invariants.end());
    inputs_.insert(inputs_.end(), given.begin() + static_cast<std::ptrdiff_t>(own), given.end());
    fixed_.insert(fixed_.end(), alone_.captured.begin(), alone_.captured.end());
    const auto first_slice = static_cast<std::ptrdiff_t>(kind_.conditions + kind_.carried);
    outputs_.insert(outputs_.end(), results.begin() + first_slice, results.end());
  }

  // What is carried comes out as it went in, and slices are tensors of known shape.
  bool check_types(const Graph& body) const {
    for (const ValueId output : body.outputs()) {
      if (!is_known(body.value(output).type)) return false;
    }
    if (kind_.conditions == 1) {
      const ValueType& condition = body.value(body.outputs()[0]).type;
      const bool is_truth =
          condition.element == DataType::Bool && condition.shape->elements().value_or(0) == 1;
      if (!is_truth) return false;
    }
    for (std::size_t i = 0; i < changing_.size(); ++i) {
      const ValueType& before = body.value(inputs_[kind_.ticks + i]).type;
      const ValueType& after = body.value(body.outputs()[kind_.conditions + i]).type;
      if (before != after) return false;
    }
    return true;
  }

  Lowering& lowering_;
  const Node& node_;
  LoopKind kind_;
  StandaloneBody alone_;
  std::vector<std::size_t> changing_ = {};
  std::vector<ValueId> fixed_ = {};
  std::vector<ValueId> inputs_ = {};
  std::vector<ValueId> outputs_ = {};
  std::vector<ValueType> scanned_ = {};
};

std::size_t bytes_of_type(const ValueType& type) {
  return static_cast<std::size_t>(
      byte_size(type.element, type.shape->elements().value_or(0)).value_or(0));
}

// A piece of memory that is copied.
struct Piece {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t bytes = 0;

  void copy() const {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

// Slices of a whole that are read or written one a round.
struct Slices {
  std::byte* whole = nullptr;  // null: nobody reads it, or it grows
  std::byte* slice = nullptr;
  std::size_t bytes = 0;
  bool is_reversed = false;

  std::byte* of_round(std::int64_t round, std::int64_t rounds) const {
    const std::int64_t at = is_reversed ? rounds - 1 - round : round;
    return whole + static_cast<std::size_t>(at) * bytes;
  }
};

// Collected slices whose number is known only at run time.
struct Growing {
  ValueId id;
  ValueType slice = {};
  const std::byte* from = nullptr;
  std::vector<std::byte> bytes = {};
};

// One loop with addresses.
struct BoundLoop {
  std::shared_ptr<Executable> body;
  std::string what;
  const std::int64_t* most = nullptr;
  const std::byte* starts = nullptr;
  std::optional<std::int64_t> rounds = {};  // as shapes promise
  std::byte* round_number = nullptr;
  std::byte* condition_in = nullptr;
  const std::byte* condition_out = nullptr;
  std::vector<Piece> before = {};       // into the body, once
  std::vector<Piece> hand_on = {};      // from its outputs to its inputs
  std::vector<std::byte> between = {};  // of all that is handed on
  std::vector<Piece> after = {};        // out of it, once
  std::vector<Slices> scanned = {};
  std::vector<Slices> collected = {};
  std::vector<Growing> growing = {};
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic = {};

  void run() {
    for (const Piece& piece : before) piece.copy();
    for (Growing& one : growing) one.bytes.clear();
    const bool is_loop = condition_out != nullptr;
    const std::int64_t limit = is_loop ? (most != nullptr ? *most : INT64_MAX) : *rounds;
    bool goes_on = starts == nullptr || *starts != std::byte{0};
    std::int64_t round = 0;
    for (; goes_on && round < limit; ++round) {
      if (rounds && round == *rounds) fail_rounds();
      run_round(round);
      if (is_loop) goes_on = *condition_out != std::byte{0};
    }
    if (rounds && round != *rounds) fail_rounds();
    for (const Piece& piece : after) piece.copy();
    for (Growing& one : growing) finish(one, round);
  }

 private:
  [[noreturn]] void fail_rounds() const {
    fail_bad_input("{}: its shapes promise {} iterations, the data another number", what, *rounds);
  }

  void run_round(std::int64_t round) {
    if (round_number != nullptr) std::memcpy(round_number, &round, sizeof(round));
    if (condition_in != nullptr) *condition_in = std::byte{1};
    const std::int64_t all = rounds.value_or(0);
    for (const Slices& one : scanned) std::memcpy(one.slice, one.of_round(round, all), one.bytes);
    for (const Runner& step : body->runners()) step();
    for (const Slices& one : collected) {
      if (one.bytes > 0) std::memcpy(one.of_round(round, all), one.slice, one.bytes);
    }
    for (Growing& one : growing)
      one.bytes.insert(one.bytes.end(), one.from, one.from + bytes_of_type(one.slice));
    pass_on();
  }

  // An output may be another input's memory: all are read before any is written.
  void pass_on() {
    std::size_t at = 0;
    for (const Piece& piece : hand_on) {
      std::memcpy(between.data() + at, piece.from, piece.bytes);
      at += piece.bytes;
    }
    at = 0;
    for (const Piece& piece : hand_on) {
      std::memcpy(piece.to, between.data() + at, piece.bytes);
      at += piece.bytes;
    }
  }

  void finish(Growing& one, std::int64_t rounds_run) {
    Dims dims = one.slice.shape->values();
    dims.insert(dims.begin(), rounds_run);
    (*dynamic)[one.id.number] = Tensor(one.slice.element, dims, heap_storage(std::move(one.bytes)));
    one.bytes = {};
  }
};

// Where everything lives outside of the body.
struct LoopPlacements {
  std::optional<Placement> most = {};
  std::optional<Placement> starts = {};
  std::vector<Placement> carried = {};  // of all that is carried, before
  std::vector<Placement> scanned = {};
  std::vector<Placement> fixed = {};
  std::vector<std::optional<Placement>> results = {};  // by output of the node
};

struct LoopStep {
  LoopBody body;
  LoopPlacements places = {};
  std::vector<ValueId> outputs = {};
  std::vector<std::int64_t> input_directions = {};
  std::vector<std::int64_t> output_directions = {};
  std::optional<std::int64_t> rounds = {};
  std::string what = "";
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic = {};
};

void bind_carried(const LoopStep& step, const Addresses& at, BoundLoop& loop) {
  const LoopBody& body = step.body;
  std::size_t next = 0;
  for (std::size_t i = 0; i < body.kind.carried; ++i) {
    const Placement& initial = step.places.carried[i];
    const std::byte* final = at.bytes(initial);
    if (next < body.changing.size() && body.changing[next] == i) {
      std::byte* inside = body.executable->input_address(body.kind.ticks + next);
      const auto bytes = static_cast<std::size_t>(initial.bytes());
      loop.before.push_back({at.bytes(initial), inside, bytes});
      loop.hand_on.push_back(
          {body.executable->output_address(body.kind.conditions + next), inside, bytes});
      final = inside;
      ++next;
    }
    if (const auto& result = i < step.places.results.size() ? step.places.results[i] : std::nullopt)
      loop.after.push_back({final, at.bytes(*result), static_cast<std::size_t>(result->bytes())});
  }
  std::size_t bytes = 0;
  for (const Piece& piece : loop.hand_on) bytes += piece.bytes;
  loop.between.resize(bytes);
}

void bind_slices(const LoopStep& step, const Addresses& at, BoundLoop& loop) {
  const LoopBody& body = step.body;
  const std::size_t first_input = body.kind.ticks + body.changing.size();
  for (std::size_t i = 0; i < body.kind.scanned_in; ++i) {
    loop.scanned.push_back({at.bytes(step.places.scanned[i]),
                            body.executable->input_address(first_input + i),
                            bytes_of_type(body.scanned[i]), step.input_directions[i] != 0});
  }
  const std::size_t first_output = body.kind.conditions + body.changing.size();
  for (std::size_t i = 0; i < body.kind.scanned_out; ++i) {
    const std::size_t output = body.kind.carried + i;
    if (output >= step.outputs.size() || !step.outputs[output].is_valid()) continue;
    const ValueType& slice = body.outputs[first_output + i];
    const std::byte* from = body.executable->output_address(first_output + i);
    if (const auto& result = step.places.results[output]) {
      loop.collected.push_back({at.bytes(*result), const_cast<std::byte*>(from),
                                bytes_of_type(slice), step.output_directions[i] != 0});
    } else {
      loop.growing.push_back({step.outputs[output], slice, from});
    }
  }
}

Runner bound_loop(const LoopStep& step, const Addresses& at) {
  auto loop = std::make_shared<BoundLoop>();
  const LoopBody& body = step.body;
  loop->body = body.executable;
  loop->what = step.what;
  loop->rounds = step.rounds;
  loop->dynamic = step.dynamic;
  if (step.places.most)
    loop->most = reinterpret_cast<const std::int64_t*>(at.bytes(*step.places.most));
  if (step.places.starts) loop->starts = at.bytes(*step.places.starts);
  if (body.kind.ticks > 0) {
    loop->round_number = body.executable->input_address(0);
    loop->condition_in = body.executable->input_address(1);
    loop->condition_out = body.executable->output_address(0);
  }
  bind_carried(step, at, *loop);
  bind_slices(step, at, *loop);
  const std::size_t first = body.kind.ticks + body.changing.size() + body.kind.scanned_in;
  for (std::size_t i = 0; i < body.fixed.size(); ++i) {
    const Placement& placement = step.places.fixed[i];
    loop->before.push_back({at.bytes(placement), body.executable->input_address(first + i),
                            static_cast<std::size_t>(placement.bytes())});
  }
  return [loop] { loop->run(); };
}

std::optional<Placement> placed_result(Lowering& lowering, ValueId id) {
  if (!id.is_valid() || lowering.is_dynamic(id)) return {};
  const Placement placement = lowering.new_row_major(id);
  lowering.set_placement(id, placement);
  return placement;
}

LoopPlacements place_loop(Lowering& lowering, const Node& node, const LoopBody& body) {
  LoopPlacements places;
  const LoopKind& kind = body.kind;
  if (kind.ticks > 0) {
    if (node.has_input(0)) places.most = lowering.row_major(node.inputs[0]);
    if (node.has_input(1)) places.starts = lowering.row_major(node.inputs[1]);
  }
  for (std::size_t i = 0; i < kind.carried; ++i)
    places.carried.push_back(lowering.row_major(node.inputs[kind.own_inputs + i]));
  for (std::size_t i = 0; i < kind.scanned_in; ++i)
    places.scanned.push_back(lowering.row_major(node.inputs[kind.own_inputs + kind.carried + i]));
  for (const ValueId id : body.fixed) places.fixed.push_back(lowering.row_major(id));
  for (const ValueId id : node.outputs) places.results.push_back(placed_result(lowering, id));
  return places;
}

StepDraft loop_draft(NodeId id, const LoopStep& step) {
  const std::string slow = slow_step(step.body.executable->steps());
  StepDraft draft{.nodes = {id},
                  .algorithm = "compiled body",
                  .executed_flops = saturating_multiply(
                      executed_flops(step.body.executable->steps()), step.rounds.value_or(1)),
                  .fell_back = slow.empty() ? "" : "in its body: " + slow};
  for (const auto* one : {&step.places.most, &step.places.starts}) {
    if (*one) draft.reads.push_back(**one);
  }
  for (const auto* all : {&step.places.carried, &step.places.scanned, &step.places.fixed})
    draft.reads.insert(draft.reads.end(), all->begin(), all->end());
  for (const auto& result : step.places.results) {
    if (result) draft.writes.push_back(*result);
  }
  return draft;
}

bool add_loop_step(Lowering& lowering, NodeId id, const LoopStep& planned) {
  LoopStep step = planned;
  const Node& node = lowering.node(id);
  step.places = place_loop(lowering, node, step.body);
  step.outputs = node.outputs;
  step.what = fmt::format("{} '{}'", node.op, lowering.graph().display_name(id));
  step.dynamic = lowering.dynamic_values();
  step.input_directions.resize(step.body.kind.scanned_in, 0);
  step.output_directions.resize(step.body.kind.scanned_out, 0);
  lowering.add_inner_memory(step.body.executable->memory());
  lowering.add_step(loop_draft(id, step),
                    [step](const Addresses& at) -> Runner { return bound_loop(step, at); });
  return true;
}

std::optional<LoopBody> compiled_body(Lowering& lowering, const Node& node) {
  const auto* body = node.get<GraphPtr>("body");
  if (body == nullptr || *body == nullptr) return {};
  return BodyMaker(lowering, node, **body).make();
}

// The number of slices that a result collects, if shapes tell it.
std::optional<std::int64_t> promised_rounds(const Lowering& lowering, const Node& node,
                                            std::size_t carried) {
  for (std::size_t i = carried; i < node.outputs.size(); ++i) {
    if (node.has_output(i) && !lowering.is_dynamic(node.outputs[i]))
      return lowering.dims(node.outputs[i])[0];
  }
  return {};
}

bool has_scalars(const Lowering& lowering, const Node& node) {
  for (const std::size_t i : {0u, 1u}) {
    if (!node.has_input(i)) continue;
    if (checked_product(lowering.dims(node.inputs[i])).value_or(0) != 1) return false;
    const DataType wanted = i == 0 ? DataType::Int64 : DataType::Bool;
    if (lowering.type(node.inputs[i]) != wanted) return false;
  }
  return true;
}

bool lower_loop(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!has_scalars(lowering, node)) return false;
  auto body = compiled_body(lowering, node);
  if (!body) return false;
  const auto rounds = promised_rounds(lowering, node, body->kind.carried);
  return add_loop_step(lowering, id, {.body = std::move(*body), .rounds = rounds});
}

bool are_all_first(const Dims& axes) {
  return std::ranges::all_of(axes, [](std::int64_t axis) { return axis == 0; });
}

// Since opset 9, along the first axis.
bool lower_scan(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (lowering.graph().opset() < 9 || node.int_or("num_scan_inputs", 0) < 1) return false;
  if (!are_all_first(node.ints_or("scan_input_axes", {})) ||
      !are_all_first(node.ints_or("scan_output_axes", {})))
    return false;
  auto body = compiled_body(lowering, node);
  if (!body) return false;
  const auto length = lowering.dims(node.inputs[body->kind.carried])[0];
  return add_loop_step(lowering, id,
                       {.body = std::move(*body),
                        .input_directions = node.ints_or("scan_input_directions", {}),
                        .output_directions = node.ints_or("scan_output_directions", {}),
                        .rounds = length});
}

}  // namespace

void add_loop_lowering(LowerTable& table) {
  table["Loop"] = lower_loop;
  table["Scan"] = lower_scan;
}

}  // namespace assay::cpu
