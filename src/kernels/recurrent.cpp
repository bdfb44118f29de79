#include "kernels/recurrent.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/activation.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

std::int64_t direction_count(const KernelCall& call) {
  const std::string direction = call.node.string_or("direction", "forward");
  if (direction == "bidirectional") return 2;
  if (direction != "forward" && direction != "reverse")
    call.fail("direction '{}' is not known", direction);
  return 1;
}

RecurrentSizes sizes_of(const KernelCall& call, const RecurrentOp& op) {
  const Dims& input = call.input(0).dims();
  const Dims& weight = call.input(1).dims();
  const Dims& recurrence = call.input(2).dims();
  RecurrentSizes sizes;
  sizes.directions = direction_count(call);
  sizes.gates = op.gates;
  sizes.batch_first = call.node.int_or("layout", 0) != 0;
  if (input.size() != 3 || weight.size() != 3 || recurrence.size() != 3)
    call.fail("input, weight and recurrence weight need three axes each");
  sizes.steps = input[sizes.batch_first ? 1 : 0];
  sizes.batch = input[sizes.batch_first ? 0 : 1];
  sizes.features = input[2];
  sizes.hidden = recurrence[2];
  const bool is_named_hidden = call.node.int_or("hidden_size", sizes.hidden) == sizes.hidden;
  const bool rows_fit = weight[1] % op.gates == 0 && weight[1] / op.gates == sizes.hidden;
  const bool fits = rows_fit && is_named_hidden && weight[0] == sizes.directions &&
                    recurrence[0] == sizes.directions && recurrence[1] == weight[1] &&
                    weight[2] == sizes.features;
  if (!fits)
    call.fail("input {}, weight {} and recurrence weight {} do not fit", join_dims(input),
              join_dims(weight), join_dims(recurrence));
  return sizes;
}

// An optional input of `count` numbers; zeros where it is left out.
std::vector<double> numbers_or_zeros(const KernelCall& call, std::size_t input,
                                     std::int64_t count) {
  return call.has(input) ? load_real(call, input, count) : std::vector<double>(count);
}

Dims sequence_lengths(const KernelCall& call, const RecurrentSizes& sizes) {
  if (!call.has(4)) return Dims(sizes.batch, sizes.steps);
  Dims lengths = call.input(4).to_int64();
  const bool fits = static_cast<std::int64_t>(lengths.size()) == sizes.batch &&
                    std::ranges::all_of(
                        lengths, [&](auto length) { return length >= 0 && length <= sizes.steps; });
  if (!fits) call.fail("sequence_lens does not hold {} lengths up to {}", sizes.batch, sizes.steps);
  return lengths;
}

std::vector<float> floats_of(const KernelCall& call, const char* attribute) {
  const auto* numbers = call.node.get<std::vector<float>>(attribute);
  return numbers == nullptr ? std::vector<float>{} : *numbers;
}

// The op's own for each direction, or what the attribute names.
std::vector<NamedActivation> activations_of(const KernelCall& call, const RecurrentOp& op,
                                            std::int64_t directions) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < directions; ++i)
    names.insert(names.end(), op.activations.begin(), op.activations.end());
  const auto* given = call.node.get<std::vector<std::string>>("activations");
  if (given != nullptr && !given->empty()) {
    if (given->size() != names.size())
      call.fail("{} activations are named, {} are needed", given->size(), names.size());
    names = *given;
  }
  const auto alphas = floats_of(call, "activation_alpha");
  const auto betas = floats_of(call, "activation_beta");
  ActivationParameters next_alpha(alphas), next_beta(betas);
  std::vector<NamedActivation> activations;
  for (const std::string& name : names)
    activations.push_back(named_activation(call, name, next_alpha, next_beta));
  return activations;
}

}  // namespace

std::int64_t RecurrentLayout::input_row(std::int64_t step, std::int64_t sample) const {
  return sizes.batch_first ? sample * sizes.steps + step : step * sizes.batch + sample;
}

std::int64_t RecurrentLayout::result_row(std::int64_t step, std::int64_t direction,
                                         std::int64_t sample) const {
  return sizes.batch_first ? (sample * sizes.steps + step) * sizes.directions + direction
                           : (step * sizes.directions + direction) * sizes.batch + sample;
}

std::int64_t RecurrentLayout::state_row(std::int64_t direction, std::int64_t sample) const {
  return sizes.batch_first ? sample * sizes.directions + direction
                           : direction * sizes.batch + sample;
}

Dims RecurrentLayout::result_dims() const {
  if (sizes.batch_first) return {sizes.batch, sizes.steps, sizes.directions, sizes.hidden};
  return {sizes.steps, sizes.directions, sizes.batch, sizes.hidden};
}

Dims RecurrentLayout::state_dims() const {
  if (sizes.batch_first) return {sizes.batch, sizes.directions, sizes.hidden};
  return {sizes.directions, sizes.batch, sizes.hidden};
}

