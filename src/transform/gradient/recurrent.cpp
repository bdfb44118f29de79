// RNN, GRU and LSTM: one op each for the backward pass through all steps.
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

// The op's inputs in their positions, then the gradients of its results.
std::vector<ValueId> operands_of(GradientContext& context, std::size_t inputs,
                                 std::size_t results) {
  std::vector<ValueId> operands = context.node().inputs;
  operands.resize(inputs);
  for (std::size_t i = 0; i < results; ++i) operands.push_back(context.gradient_if_any(i));
  return operands;
}

void give_through_time(GradientContext& context, const char* gradient_op) {
  constexpr std::size_t kReceivers[] = {0, 1, 2, 3, 5};
  context.give_from_own(gradient_op, operands_of(context, 6, 2), kReceivers,
                        context.node().attributes);
}

void rnn(GradientContext& context) {
  give_through_time(context, "RnnGradient");
}

void gru(GradientContext& context) {
  give_through_time(context, "GruGradient");
}

// Also has a cell state and peepholes.
void lstm(GradientContext& context) {
  constexpr std::size_t kReceivers[] = {0, 1, 2, 3, 5, 6, 7};
  context.give_from_own("LstmGradient", operands_of(context, 8, 3), kReceivers,
                        context.node().attributes);
}

}  // namespace

void add_recurrent_gradients(GradientTable& table) {
  table["RNN"] = rnn;
  table["GRU"] = gru;
  table["LSTM"] = lstm;
}

}  // namespace assay::transform
