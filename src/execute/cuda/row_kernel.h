// Kernels in which a block of threads computes over a row: the elements of some axes, for every
// place of the others.
#pragma once

#include "execute/cuda/indexed_kernel.h"

namespace assay::cuda {

struct Rows {
  Dims dims;
  std::vector<std::size_t> kept;     // axes
  std::vector<std::size_t> reduced;  // axes, in order
  std::int64_t count = 1;            // of rows
  std::int64_t width = 1;            // elements of a row
};
Rows rows_over(const Dims& dims, const std::vector<std::size_t>& reduced);

// Threads of a block, a multiple of a warp: kernels name them THREADS.
unsigned threads_for(const Rows& rows);

// Statements that declare the coordinates of a row, "i0", "i1", … of the kept axes, from its
// number.
std::string row_text(const Rows& rows, const std::string& row = "(long long)blockIdx.x");
// The same for the reduced axes, from the number of an element of its row.
std::string place_text(const Rows& rows, const std::string& element);
// "for each element of the row { …its coordinates… body }", shared among the threads.
std::string each_text(const Rows& rows, const std::string& body);
// A kernel of one block for each row.
KernelText row_kernel(const Rows& rows, const std::string& parameters, const std::string& body);

// There is something to compute, and 32 bits count it.
bool is_reasonable(const Rows& rows);

// A step of such a kernel, which reads `reads`; `parameters` declares them in this order.
void add_row_step(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue,
                  std::vector<Placement> reads, const std::string& parameters,
                  const std::string& body, std::int64_t flops_per_element);

}  // namespace assay::cuda
