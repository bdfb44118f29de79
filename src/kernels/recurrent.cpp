#include "kernels/recurrent.h"

#include <algorithm>

#include "base/text.h"
#include "kernels/activation.h"
#include "kernels/real.h"

namespace assay {

namespace {

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

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
  const Dims lengths = call.input(4).to_int64();
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

// Where sequences, results and states lie in their tensors, in either layout.
struct Layout {
  RecurrentSizes sizes = {};

  std::int64_t input_row(std::int64_t step, std::int64_t sample) const {
    return sizes.batch_first ? sample * sizes.steps + step : step * sizes.batch + sample;
  }
  std::int64_t result_row(std::int64_t step, std::int64_t direction, std::int64_t sample) const {
    return sizes.batch_first ? (sample * sizes.steps + step) * sizes.directions + direction
                             : (step * sizes.directions + direction) * sizes.batch + sample;
  }
  std::int64_t state_row(std::int64_t direction, std::int64_t sample) const {
    return sizes.batch_first ? sample * sizes.directions + direction
                             : direction * sizes.batch + sample;
  }
  Dims result_dims() const {
    if (sizes.batch_first) return {sizes.batch, sizes.steps, sizes.directions, sizes.hidden};
    return {sizes.steps, sizes.directions, sizes.batch, sizes.hidden};
  }
  Dims state_dims() const {
    if (sizes.batch_first) return {sizes.batch, sizes.directions, sizes.hidden};
    return {sizes.directions, sizes.batch, sizes.hidden};
  }
};

class RecurrentRun {
 public:
  RecurrentRun(const KernelCall& call, const RecurrentOp& op)
      : call_(call),
        op_(op),
        layout_{sizes_of(call, op)},
        sizes_(layout_.sizes),
        input_(load_real(call, call.input(0))),
        weight_(load_real(call, call.input(1))),
        recurrence_(load_real(call, call.input(2))),
        lengths_(sequence_lengths(call, sizes_)),
        activations_(activations_of(call, op, sizes_.directions)) {
    const std::int64_t rows = op.gates * sizes_.hidden;
    bias_ = numbers_or_zeros(call, 3, sizes_.directions * 2 * rows);
    const auto states = static_cast<std::int64_t>(result_elements(call, layout_.state_dims()));
    last_.h = numbers_or_zeros(call, 5, states);
    if (op.has_cell_state) last_.c = numbers_or_zeros(call, 6, states);
    peepholes_ = std::vector<double>(sizes_.directions * 3 * sizes_.hidden);
    if (op.has_cell_state)
      peepholes_ = numbers_or_zeros(call, 7, sizes_.directions * 3 * sizes_.hidden);
    results_.resize(result_elements(call, layout_.result_dims()));
  }

  std::vector<Tensor> run() {
    const bool is_reverse = call_.node.string_or("direction", "forward") == "reverse";
    for (std::int64_t direction = 0; direction < sizes_.directions; ++direction) {
      for (std::int64_t sample = 0; sample < sizes_.batch; ++sample)
        run_sequence(direction, sample, is_reverse || direction == 1);
    }
    const DataType type = call_.input(0).type();
    std::vector<Tensor> outputs = {store_real(type, layout_.result_dims(), results_),
                                   store_real(type, layout_.state_dims(), last_.h)};
    if (op_.has_cell_state) outputs.push_back(store_real(type, layout_.state_dims(), last_.c));
    return outputs;
  }

 private:
  RecurrentDirection direction_at(std::int64_t direction) const {
    const std::int64_t rows = op_.gates * sizes_.hidden;
    RecurrentDirection at;
    at.sizes = sizes_;
    at.weight = weight_.data() + direction * rows * sizes_.features;
    at.recurrence = recurrence_.data() + direction * rows * sizes_.hidden;
    at.bias = bias_.data() + direction * 2 * rows;
    at.peepholes = peepholes_.data() + direction * 3 * sizes_.hidden;
    at.gates = op_.gates;
    at.activations =
        std::span(activations_).subspan(direction * op_.activations.size(), op_.activations.size());
    at.clip = static_cast<double>(call_.node.float_or("clip", 0));
    return at;
  }

  // The sequence's state starts as what `last_` holds and ends there.
  void run_sequence(std::int64_t direction, std::int64_t sample, bool backwards) {
    const RecurrentDirection at = direction_at(direction);
    const std::int64_t place = layout_.state_row(direction, sample) * sizes_.hidden;
    RecurrentState state;
    state.h.assign(last_.h.begin() + place, last_.h.begin() + place + sizes_.hidden);
    if (op_.has_cell_state)
      state.c.assign(last_.c.begin() + place, last_.c.begin() + place + sizes_.hidden);
    const std::int64_t length = lengths_[sample];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t step = backwards ? length - 1 - i : i;
      op_.cell(call_, at, input_.data() + layout_.input_row(step, sample) * sizes_.features, state);
      std::ranges::copy(
          state.h, results_.begin() + layout_.result_row(step, direction, sample) * sizes_.hidden);
    }
    std::ranges::copy(state.h, last_.h.begin() + place);
    if (op_.has_cell_state) std::ranges::copy(state.c, last_.c.begin() + place);
  }

  const KernelCall& call_;
  const RecurrentOp& op_;
  Layout layout_;
  RecurrentSizes sizes_;
  std::vector<double> input_;
  std::vector<double> weight_;
  std::vector<double> recurrence_;
  Dims lengths_;
  std::vector<NamedActivation> activations_;
  std::vector<double> bias_;
  std::vector<double> peepholes_;
  RecurrentState last_;
  std::vector<double> results_;
};

}  // namespace

double RecurrentDirection::from_input(std::int64_t gate, std::int64_t unit, const double* x) const {
  return dot(weight + (gate * sizes.hidden + unit) * sizes.features, x, sizes.features);
}

double RecurrentDirection::from_state(std::int64_t gate, std::int64_t unit, const double* h) const {
  return dot(recurrence + (gate * sizes.hidden + unit) * sizes.hidden, h, sizes.hidden);
}

double RecurrentDirection::input_bias(std::int64_t gate, std::int64_t unit) const {
  return bias[gate * sizes.hidden + unit];
}

double RecurrentDirection::state_bias(std::int64_t gate, std::int64_t unit) const {
  return bias[(gates + gate) * sizes.hidden + unit];
}

double RecurrentDirection::activated(std::size_t function, double x) const {
  return activations[function](clip > 0 ? clamped(x, -clip, clip) : x);
}

std::vector<Tensor> run_recurrent(const KernelCall& call, const RecurrentOp& op) {
  return RecurrentRun(call, op).run();
}

}  // namespace assay
