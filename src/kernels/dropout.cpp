// Dropout. The standard op does nothing at inference; in training it drops elements by its `seed`,
// the same ones in every run. Without a seed it is refused, because its result could not be
// reproduced. The op of our own domain drops other elements in every `step`, which is its second
// input.
#include "kernels/dropout.h"

#include <bit>

#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

std::vector<Tensor> dropped(const KernelCall& call, double ratio, std::uint64_t step) {
  if (!(ratio >= 0 && ratio < 1)) call.fail("ratio {} is not in [0, 1)", ratio);
  const Tensor& input = call.input(0);
  const auto seed = std::bit_cast<std::uint64_t>(call.node.int_or("seed", 0));
  const DropoutMask mask(ratio, seed, step);
  auto values = load_real(call, input);
  std::vector<std::uint8_t> kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_kept = mask.keeps(i);
    kept.push_back(is_kept ? 1 : 0);
    values[i] = is_kept ? values[i] * mask.scale() : 0;
  }
  return {store_real(input.type(), input.dims(), values),
          Tensor::of<std::uint8_t>(DataType::Bool, input.dims(), kept)};
}

// The ratio of a standard Dropout in training; 0 at inference.
double training_ratio(const KernelCall& call) {
  const bool trains = call.has(2) && call.input(2).elements() == 1 && call.input(2).to_int64()[0];
  if (!trains) return 0;
  if (call.has(1) && call.input(1).elements() != 1) call.fail("ratio is not a scalar");
  return call.has(1) ? call.input(1).to_double().front() : 0.5;
}

std::vector<Tensor> dropout(const KernelCall& call) {
  const double ratio = training_ratio(call);
  if (ratio != 0 && call.node.find("seed") == nullptr) {
    call.fail(
        "drops elements at random with ratio {}; give it a seed, or set training_mode to false",
        ratio);
  }
  if (ratio != 0) return dropped(call, ratio, 0);
  const Tensor& input = call.input(0);
  if (!call.node.has_output(1)) return {input};
  const std::vector<std::uint8_t> kept(static_cast<std::size_t>(input.elements()), 1);
  if (call.opset >= 10)
    return {input, Tensor::of<std::uint8_t>(DataType::Bool, input.dims(), kept)};
  return {input, store_real(input.type(), input.dims(), {kept.begin(), kept.end()})};
}

std::vector<Tensor> stepwise_dropout(const KernelCall& call) {
  const Tensor& step = call.input(1);
  if (step.elements() != 1 || step.type() != DataType::Int64)
    call.fail("step must be one int64 number");
  const auto ratio = static_cast<double>(call.node.float_or("ratio", 0.5f));
  return dropped(call, ratio, std::bit_cast<std::uint64_t>(step.to_int64().front()));
}

}  // namespace

void add_dropout_kernels(KernelTable& table) {
  table["Dropout"] = dropout;
}

void add_stepwise_dropout_kernels(KernelTable& table) {
  table["Dropout"] = stepwise_dropout;
}

}  // namespace assay::kernels