double RecurrentDirection::from_input(std::int64_t gate, std::int64_t unit, const double* x) const {
  return dot(weight + row(gate, unit) * sizes.features, x, sizes.features);
}

double RecurrentDirection::from_state(std::int64_t gate, std::int64_t unit, const double* h) const {
  return dot(recurrence + row(gate, unit) * sizes.hidden, h, sizes.hidden);
}

double RecurrentDirection::activated(std::size_t function, double x) const {
  return activations[function](clip > 0 ? clamped(x, -clip, clip) : x);
}

double RecurrentDirection::slope(std::size_t function, double x) const {
  return clip > 0 && std::abs(x) > clip ? 0 : activations[function].slope_at(x);
}

RecurrentState RecurrentState::taken(std::int64_t place, std::int64_t hidden) const {
  const auto part = [&](const std::vector<double>& all) {
    return std::vector<double>(all.begin() + place, all.begin() + place + hidden);
  };
  return {part(h), c.empty() ? std::vector<double>{} : part(c)};
}

void RecurrentState::put(std::int64_t place, const RecurrentState& one) {
  std::ranges::copy(one.h, h.begin() + place);
  if (!c.empty()) std::ranges::copy(one.c, c.begin() + place);
}

RecurrentOperands::RecurrentOperands(const KernelCall& call, const RecurrentOp& op)
    : layout{sizes_of(call, op)},
      lengths(sequence_lengths(call, layout.sizes)),
      activations(activations_of(call, op, layout.sizes.directions)),
      clip(static_cast<double>(call.node.float_or("clip", 0))),
      is_reverse(call.node.string_or("direction", "forward") == "reverse") {
  const RecurrentSizes& sizes = layout.sizes;
  const auto states = static_cast<std::int64_t>(result_elements(call, layout.state_dims()));
  const std::int64_t peepholes = sizes.directions * 3 * sizes.hidden;
  numbers.input = load_real(call, call.input(0));
  numbers.weight = load_real(call, call.input(1));
  numbers.recurrence = load_real(call, call.input(2));
  numbers.bias = numbers_or_zeros(call, 3, sizes.directions * 2 * sizes.rows());
  numbers.first.h = numbers_or_zeros(call, 5, states);
  if (!op.has_cell_state) return;
  numbers.first.c = numbers_or_zeros(call, 6, states);
  numbers.peepholes = numbers_or_zeros(call, 7, peepholes);
}

RecurrentDirection RecurrentOperands::direction(std::int64_t direction) const {
  const RecurrentSizes& sizes = layout.sizes;
  const std::size_t functions = activations.size() / static_cast<std::size_t>(sizes.directions);
  RecurrentDirection at;
  at.sizes = sizes;
  at.weight = numbers.weight.data() + direction * sizes.rows() * sizes.features;
  at.recurrence = numbers.recurrence.data() + direction * sizes.rows() * sizes.hidden;
  at.bias = numbers.bias.data() + direction * 2 * sizes.rows();
  if (!numbers.peepholes.empty())
    at.peepholes = numbers.peepholes.data() + direction * 3 * sizes.hidden;
  at.activations =
      std::span(activations).subspan(static_cast<std::size_t>(direction) * functions, functions);
  at.clip = clip;
  return at;
}

std::vector<RecurrentSequence> RecurrentOperands::sequences() const {
  std::vector<RecurrentSequence> all;
  for (std::int64_t direction = 0; direction < layout.sizes.directions; ++direction) {
    for (std::int64_t sample = 0; sample < layout.sizes.batch; ++sample)
      all.push_back({layout, direction, sample, lengths[sample], is_reverse || direction == 1});
  }
  return all;
}

std::vector<Tensor> run_recurrent(const KernelCall& call, const RecurrentOp& op) {
  const RecurrentOperands operands(call, op);
  const RecurrentLayout& layout = operands.layout;
  std::vector<double> results(result_elements(call, layout.result_dims()));
  RecurrentState last = operands.numbers.first;
  for (const RecurrentSequence& sequence : operands.sequences()) {
    const RecurrentDirection direction = operands.direction(sequence.direction);
    RecurrentState state = last.taken(sequence.state_place(), layout.sizes.hidden);
    for (std::int64_t i = 0; i < sequence.length; ++i) {
      op.cell(call, direction, operands.numbers.input.data() + sequence.input_place(i), state);
      std::ranges::copy(state.h, results.begin() + sequence.result_place(i));
    }
    last.put(sequence.state_place(), state);
  }
  const DataType type = call.input(0).type();
  std::vector<Tensor> outputs = {store_real(type, layout.result_dims(), results),
                                 store_real(type, layout.state_dims(), last.h)};
  if (op.has_cell_state) outputs.push_back(store_real(type, layout.state_dims(), last.c));
  return outputs;
}

}  // namespace assay::kernels
