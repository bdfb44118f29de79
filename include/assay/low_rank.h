// Low-rank factorisation: the matrix of a large linear layer becomes the product of two thinner
// ones.
//
// W [k, n] ≈ A [k, r] · B [r, n], where B = Aᵀ·W and the columns of A are an orthonormal basis of
// approximately the span of the r leading left singular vectors of W, found by subspace iteration.
// It pays if k·r + r·n is well below k·n and the loss is small. Trained matrices differ, so the
// loss is reported for every layer. Whether a layer becomes faster can only be measured:
// factorize_where_faster (low_rank_measured.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

// Suffix of the name of the product with A; the rest is the layer's name.
inline constexpr const char* kLowRankSuffix = ".low_rank";

struct LowRankOptions {
  double share = 0.5;           // of a matrix' weights that its two factors have, in (0, 1)
  std::int64_t smallest = 256;  // matrices with fewer rows or columns stay
  double largest_loss = 1;      // matrices that lose more (LowRankLayer::loss) stay
  std::optional<std::set<std::string>> layers = {};  // only these, by name
};

struct LowRankLayer {
  std::string name;
  std::int64_t rows = 0;  // of the matrix: what the layer reads
  std::int64_t columns = 0;
  std::int64_t rank = 0;
  double loss = 0;         // |W - A·B| / |W|, both by the root of the sum of squares
  bool factorised = true;  // false where the loss is too large
};

struct LowRankResult {
  Graph graph;
  std::vector<LowRankLayer> layers;  // in execution order
};

// MatMul, and Gemm without a transposed input, with a stored float32 matrix on the right.
LowRankResult factorize_linear_layers(const Graph& model, const LowRankOptions& options = {});

}  // namespace assay
