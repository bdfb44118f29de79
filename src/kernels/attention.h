// Attention in real numbers, as Attention, MultiHeadAttention and QAttention of com.microsoft share
// it: softmax(scale · Q·Kᵀ + mask) · V for every head.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t past = 0;  // positions before these
  std::int64_t keys = 0;  // with those of the past
  std::int64_t heads = 0;
  std::int64_t head = 0;        // the width of a query or key of one head
  std::int64_t value_head = 0;  // likewise of a value

  Dims result_dims() const { return {batch, queries, heads * value_head}; }
};

// (batch, heads, positions, width) each.
struct HeadValues {
  std::vector<double> queries;
  std::vector<double> keys;
  std::vector<double> values;
};

// Which inputs are the mask and what is added to the scores; they may be missing.
struct AttentionAddends {
  std::size_t mask = 0;
  std::optional<std::size_t> addend = {};
};

// (batch, queries, heads · value width)
std::vector<double> attended(const KernelCall& call, const AttentionSizes& sizes,
                             const HeadValues& heads, const AttentionAddends& addends);

// Where the operands of an op with packed projections stand among its inputs.
struct PackedInputs {
  std::size_t past = 0;
  AttentionAddends addends = {};
};

// The rest of an op after its projection (batch, positions, queries | keys | values): its result,
// and keys and values of all positions.
std::vector<Tensor> packed_attention(const KernelCall& call, const PackedInputs& inputs,
                                     const std::vector<double>& projected, DataType type);

}  // namespace assay::kernels
