// RNN, GRU and LSTM, in either layout.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay {

namespace {

Dim hidden_size(const InferContext& context) {
  const Shape* recurrence = context.shape_of_rank(2, 3);
  const Dim from_weight = recurrence != nullptr ? (*recurrence)[2] : Dim();
  const auto* attribute = context.node().get<std::int64_t>("hidden_size");
  if (attribute == nullptr) return from_weight;
  if (*attribute < 0) context.fail("hidden_size {} is negative", *attribute);
  return equal_dims(context, Dim(*attribute), from_weight,
                    "hidden_size and the recurrence weight differ");
}

void check_weights(const InferContext& context, std::int64_t gates, const Dim& features,
                   const Dim& hidden) {
  const Shape* weight = context.shape_of_rank(1, 3);
  if (weight == nullptr) return;
  equal_dims(context, features, (*weight)[2], "input features and weight differ");
  equal_dims(context, multiplied(context, hidden, Dim(gates)), (*weight)[1],
             "gates times hidden size and weight differ");
}

template <std::int64_t Gates>
void recurrent(InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 3);
  const Dim hidden = hidden_size(context);
  const Dim directions(context.node().string_or("direction", "forward") == "bidirectional" ? 2 : 1);
  const bool batch_first = context.node().int_or("layout", 0) != 0;
  Dim sequence, batch, features;
  if (input != nullptr) {
    sequence = (*input)[batch_first ? 1 : 0];
    batch = (*input)[batch_first ? 0 : 1];
    features = (*input)[2];
  }
  check_weights(context, Gates, features, hidden);
  const Shape all = batch_first ? Shape{batch, sequence, directions, hidden}
                                : Shape{sequence, directions, batch, hidden};
  const Shape last =
      batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  context.set(0, context.element(0), all);
  context.set(1, context.element(0), last);
  if (Gates == 4) context.set(2, context.element(0), last);
}

}  // namespace

void add_recurrent_rules(RuleTable& table) {
  table["RNN"] = recurrent<1>;
  table["GRU"] = recurrent<3>;
  table["LSTM"] = recurrent<4>;
}

}  // namespace assay
