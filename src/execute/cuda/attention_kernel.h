// Attention in one kernel: softmax(query · keys) · values, without the scores in memory.
//
// A block computes some rows of one matrix of the batch. Keys and values come through shared memory
// a tile at a time; what was summed so far is scaled down where a greater score turns up (Dao et
// al., "FlashAttention", 2022).
#pragma once

#include <optional>
#include <string>

#include "execute/cuda/chain.h"

namespace assay::cuda {

// The vectors of one operand: elements apart, and one vector from the next.
struct AttentionLines {
  std::string start;  // offset of a matrix of the batch, of `z`
  std::int64_t line_stride = 0;
  std::int64_t stride = 0;
  bool in_groups = false;  // 16 bytes lie side by side, aligned
};

struct AttentionShape {
  DataType type = DataType::Float32;
  std::int64_t batches = 1;
  std::int64_t rows = 0;  // of queries
  std::int64_t keys = 0;
  std::int64_t depth = 0;  // elements of a query and of a key
  std::int64_t width = 0;  // elements of a value
};

struct Attention {
  AttentionShape shape;
  AttentionLines query;
  AttentionLines keys;
  AttentionLines values;
  std::string more_parameters = "";  // of the kernel, behind the three
  // Statements that return a score from the product `sum` at `z`, `row` and `column`.
  std::string score;
  std::string factor;     // of the results
  std::string result_at;  // offset of the result at `z`, `row` and `column`
};

// Nothing if there is no kernel for this on the device.
bool has_attention_kernel(const AttentionShape& shape, const gpu::DeviceFacts& device);
KernelText attention_kernel(const Attention& attention, const gpu::DeviceFacts& device);

}  // namespace assay::cuda
