// Matrix products by cuBLASLt, as candidates beside our own kernels.
#pragma once

#include <string>
#include <vector>

#include "execute/cuda/candidate.h"
#include "execute/cuda/tail.h"
#include "gpu/cublaslt_product.h"

namespace assay::cuda {

// One matrix, or several that lie a stride apart: [batch, rows, columns].
struct MatrixView {
  Placement at;  // the first element
  gpu::Matrix matrix = {};
};

struct LibraryProduct {
  NodeId main = {};
  std::int64_t batches = 1;
  MatrixView a = {};
  MatrixView b = {};
  gpu::Matrix result = {};     // row by row
  Placement result_like = {};  // of the node's own result, without a buffer
  double alpha = 1;
  // Added beside what the tail adds: by the library, or by the kernel of the remainder.
  std::optional<Placement> bias = {};         // a number for each column
  std::optional<Placement> other_added = {};  // broadcast to the result's dimensions
  std::size_t column_axis = 0;                // of the result's dimensions
};

// The candidates, none if cuBLASLt is not there or does not support the product. The epilogue's
// nodes that the library does not compute run in a kernel of our own behind it.
std::vector<Candidate> cublaslt_candidates(Lowering& lowering, const LibraryProduct& product,
                                           const Epilogue& epilogue);

// Whether all operands have the type of the result, as the library asks for.
bool can_multiply(const LibraryProduct& product);

// " relu add": the ops behind a step's main node, and the mathematics, as a part of questions.
std::string following(const Lowering& lowering, const Epilogue& epilogue);

// What libraries call the type; nothing if they do not multiply numbers of it.
std::optional<gpu::NumberType> number_type(DataType type);
gpu::Float32Math float32_math(const Lowering& lowering);
// "tf32" where float32 is computed so.
std::string library_precision(const Lowering& lowering, DataType type);

// A candidate of one kernel of our own, whose arguments are what the draft reads and writes, then
// others, then a workspace of so many bytes, if there is one.
Candidate own_candidate(Lowering& lowering, const std::string& name, const KernelText& kernel,
                        bool threads_cooperate, const StepDraft& draft,
                        const std::vector<Placement>& others = {},
                        std::int64_t workspace_bytes = 0);

// Library, then remainder.
Prepared prepared_with(const std::shared_ptr<Remainder>& remainder, std::int64_t workspace_bytes,
                       Lowering& lowering,
                       std::function<Runner(const Addresses&, BufferId workspace)> bind);

}  // namespace assay::cuda
