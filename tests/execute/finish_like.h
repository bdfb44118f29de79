// The operations on sums that do what an epilogue does.
#pragma once

#include <cmath>
#include <vector>

#include "execute/cpu/kernels/product_finish.h"

namespace assay::cpu {

inline std::vector<ProductFinish> finish_like(const Epilogue& epilogue) {
  std::vector<ProductFinish> finish;
  if (epilogue.adds) finish.push_back({.kind = ProductFinish::Kind::Add});
  if (std::isfinite(epilogue.high))
    finish.push_back({.op = UnaryOp::Clip, .alpha = epilogue.low, .beta = epilogue.high});
  else if (epilogue.low == 0)
    finish.push_back({.op = UnaryOp::LeakyRelu});
  return finish;
}

}  // namespace assay::cpu
