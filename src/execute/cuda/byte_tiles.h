// Sums of products of 8-bit numbers on tensor cores, which are exact: convolutions and matrix
// products with stored weights. Rows of `a` are found by a text, so that windows of an image are
// rows without being copied.
#pragma once

#include <string>
#include <vector>

#include "execute/cuda/candidate.h"
#include "execute/cuda/epilogue.h"

namespace assay::cuda {

struct ByteTiles {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t group = 1;  // numbers of a row that lie side by side, aligned: 1, 4, 8 or 16
  DataType a_type = DataType::UInt8;
  DataType b_type = DataType::Int8;
  std::string parameters;  // of the kernel, with "out"; `a` and `b` name two of them
  std::string a;
  std::string b;
  std::int64_t column_stride = 0;  // numbers from a column of `b` to the next
  // Statements that set `line.base`, `line.y` and `line.x` for row `all_row`, and others that set
  // `offset`, where number `k` of a line lies, or return false where it is `fill`.
  std::string locate;
  std::string find;
  std::string fill = "0";
  // Statements that declare the coordinates of row `all_row`, then what makes the result of
  // `sum_of_numbers` in `column`: statements and an expression. Their place is that of `column`.
  std::string coordinates;
  std::string computing;
  std::string result;
  std::string place;
  DataType result_type = DataType::UInt8;
  std::int64_t results_together = 1;  // of neighbouring columns
};

// Whether sums of so many products fit 32 bits.
bool has_exact_sums(std::int64_t depth);

// Tiles of several sizes, and shares of long sums for several blocks. All read and write what the
// draft says.
std::vector<Candidate> byte_tile_candidates(Lowering& lowering, const ByteTiles& tiles,
                                            const StepDraft& draft);

// How many results can be stored at once where columns are this axis of the result.
std::int64_t results_together(const Placement& result, std::size_t axis);

}  // namespace assay::cuda
