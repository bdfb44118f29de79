// RNN, GRU and LSTM, in either layout.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

Dim hidden_size(const InferContext& context, bool weights_are_transposed) {
  const Shape* recurrence = context.shape_of_rank(2, 3);
  const Dim from_weight =
      recurrence != nullptr ? (*recurrence)[weights_are_transposed ? 1 : 2] : Dim();
  const auto* attribute = context.node().get<std::int64_t>("hidden_size");
  if (attribute == nullptr) return from_weight;
  if (*attribute < 0) context.fail("hidden_size {} is negative", *attribute);
  return equal_dims(context, Dim(*attribute), from_weight,
                    "hidden_size and the recurrence weight differ");
}

Dim direction_count(const InferContext& context) {
  const std::string direction = context.node().string_or("direction", "forward");
  if (direction == "bidirectional") return Dim(2);
  if (direction != "forward" && direction != "reverse")
    context.fail("direction '{}' is not known", direction);
  return Dim(1);
}

void check_weights(const InferContext& context, const Dim& rows, const Dim& features,
                   const Dim& hidden, bool weights_are_transposed) {
  const Dim directions = direction_count(context);
  const auto expected = [&](const Dim& columns) {
    return weights_are_transposed ? Shape{directions, columns, rows}
                                  : Shape{directions, rows, columns};
  };
  check_shape(context, 1, expected(features));
  check_shape(context, 2, expected(hidden));
}

// Biases, lengths, initial states and peepholes.
void check_operands_of(const InferContext& context, std::int64_t gates, const Dim& batch,
                       const Dim& hidden, const Shape& state) {
  const Dim directions = direction_count(context);
  const Dim rows = multiplied(context, hidden, Dim(gates));
  check_shape(context, 3, Shape{directions, multiplied(context, rows, Dim(2))});
  check_shape(context, 4, Shape{batch});
  check_shape(context, 5, state);
  if (gates != 4) return;
  check_shape(context, 6, state);
  check_shape(context, 7, Shape{directions, multiplied(context, hidden, Dim(3))});
}

}  // namespace

RecurrentShapes recurrent_shapes(const InferContext& context, std::int64_t gates,
                                 bool weights_are_transposed) {
  const Shape* input = context.shape_of_rank(0, 3);
  const Dim hidden = hidden_size(context, weights_are_transposed);
  const Dim directions = direction_count(context);
  const bool batch_first = context.node().int_or("layout", 0) != 0;
  Dim sequence, batch, features;
  if (input != nullptr) {
    sequence = (*input)[batch_first ? 1 : 0];
    batch = (*input)[batch_first ? 0 : 1];
    features = (*input)[2];
  }
  RecurrentShapes shapes{.all = {sequence, directions, batch, hidden},
                         .last = {directions, batch, hidden}};
  if (batch_first)
    shapes = {.all = {batch, sequence, directions, hidden}, .last = {batch, directions, hidden}};
  check_weights(context, multiplied(context, hidden, Dim(gates)), features, hidden,
                weights_are_transposed);
  check_operands_of(context, gates, batch, hidden, shapes.last);
  return shapes;
}

namespace {

template <std::int64_t Gates>
void recurrent(InferContext& context) {
  const RecurrentShapes shapes = recurrent_shapes(context, Gates);
  context.set(0, context.element(0), shapes.all);
  context.set(1, context.element(0), shapes.last);
  if (Gates == 4) context.set(2, context.element(0), shapes.last);
}

}  // namespace

void add_recurrent_rules(RuleTable& table) {
  table["RNN"] = recurrent<1>;
  table["GRU"] = recurrent<3>;
  table["LSTM"] = recurrent<4>;
}

}  // namespace assay::infer
