// Copies elements between two layouts given by strides: what transposing, slicing, joining and
// padding come down to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::cpu {

struct CopyPlan {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> from;  // strides in elements
  std::vector<std::int64_t> to;
  std::size_t element = 4;  // bytes: 1, 2, 4, 8 or 16
};

// The same copy with as few axes as possible, the one that lies closest in memory last.
CopyPlan simplified(CopyPlan plan);

// Pieces that can be copied independently of each other.
std::int64_t piece_count(const CopyPlan& plan);
void copy_pieces(const CopyPlan& plan, const std::byte* from, std::byte* to, std::int64_t first,
                 std::int64_t last);

}  // namespace assay::cpu
