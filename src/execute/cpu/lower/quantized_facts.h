// What lowering knows of 8-bit values: scales, zero points, weights as oneDNN wants them.
#pragma once

#include "execute/cpu/lowering.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

bool is_8_bit(DataType type);
// An 8-bit tensor of known shape.
bool is_8_bit(const Lowering& lowering, ValueId id);
DataType type_of(const Lowering& lowering, ValueId id);

// What the 8-bit numbers of `type` stand for; nothing if scale or zero point is not a constant
// number. A missing zero point is 0.
std::optional<Scale8> scale8_of(const Lowering& lowering, ValueId scale, ValueId zero_point,
                                DataType type);
Scale8 scale8(double scale, double zero_point, DataType type);

// Weights with the zero point subtracted, as signed numbers; nothing if one does not fit, or
// they change from run to run. `zero_point` has one number, or one for each position along `axis`.
std::optional<Tensor> signed_weights(const Lowering& lowering, ValueId weights, ValueId zero_point,
                                     std::size_t axis);

// Weights as signed numbers whose zero point is still to be subtracted: from uint8, both are 128
// less.
struct ShiftedWeights {
  Tensor numbers;
  std::vector<std::int32_t> zero_points = {};  // by position along the axis; empty: all are 0
};
// As above, with zero points where a number less its zero point needs 9 bits.
std::optional<ShiftedWeights> shifted_weights(const Lowering& lowering, ValueId weights,
                                              ValueId zero_point, std::size_t axis);

// A constant's numbers as floats; empty where it is not a constant.
std::vector<float> constant_numbers(const Lowering& lowering, ValueId id);

// A value in memory without gaps, channels last or row by row, and the same for another value of
// these dimensions.
bool is_dense_image(const Placement& placement);  // channels last
Placement dense_placement(Lowering& lowering, ValueId id);
Placement new_dense(Lowering& lowering, bool channels_last, const Dims& dims, DataType type);
Placement like(Lowering& lowering, const Placement& placement, const Dims& dims, DataType type);
// For a pass over 8-bit numbers: one where there are few.
int threads_for_bytes(const Lowering& lowering, std::int64_t elements);

// The Clip of 8-bit numbers that alone reads `value`, with its bounds.
struct Clipped8 {
  NodeId node;
  Clamp8 clamp;
};
std::optional<Clipped8> clip_after(const Lowering& lowering, ValueId value);

// What oneDNN does to products in units of `to` before it stores them: rounded before the zero
// point is added, since a sum of floats would round twice.
std::vector<PostOp> ops_before_storing(const Scale8& to, const std::optional<Clipped8>& clip);

}  // namespace assay::cpu
