// Functions for whole ops whose operands lie row by row in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/graph.h"

namespace assay::cpu {

struct DirectOperand {
  DataType type = DataType::Undefined;  // of an optional operand left out
  std::vector<std::int64_t> dims = {};
  std::byte* bytes = nullptr;

  bool has_value() const { return bytes != nullptr; }
  std::int64_t elements() const;
  std::int64_t element_bytes() const { return bits(type) / 8; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(bytes);
  }
};

// One call; everything but the contents of operands stays the same from run to run.
struct DirectCall {
  const Node* node = nullptr;
  std::vector<DirectOperand> inputs = {};
  std::vector<DirectOperand> outputs = {};
  int threads = 1;

  const DirectOperand& input(std::size_t i) const { return inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  // The attribute `axis` as a position; it is valid, as inference has checked.
  std::size_t axis(std::int64_t otherwise, std::size_t rank) const;
};

// False: nothing usable was written, the plain kernel has to run.
using DirectKernel = bool (*)(const DirectCall& call);

// Integers of 32 or 64 bits as the latter.
std::int64_t integer_at(const DirectOperand& operand, std::int64_t i);

// Picked and placed by index.
bool gather_elements(const DirectCall& call);
bool gather_tuples(const DirectCall& call);
bool scatter_elements(const DirectCall& call);
bool scatter_tuples(const DirectCall& call);
bool one_hot(const DirectCall& call);

// Along one axis.
bool top_k(const DirectCall& call);
bool position_of_greatest(const DirectCall& call);
bool position_of_least(const DirectCall& call);
bool cumulative_sum(const DirectCall& call);
bool reverse_sequence(const DirectCall& call);

// Rearranged or made from numbers.
bool triangle(const DirectCall& call);
bool tile(const DirectCall& call);
bool pad(const DirectCall& call);
bool range(const DirectCall& call);

}  // namespace assay::cpu
