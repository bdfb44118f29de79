// Compress keeps the elements that a condition selects; ReverseSequence reverses the first part of
// each sequence.
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

Dims positions_of_truths(const KernelCall& call, std::int64_t length) {
  const auto truths = call.input(1).to_int64();
  if (call.input(1).dims().size() != 1) call.fail("the condition is not a vector");
  Dims kept;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] == 0) continue;
    if (static_cast<std::int64_t>(i) >= length)
      call.fail("the condition names element {} of {}", i, length);
    kept.push_back(static_cast<std::int64_t>(i));
  }
  return kept;
}

std::vector<Tensor> compress(const KernelCall& call) {
  const Tensor& given = call.input(0);
  const bool flattens = call.node.find("axis") == nullptr;
  const Tensor input = flattens ? given.reshaped({given.elements()}) : given;
  const std::size_t axis = call.axis(0, input.dims().size());
  const Dims kept = positions_of_truths(call, input.dims()[axis]);
  Dims dims = input.dims();
  dims[axis] = static_cast<std::int64_t>(kept.size());
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t picked = kept[static_cast<std::size_t>(index[axis])];
    result.copy(i, input, offset_of(index, strides) + (picked - index[axis]) * strides[axis]);
  });
  return {result.finish()};
}

struct SequenceAxes {
  std::size_t batch = 1;
  std::size_t time = 0;
};

SequenceAxes sequence_axes(const KernelCall& call) {
  const std::size_t rank = call.input(0).dims().size();
  const auto batch = normalized_axis(call.node.int_or("batch_axis", 1), rank);
  const auto time = normalized_axis(call.node.int_or("time_axis", 0), rank);
  if (!batch || !time || *batch == *time) call.fail("its axes do not fit rank {}", rank);
  return {*batch, *time};
}

std::vector<Tensor> reverse_sequence(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const SequenceAxes axes = sequence_axes(call);
  const auto lengths = call.input(1).to_int64();
  if (static_cast<std::int64_t>(lengths.size()) != input.dims()[axes.batch])
    call.fail("{} lengths for a batch of {}", lengths.size(), input.dims()[axes.batch]);
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > input.dims()[axes.time])
      call.fail("length {} does not fit {} steps", length, input.dims()[axes.time]);
  }
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), input.dims());
  for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t length = lengths[static_cast<std::size_t>(index[axes.batch])];
    const std::int64_t time = index[axes.time];
    const std::int64_t from = time < length ? length - 1 - time : time;
    result.copy(i, input, offset_of(index, strides) + (from - time) * strides[axes.time]);
  });
  return {result.finish()};
}

}  // namespace

void add_picking_kernels(KernelTable& table) {
  table["Compress"] = compress;
  table["ReverseSequence"] = reverse_sequence;
}

}  // namespace assay::kernels
