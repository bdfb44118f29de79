#include "execute/cpu/kernels/product_finish.h"

#include <algorithm>
#include <cstring>

namespace assay::cpu {

namespace {

// Sums that are finished while they are in the nearest cache.
constexpr std::size_t kFinishedAtOnce = 512;

// An addition, then a clamp; or one of them, or none.
std::optional<Epilogue> as_epilogue(const std::vector<ProductFinish>& finish) {
  Epilogue epilogue;
  bool is_clamped = false;
  for (const ProductFinish& one : finish) {
    if (is_clamped) return {};
    if (one.kind == ProductFinish::Kind::Add) {
      if (epilogue.adds) return {};
      epilogue.adds = true;
      continue;
    }
    is_clamped = true;
    if (one.op == UnaryOp::Clip) {
      epilogue.low = one.alpha;
      epilogue.high = one.beta;
    } else if (one.op == UnaryOp::Relu || (one.op == UnaryOp::LeakyRelu && one.alpha == 0)) {
      epilogue.low = 0;
    } else {
      return {};
    }
  }
  return epilogue;
}

}  // namespace

FinishedRows::FinishedRows(std::vector<ProductFinish> finish, std::optional<HalfFormat> result,
                           const SimdKernels& kernels)
    : finish_(std::move(finish)),
      epilogue_(as_epilogue(finish_)),
      result_(result),
      kernels_(kernels) {}

bool FinishedRows::adds() const {
  return std::ranges::find(finish_, ProductFinish::Kind::Add, &ProductFinish::kind) !=
         finish_.end();
}

void FinishedRows::finish_stretch(const ConvolutionOperands& operands, std::size_t at,
                                  std::size_t column, std::size_t count, float* sums) const {
  float addend[kFinishedAtOnce];
  if (operands.bias != nullptr)
    kernels_.binary(BinaryOp::Add, sums, operands.bias + column, sums, count);
  for (const ProductFinish& one : finish_) {
    if (one.kind == ProductFinish::Kind::Unary) {
      kernels_.unary(one.op, one.alpha, one.beta, sums, sums, count);
    } else if (result_) {
      const auto* halves = reinterpret_cast<const std::uint16_t*>(operands.addend) + at;
      kernels_.widen(*result_, halves, addend, count);
      kernels_.binary(BinaryOp::Add, sums, addend, sums, count);
    } else {
      kernels_.binary(BinaryOp::Add, sums, operands.addend + at, sums, count);
    }
  }
  if (result_) {
    kernels_.narrow(*result_, sums, reinterpret_cast<std::uint16_t*>(operands.result) + at, count);
  } else {
    std::memcpy(operands.result + at, sums, count * sizeof(float));
  }
}

void FinishedRows::finish(const ConvolutionOperands& operands, std::size_t at, std::size_t column,
                          std::size_t count, float* sums) const {
  if (!epilogue_) {
    for (std::size_t i = 0; i < count; i += kFinishedAtOnce)
      finish_stretch(operands, at + i, column + i, std::min(kFinishedAtOnce, count - i), sums + i);
    return;
  }
  Epilogue epilogue = *epilogue_;
  if (operands.bias != nullptr) epilogue.bias = operands.bias + column;
  if (!result_) {
    if (epilogue.adds) epilogue.addend = operands.addend + at;
    return kernels_.finish(epilogue, sums, operands.result + at, count);
  }
  if (epilogue.adds)
    epilogue.addend = reinterpret_cast<const float*>(
        reinterpret_cast<const std::uint16_t*>(operands.addend) + at);
  kernels_.finish_halves(*result_, epilogue, sums,
                         reinterpret_cast<std::uint16_t*>(operands.result) + at, count);
}

}  // namespace assay::cpu
