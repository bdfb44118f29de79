// oneDNN 2 as this engine uses it: layouts, and primitives with the layouts they want. Its API for
// describing operations stays inside adapter.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "assay/data_type.h"

namespace assay::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Algorithm = dnnl::algorithm;

// How a primitive names its operands.
namespace argument {
inline constexpr int kSource = DNNL_ARG_SRC;
inline constexpr int kWeights = DNNL_ARG_WEIGHTS;
inline constexpr int kBias = DNNL_ARG_BIAS;
inline constexpr int kResult = DNNL_ARG_DST;
inline constexpr int kScratchpad = DNNL_ARG_SCRATCHPAD;
inline constexpr int kFrom = DNNL_ARG_FROM;
inline constexpr int kTo = DNNL_ARG_TO;
constexpr int post_op_operand(std::size_t index) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(index)) | DNNL_ARG_SRC_1;
}
}  // namespace argument

const dnnl::engine& dnnl_engine();
const dnnl::stream& dnnl_stream();

// A tensor in row-major order, or in the order oneDNN likes best.
Desc plain_desc(const Dims& dims, DataType type = DataType::Float32);
Desc any_desc(const Dims& dims, DataType type = DataType::Float32);
Desc strided_desc(const Dims& dims, const Dims& strides, DataType type = DataType::Float32);
DataType element_of(const Desc& desc);
// The same layout of another type.
Desc with_type(Desc desc, DataType type);
// Images of 1 to 3 spatial axes with `block` channels side by side at every pixel: 4, 8 or 16;
// 0: all of them (channels last).
Desc image_desc(const Dims& dims, std::int64_t block, DataType type = DataType::Float32);
// Weights of a two-dimensional convolution for such images: `block` inputs by `block` outputs, 8 or
// 16.
Desc blocked_weights_desc(const Dims& dims, std::int64_t block);
std::size_t bytes_of(const Desc& desc);
std::string layout_key(const Desc& desc);  // equal for equal layouts, and only for those

// What follows the main operation on each element of the result, without leaving registers.
struct PostOp {
  enum class Kind { Sum, Eltwise, BinaryAdd, BinaryMul };
  Kind kind = Kind::Sum;
  Algorithm algorithm = Algorithm::undef;  // of Eltwise
  float alpha = 0;
  float beta = 0;
  Desc operand = {};  // of a binary op
  // Of a Sum that adds quantised numbers: (old − zero_point) · scale, and their type.
  float scale = 1;
  std::int32_t zero_point = 0;
  DataType type = DataType::Undefined;
};

// From sums of products of 8-bit numbers to 8-bit results: sum · scale + zero point. One scale, or
// one for each output channel.
struct Requantization {
  std::vector<float> scales;
  std::int32_t source_zero_point = 0;
  std::int32_t weights_zero_point = 0;  // of matrix products
  std::int32_t result_zero_point = 0;
};

class OwnConvolution;

// The operands of a primitive by role. In the backward pass gradients take the place of values: a
// convolution's `source` is always the image side, its `result` the side of the windows.
struct ArgumentIndices {
  int source = argument::kSource;
  int weights = argument::kWeights;
  int bias = argument::kBias;
  int result = argument::kResult;
};

// A primitive that was created, or a kernel of our own, with the layouts it wants.
struct Choice {
  dnnl::primitive primitive;
  std::string implementation;  // "jit:avx512_core", "gemm:jit", …
  Desc source;
  Desc weights;
  Desc bias;
  Desc result;
  Desc scratchpad;
  ArgumentIndices indices = {};
  std::vector<std::pair<int, Desc>> operands = {};      // of binary post-ops, by argument index
  std::shared_ptr<const OwnConvolution> own = nullptr;  // instead of the primitive
  bool halves_weights = false;  // that others of the same layer store in 32 bits
};

struct Convolution {
  Desc source;
  Desc weights;  // [groups,] outputs, inputs / groups, kernel…
  std::optional<Desc> bias;
  Desc result;
  Dims strides;
  Dims dilations;  // 0: none
  Dims pads_begin;
  Dims pads_end;
  std::vector<PostOp> post_ops;
  std::optional<Requantization> requantization = {};
};

// Trained: forward with weights that change from run to run, so that nothing is gained by
// transforming them beforehand.
enum class ConvolutionKind { Direct, Transposed, Trained, InputGradient, WeightGradient };
// Every implementation oneDNN offers of this kind, its favourite first; at most `most` of each
// algorithm.
std::vector<Choice> convolutions(const Convolution& what, ConvolutionKind kind, std::size_t most);

struct Product {  // result[m,n] = source[m,k] · weights[n,k]ᵀ + bias[n]
  Desc source;
  Desc weights;
  std::optional<Desc> bias;
  Desc result;
  std::vector<PostOp> post_ops;
  std::optional<Requantization> requantization = {};
};
std::vector<Choice> inner_products(const Product& what, std::size_t most);
// The same with weights[k,n].
std::vector<Choice> matrix_products(const Product& what, std::size_t most);

struct Pooling {
  Algorithm algorithm = Algorithm::undef;
  Desc source;
  Desc result;
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads_begin;
  Dims pads_end;
};
std::optional<Choice> pooling(const Pooling& what);
// Of an average, which needs nothing but the gradient.
std::optional<Choice> pooling_gradient(const Pooling& what);

// Leaves out choices whose weights take many more bytes than the least that any of them needs.
void keep_small_weights(std::vector<Choice>& choices);

// Copies `from` to `to`, changing the layout; both in memory.
void reorder(const Desc& from_desc, void* from, const Desc& to_desc, void* to);
// The part of a layout that begins at `first` in the outermost dimension; nothing where the layout
// cannot be cut there.
std::optional<Desc> rows_of(const Desc& desc, std::int64_t first, std::int64_t count);
dnnl::primitive reorder_primitive(const Desc& from, const Desc& to);

}  // namespace assay::cpu
