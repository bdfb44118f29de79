// Operator signatures: the number of inputs and outputs, which inputs are optional, their element
// types, and which of them share a type.
//
// Checked once, before an operator's shape rule, so that shape rules, engines and gradient rules
// may rely on it. Rows for ONNX's operators are written by a script from ONNX's own schemas.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "infer/context.h"

namespace assay::infer {

struct Signature {
  static constexpr std::size_t kUnlimited = SIZE_MAX;

  std::string_view domain;
  std::string_view op;
  std::int64_t since = 1;  // the first version of its domain that it applies to
  // "X:T=real W:T=real B?:T=real pads:integer": names; `?` may be left out, `*` any number, `+` at
  // least one; what `T` stands for is the same element type wherever it is named; kinds joined by
  // `|` are real, integer, bool, string, complex, other (no tensor), tensor (all but other), any,
  // or the name of one element type.
  std::string_view inputs;
  std::size_t least_outputs = 1;
  std::size_t most_outputs = 1;
};

inline constexpr std::size_t kUnlimited = Signature::kUnlimited;

// All signatures of one table, sorted by domain, op and version.
std::span<const Signature> onnx_signatures();
// Operators of ONNX newer than the package the table above is made from, of other domains, and of
// our own.
std::span<const Signature> other_signatures();

// The newest one that is not newer than `opset`, or the oldest there is; null for an unknown op.
const Signature* find_signature(const Node& node, std::int64_t opset);

// Fails, naming the node, unless it has the inputs and outputs its signature asks for.
void check_operands(const InferContext& context);

// Fails, naming the node, unless scales and zero points of a quantised operator fit their tensors.
// Scales must be greater than 0 and finite. Run after `check_operands`.
void check_quantization(const InferContext& context);

}  // namespace assay::infer
