// Loops over floats that oneDNN has no fast primitive for, written once over vectors of any width
// and compiled once for each instruction set. `simd()` chooses by what this processor has.
//
// Pointers may be unaligned. An output may be the very input, element for element; it may not
// overlap it otherwise. NaN and infinity flow as IEEE 754 says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

enum class UnaryOp : std::uint8_t {
  Copy,
  Relu,
  LeakyRelu,  // alpha
  Clip,       // alpha, beta
  Sigmoid,
  Tanh,
  Exp,
  Log,
  Sqrt,
  Neg,
  Abs,
  Reciprocal,
  Erf,
  GeluErf,
  GeluTanh,
  HardSigmoid,  // alpha, beta
  HardSwish,
  Swish,
  Elu,  // alpha
  Softplus,
  Softsign,
  Square,
  Cube,
  Floor,
  Ceil,
  Affine,  // alpha·x + beta
};

enum class BinaryOp : std::uint8_t { Add, Sub, Mul, Div, Max, Min, PRelu };

enum class ReduceOp : std::uint8_t { Sum, Max, Min, SumSquare, SumAbs };

struct LayerNormArguments {
  const float* gamma = nullptr;
  const float* beta = nullptr;  // may be null
  float epsilon = 0;
};

struct SimdKernels {
  const char* name = "";
  void (*unary)(UnaryOp op, float alpha, float beta, const float* in, float* out, std::size_t n);
  void (*binary)(BinaryOp op, const float* a, const float* b, float* out, std::size_t n);
  void (*binary_number)(BinaryOp op, const float* a, float b, float* out, std::size_t n);
  void (*number_binary)(BinaryOp op, float a, const float* b, float* out, std::size_t n);
  // out = mask ≠ 0 ? a : b
  void (*select)(const float* mask, const float* a, const float* b, float* out, std::size_t n);
  float (*reduce)(ReduceOp op, const float* in, std::size_t n);
  void (*softmax)(const float* in, float* out, std::size_t n);
  void (*log_softmax)(const float* in, float* out, std::size_t n);
  void (*layer_norm)(const LayerNormArguments& norm, const float* in, float* out, std::size_t n);
  // out[j] += Σ_k x[k]·matrix[k·stride + j] for j < n
  void (*add_vector_matrix)(const float* x, std::size_t k, const float* matrix, std::size_t stride,
                            float* out, std::size_t n);
  // out[c·rows + r] = in[r·stride + c]
  void (*transpose)(const float* in, std::size_t stride, float* out, std::size_t out_stride,
                    std::size_t rows, std::size_t columns);
};

const SimdKernels& simd();

// One for each file of this folder that is compiled for the present architecture.
const SimdKernels& simd_baseline();
const SimdKernels& simd_avx2();
const SimdKernels& simd_avx512();

}  // namespace assay
