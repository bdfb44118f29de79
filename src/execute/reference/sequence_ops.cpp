// SequenceEmpty, SequenceConstruct, SequenceInsert, SequenceErase, SequenceAt, SequenceLength,
// SplitToSequence, ConcatFromSequence.
#include <algorithm>

#include "execute/reference/stacking.h"
#include "execute/reference/value_ops.h"
#include "kernels/shape_math.h"

namespace assay::reference {

using kernels::normalized_axis;

namespace {

using Sequence = RuntimeValue::Sequence;

std::vector<RuntimeValue> one(RuntimeValue value) {
  std::vector<RuntimeValue> values;
  values.push_back(std::move(value));
  return values;
}

// A position given by an optional input: negative ones count from the end.
std::size_t position(const ValueCall& call, std::size_t input, std::size_t size,
                     std::int64_t largest) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t given = call.has(input) ? call.integer(input) : largest;
  if (given < -count || given > largest)
    call.fail("position {} is out of range for a sequence of {}", given, size);
  return static_cast<std::size_t>(given < 0 ? given + count : given);
}

std::vector<RuntimeValue> sequence_empty(const ValueCall&) {
  return one(Sequence());
}

void check_same_kind(const ValueCall& call, const RuntimeValue& a, const RuntimeValue& b) {
  const Tensor* left = a.tensor();
  const Tensor* right = b.tensor();
  if ((left == nullptr) != (right == nullptr)) call.fail("tensors and sequences cannot be mixed");
  if (left != nullptr && left->type() != right->type())
    call.fail("holds {}, cannot take {}", name(left->type()), name(right->type()));
}

std::vector<RuntimeValue> sequence_construct(const ValueCall& call) {
  Sequence sequence;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    check_same_kind(call, call.input(0), call.input(i));
    sequence.push_back(call.input(i));
  }
  return one(std::move(sequence));
}

std::vector<RuntimeValue> sequence_insert(const ValueCall& call) {
  Sequence& sequence = call.sequence(0);
  const auto count = static_cast<std::int64_t>(sequence.size());
  const std::size_t at = position(call, 2, sequence.size(), count);
  if (!sequence.empty()) check_same_kind(call, sequence.front(), call.input(1));
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(at), std::move(call.input(1)));
  return one(std::move(sequence));
}

std::vector<RuntimeValue> sequence_erase(const ValueCall& call) {
  Sequence& sequence = call.sequence(0);
  const auto last = static_cast<std::int64_t>(sequence.size()) - 1;
  const std::size_t at = position(call, 1, sequence.size(), last);
  if (sequence.empty()) call.fail("the sequence is empty");
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(at));
  return one(std::move(sequence));
}

std::vector<RuntimeValue> sequence_at(const ValueCall& call) {
  const Sequence& sequence = call.sequence(0);
  if (!call.has(1)) call.fail("names no position");
  const auto last = static_cast<std::int64_t>(sequence.size()) - 1;
  return one(sequence[position(call, 1, sequence.size(), last)]);
}

std::vector<RuntimeValue> sequence_length(const ValueCall& call) {
  return one(Tensor::of_int64({}, {static_cast<std::int64_t>(call.sequence(0).size())}));
}

// The lengths of the parts: given one by one, given as one length for all but the last, or 1 each.
std::vector<std::int64_t> part_lengths(const ValueCall& call, std::int64_t dim) {
  if (call.has(1) && !call.tensor(1).dims().empty()) return call.tensor(1).to_int64();
  const std::int64_t each = call.has(1) ? call.integer(1) : 1;
  if (each <= 0) call.fail("cannot split into parts of {}", each);
  constexpr std::int64_t kMostParts = std::int64_t{1}
                                      << 24;  // an empty tensor may claim any length
  if (dim / each > kMostParts) call.fail("splits into more than {} parts", kMostParts);
  std::vector<std::int64_t> lengths;
  for (std::int64_t rest = dim; rest > 0; rest -= each) lengths.push_back(std::min(each, rest));
  return lengths;
}

Tensor without_axis(const Tensor& part, std::size_t axis) {
  auto dims = part.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return part.reshaped(std::move(dims));
}

std::vector<RuntimeValue> split_to_sequence(const ValueCall& call) {
  const Tensor& tensor = call.tensor(0);
  const std::int64_t wanted = call.node.int_or("axis", 0);
  const auto axis = normalized_axis(wanted, tensor.dims().size());
  if (!axis) call.fail("axis {} is out of range", wanted);
  const auto lengths = part_lengths(call, tensor.dims()[*axis]);
  const bool drops_axis = !call.has(1) && call.node.int_or("keepdims", 1) == 0;
  Sequence sequence;
  for (const Tensor& part : parted(call, tensor, wanted, lengths)) {
    sequence.push_back(drops_axis ? without_axis(part, *axis) : part);
  }
  return one(std::move(sequence));
}

std::vector<RuntimeValue> concat_from_sequence(const ValueCall& call) {
  std::vector<Tensor> parts;
  for (const RuntimeValue& element : call.sequence(0)) {
    if (element.tensor() == nullptr) call.fail("the sequence holds sequences");
    parts.push_back(*element.tensor());
  }
  if (parts.empty()) call.fail("the sequence is empty");
  const std::int64_t axis = call.node.int_or("axis", 0);
  const bool adds_axis = call.node.int_or("new_axis", 0) != 0;
  return one(adds_axis ? stacked(call, std::move(parts), axis)
                       : joined(call, std::move(parts), axis));
}

}  // namespace

void add_sequence_ops(ValueOpTable& table) {
  table["SequenceEmpty"] = sequence_empty;
  table["SequenceConstruct"] = sequence_construct;
  table["SequenceInsert"] = sequence_insert;
  table["SequenceErase"] = sequence_erase;
  table["SequenceAt"] = sequence_at;
  table["SequenceLength"] = sequence_length;
  table["SplitToSequence"] = split_to_sequence;
  table["ConcatFromSequence"] = concat_from_sequence;
}

}  // namespace assay::reference
