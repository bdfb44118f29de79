// Loops over floats, 16-bit and 8-bit numbers for which oneDNN has no fast primitive, written once
// for vectors of any width and compiled for each instruction set. `simd()` chooses by what this
// processor has and ASSAY_MAX_ISA allows.
//
// Pointers may be unaligned. An output may be the same array as the input, but may not overlap it
// otherwise. NaN and infinity flow as IEEE 754 says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace assay::cpu {

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

enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  PRelu,
  WherePositive,  // b where a > 0, else 0
};

enum class ReduceOp : std::uint8_t { Sum, Max, Min, SumSquare, SumAbs };

struct LayerNormArguments {
  const float* gamma = nullptr;
  const float* beta = nullptr;  // may be null
  float epsilon = 0;
};

// Floating numbers of 16 bits.
enum class HalfFormat : std::uint8_t { Bfloat16, Float16 };

// How the channels of images lie: `block` of them side by side at every pixel; all counted in
// floats.
struct ChannelLayout {
  std::size_t block = 0;
  std::size_t pixel = 0;  // from a pixel to the next
  std::size_t plane = 0;  // from a block's first pixel to that of the next block
  std::size_t image = 0;
};

// Filters of the 4×4 transform are about this much larger in planes of the last row or column than
// in others. Integers hold them best where all are alike: the others are stored this much larger.
constexpr float kBalanceOfFour = 4;

// A 3×3 convolution of stride 1, in tiles of tile×tile results. Blocks of channels, if they are
// not all of them, hold whole vectors.
struct WinogradShape {
  std::size_t tile = 4;                             // 2 or 4
  std::size_t height = 0, width = 0, channels = 0;  // of an input image
  std::size_t rows = 0, columns = 0, outputs = 0;   // of a result
  std::ptrdiff_t pad_top = 0, pad_left = 0;
  std::size_t tiles_down = 0, tiles_across = 0;
  ChannelLayout in, out;
  // Whether images, results and addend have 16 bits; they are passed as if they were floats.
  bool in_halves = false;
  HalfFormat format = HalfFormat::Bfloat16;  // if so
  // By output, what sums are multiplied with before anything is added, where weights are balanced
  // and stored as 16-bit integers (kBalanceOfFour); null where they are floats.
  const float* scales = nullptr;

  std::size_t planes() const { return (tile + 2) * (tile + 2); }
};

// What happens to a result before it is written: bias and addend are added, then it is clamped. A
// kernel is planned for one whose operands are not known yet.
struct Epilogue {
  bool adds = false;  // there will be an addend
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  const float* bias = nullptr;    // may be null
  const float* addend = nullptr;  // as the results lie; may be null, or the results themselves
};

// One or two rows of results of a channel-wise convolution, channels last; counted in pixels.
struct DepthwiseRows {
  // Rows of the image that the windows see, from the first tap of the first row on; null: outside.
  const void* const* sources = nullptr;
  const float* weights = nullptr;  // [taps_down, taps_across, channels]
  std::size_t taps_down = 0, taps_across = 0;
  std::size_t stride_down = 1;  // counted in `sources`
  std::size_t stride = 1, dilation = 1;
  std::size_t channels = 0;
  std::ptrdiff_t pad = 0;   // before the first column
  std::size_t columns = 0;  // of the image
  std::size_t results = 0;  // of a row
  std::size_t result_rows = 1;
};

// Pixels of a window, 16 bits and channels last, and what becomes of them.
struct PoolPixels {
  const std::uint16_t* const* pixels = nullptr;
  std::size_t count = 0;
  std::size_t channels = 0;
  bool is_maximum = false;
  float divisor = 1;  // of a sum
};

// What a core should have in its own cache by the end of what it does now. It is only fetched,
// never read: it may lie behind the last there is.
struct Upcoming {
  const float* begin = nullptr;
  std::size_t floats = 0;
};

// What an optimizer does to every parameter, with everything that is the same for all of them
// worked out beforehand.
struct OptimizerStep {
  std::size_t states = 0;  // 0: plain descent, 1: momentum, 2: Adam
  float rate = 0;          // Adam: divided by the share of the first moment
  float decay = 0;         // part of the gradient
  float shrink = 1;        // of the parameter itself
  float kept = 0;          // of the first state
  float kept_square = 0;   // of the second
  float inverse_root = 1;  // of the share of the second
  float epsilon = 0;
};

// The part of a window that lies inside a plane of pixels; each pixel holds `block` channels.
struct PoolWindow {
  std::size_t first = 0;  // pixel
  std::size_t rows = 0, columns = 0;
};
struct PoolGradientShape {
  std::size_t height = 0, width = 0, block = 0;
  std::size_t row_step = 1, column_step = 1;  // dilations
  std::size_t windows = 0;
  const PoolWindow* taps = nullptr;
  bool are_squares = false;    // of 2×2, side by side, covering all pixels
  bool positive_only = false;  // also the gradient of a ReLU whose results the pixels are
};

// What a Dropout does to element i: kept and scaled if mixed(stream + i) is not less than `least`,
// else zero (kernels/dropout.h).
struct DropoutDraw {
  std::uint64_t stream = 0;
  std::uint64_t least = 0;
  double scale = 1;
};

struct LayerNormGradient {
  const float* gamma = nullptr;
  float epsilon = 0;
  float* scale_sums = nullptr;  // added to, row by row
  float* bias_sums = nullptr;
};

// Rows of `width` floats, a `stride` apart; a batch norm has numbers of its own for each column.
struct NormRows {
  std::size_t count = 0;
  std::size_t stride = 0;
  std::size_t width = 0;
};

// (x - mean) · factor + shift
struct NormVectors {
  const float* mean = nullptr;
  const float* factor = nullptr;
  const float* shift = nullptr;
};

// factor · (gradient - even - (x - mean) · along)
struct NormGradient {
  NormVectors norm;
  const float* even = nullptr;
  const float* along = nullptr;
  bool positive_only = false;  // also the gradient of a ReLU behind the norm
};

// Units of one sequence of an LSTM, one time step. Gates come as sums, in the order input, output,
// forget, candidate, and go through their activations; they lie `gate_stride` floats apart.
struct LstmUnits {
  float* gates = nullptr;
  std::size_t gate_stride = 0;
  const float* old_cell = nullptr;
  float* cell = nullptr;  // may be the old one
  float* hidden = nullptr;
};

// Units of one sequence of an LSTM, one time step of the backward pass. Gates have gone through
// their activations, in the order input, output, forget, candidate; `deltas` are the gradients of
// what went in. Gates lie `gate_stride` floats apart, deltas `delta_stride`.
struct LstmUnitsBackward {
  const float* gates = nullptr;
  std::size_t gate_stride = 0;
  const float* old_cell = nullptr;
  const float* cell = nullptr;
  const float* output_gradient = nullptr;  // of the step's own result; may be null
  float* hidden_gradient = nullptr;        // by later steps; becomes zero
  float* cell_gradient = nullptr;          // becomes that of the old cell state
  float* deltas = nullptr;
  std::size_t delta_stride = 0;
};

// The same of a GRU, whose gates are update, reset and candidate. Where the reset acts behind the
// recurrent weights, `recurrent` is what comes out of them, the third delta is that for the
// recurrent weights, and a fourth that for the input weights.
struct GruUnitsBackward {
  const float* gates = nullptr;
  std::size_t gate_stride = 0;
  const float* old_hidden = nullptr;
  const float* recurrent = nullptr;        // null: the reset acts on the old state
  const float* output_gradient = nullptr;  // may be null
  float* hidden_gradient = nullptr;        // becomes what reaches the old state past all weights
  float* deltas = nullptr;
  std::size_t delta_stride = 0;
};

// What 8-bit numbers stand for: (number − zero_point) · scale.
struct Clamp8 {
  std::int32_t low = 0, high = 0;
};
struct Scale8 {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool is_signed = false;

  Clamp8 range() const { return is_signed ? Clamp8{-128, 127} : Clamp8{0, 255}; }
};

// Always holds 0, so that zero is represented exactly.
struct ValueRange {
  float low = 0;
  float high = 0;
};

// a + b or a · b, rounded and clamped.
struct Combination8 {
  Scale8 a, b, to;
  Clamp8 clamp;
  bool multiplies = false;
  bool b_is_one_number = false;
};

struct ByteRows {
  std::size_t count = 0;
  std::size_t stride = 0;
  std::size_t width = 0;
};

// Columns of a matrix of 8-bit numbers that lie together.
constexpr std::size_t kByteColumns = 64;

// Rows of unsigned 8-bit numbers, and a matrix of signed ones in blocks of 64 columns. A block has,
// for every four rows of the matrix, the four numbers of each of its columns side by side.
struct ByteProduct {
  const std::uint8_t* rows = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;  // bytes from row to row
  const std::int8_t* blocks = nullptr;
  std::size_t depth = 0;    // a multiple of 4
  std::size_t columns = 0;  // a multiple of 64
};
// sums[r·sums_stride + j] = Σ_k rows[r, k] · matrix[k, j], exact while it fits.
using ByteProductFunction = void (*)(const ByteProduct& product, std::int32_t* sums,
                                     std::size_t sums_stride);

// (sum − source_zero_point · column_sums − source_sum · column_zero_points) · source_scale · scales
// + bias: a matrix product of 8-bit numbers as floats; what has one number for each column is given
// from the first column on.
struct ScaledSums {
  std::int32_t source_zero_point = 0;
  float source_scale = 1;
  const std::int32_t* column_sums = nullptr;
  const float* scales = nullptr;
  const float* bias = nullptr;  // may be null
  // Where the matrix has zero points that were not subtracted from it: they and the sum of the row.
  const std::int32_t* column_zero_points = nullptr;
  std::int32_t source_sum = 0;
};

// panel_width columns of a matrix, as `blocks` blocks of `block` rows; `block` is a multiple of 8.
// A block is a scale for each column, then a shift for each if there are any, then the codes, in
// two's complement: an element is code · scale + shift. Codes of 8 bits lie row by row; codes of 4
// bits as 32-bit words, one for each column, of eight rows.
struct CodedPanel {
  int bits = 4;  // or 8
  std::size_t block = 0;
  std::size_t blocks = 0;
  bool has_shifts = false;
  const std::byte* bytes = nullptr;
};

// Rows of 16-bit numbers that are computed side by side.
constexpr std::size_t kHalfRowsAtOnce = 4;

// Rows of n 16-bit numbers, computed in float32; `workspace` has kHalfRowsAtOnce · n floats; `out`
// may be `in`.
struct HalfRowKernels {
  void (*softmax)(HalfFormat format, const std::uint16_t* in, std::uint16_t* out, float* workspace,
                  std::size_t n, std::size_t rows);
  void (*layer_norm)(const LayerNormArguments& norm, HalfFormat format, const std::uint16_t* in,
                     std::uint16_t* out, float* workspace, std::size_t n, std::size_t rows);
};

// Rows of floats, `stride` apart.
struct DotRows {
  const float* first = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;
};

struct SimdKernels {
  const char* name = "";
  std::size_t panel_width = 0;  // floats
  std::size_t panels_for(std::size_t columns) const {
    return (columns + panel_width - 1) / panel_width;
  }
  void (*unary)(UnaryOp op, float alpha, float beta, const float* in, float* out, std::size_t n);
  void (*binary)(BinaryOp op, const float* a, const float* b, float* out, std::size_t n);
  void (*binary_number)(BinaryOp op, const float* a, float b, float* out, std::size_t n);
  void (*number_binary)(BinaryOp op, float a, const float* b, float* out, std::size_t n);
  // out = mask ≠ 0 ? a : b
  void (*select)(const float* mask, const float* a, const float* b, float* out, std::size_t n);
  // `in` begins with element `first`. Rounded once, as the plain kernel does it.
  void (*dropout)(const DropoutDraw& draw, std::uint64_t first, const float* in, float* out,
                  std::size_t n);
  float (*reduce)(ReduceOp op, const float* in, std::size_t n);
  void (*softmax)(const float* in, float* out, std::size_t n);
  void (*log_softmax)(const float* in, float* out, std::size_t n);
  // Rows of `n` numbers one after the other.
  void (*layer_norm)(const LayerNormArguments& norm, const float* in, float* out, std::size_t n,
                     std::size_t rows);
  HalfRowKernels half_rows;
  // out[j] += Σ_k x[k]·matrix[k·stride + j] for j < n
  void (*add_vector_matrix)(const float* x, std::size_t k, const float* matrix, std::size_t stride,
                            float* out, std::size_t n);
  // Parameters and states are written over; those that an optimizer does not have are null.
  void (*optimizer_step)(const OptimizerStep& step, float* parameters, const float* gradients,
                         float* first, float* second, std::size_t n);
  // Each window's gradient goes to its greatest element; `results` need not be zero before.
  void (*pool_gradient)(const PoolGradientShape& shape, const float* images, const float* gradients,
                        float* results);
  void (*softmax_gradient)(const float* results, const float* gradients, float* out, std::size_t n);
  void (*layer_norm_gradient)(const LayerNormGradient& norm, const float* in,
                              const float* gradients, float* out, std::size_t n);
  void (*gelu_gradient)(bool by_tanh, const float* in, const float* gradients, float* out,
                        std::size_t n);
  // Adds each column to the sums.
  void (*column_sums)(const NormRows& rows, const float* in, double* sums);
  // Adds each column's distances from its pivot, and their squares, to the sums.
  void (*norm_sums)(const NormRows& rows, const float* pivots, const float* in, double* sums,
                    double* squares);
  void (*normalise)(const NormRows& rows, const NormVectors& norm, const float* in, float* out);
  // Adds each column's gradients, and their products with the distance from the mean.
  void (*norm_gradient_sums)(const NormRows& rows, const NormGradient& norm, const float* in,
                             const float* gradients, double* sums, double* products);
  void (*norm_gradient)(const NormRows& rows, const NormGradient& norm, const float* in,
                        const float* gradients, float* out);
  void (*lstm_forward)(const LstmUnits& units, std::size_t n);
  void (*lstm_backward)(const LstmUnitsBackward& units, std::size_t n);
  // Without `recurrent` this leaves out the reset gate, whose gradient follows from that of the
  // state it acts on: gru_reset_backward adds what passes it to the hidden gradient.
  void (*gru_backward)(const GruUnitsBackward& units, std::size_t n);
  void (*gru_reset_backward)(const GruUnitsBackward& units, const float* reset_state_gradient,
                             std::size_t n);
  // out[c·out_stride + r] = in[r·stride + c] for r < rows, c < columns
  void (*transpose)(const float* in, std::size_t stride, float* out, std::size_t out_stride,
                    std::size_t rows, std::size_t columns);
  // products[r·products_stride + j] = Σ_k rows[r·stride + k]·panel[k·panel_width + j] for
  // j < panel_width
  void (*panel_product)(const float* rows, std::size_t count, std::size_t stride,
                        const float* panel, std::size_t depth, float* products,
                        std::size_t products_stride, const Upcoming& upcoming);
  // The same, added to what `products` holds.
  void (*add_panel_product)(const float* rows, std::size_t count, std::size_t stride,
                            const float* panel, std::size_t depth, float* products,
                            std::size_t products_stride, const Upcoming& upcoming);
  void (*finish)(const Epilogue& epilogue, const float* in, float* out, std::size_t n);
  // Tiles first..last of the batch; `transformed` is where plane 0 of the first of them goes, a row
  // of `channels` for each tile.
  void (*winograd_input)(const WinogradShape& shape, const float* images, std::size_t first,
                         std::size_t last, float* transformed, std::size_t plane_stride);
  // The reverse, from rows of at least `outputs` rounded up to panels.
  void (*winograd_output)(const WinogradShape& shape, const float* products,
                          std::size_t plane_stride, std::size_t row_stride, std::size_t first,
                          std::size_t last, const Epilogue& epilogue, float* results);
  // Filters of `n` outputs side by side, whose taps lie `tap_stride` apart.
  void (*winograd_filter)(std::size_t tile, const float* taps, std::size_t tap_stride,
                          float* transformed, std::size_t plane_stride, std::size_t n);
  ValueRange (*value_range)(const float* in, std::size_t n);
  void (*quantize)(const float* in, const Scale8& to, void* out, std::size_t n);
  void (*dequantize)(const void* in, const Scale8& from, float* out, std::size_t n);
  void (*combine)(const Combination8& how, const void* a, const void* b, void* out, std::size_t n);
  // Adds each column of 8-bit numbers to its sum.
  void (*add_rows)(const void* in, bool is_signed, const ByteRows& rows, std::int32_t* sums);
  std::int32_t (*byte_sum)(const void* in, bool is_signed, std::size_t n);
  // (sum − shift) · factor, rounded, with `to`'s zero point.
  void (*requantize)(const std::int32_t* sums, float factor, std::int32_t shift, const Scale8& to,
                     void* out, std::size_t n);
  void (*scale_sums)(const ScaledSums& how, const std::int32_t* sums, float* out, std::size_t n);
  // Numbers of 16 bits. Overflow becomes infinity.
  std::size_t half_panel_width = 0;  // numbers
  void (*widen)(HalfFormat format, const std::uint16_t* in, float* out, std::size_t n);
  void (*narrow)(HalfFormat format, const float* in, std::uint16_t* out, std::size_t n);
  // As panel_product, or add_panel_product if it continues, with a panel of 16-bit numbers.
  void (*product_of_halves)(HalfFormat format, const float* rows, std::size_t count,
                            std::size_t stride, const std::uint16_t* panel, std::size_t depth,
                            float* products, std::size_t products_stride, bool continues,
                            const Upcoming& upcoming);
  void (*product_of_integers)(const float* rows, std::size_t count, std::size_t stride,
                              const std::int16_t* panel, std::size_t depth, float* products,
                              std::size_t products_stride, const Upcoming& upcoming);
  // As finish; the addend too has 16 bits, and is passed as if it were floats.
  void (*finish_halves)(HalfFormat format, const Epilogue& epilogue, const float* in,
                        std::uint16_t* out, std::size_t n);
  void (*depthwise_rows)(const DepthwiseRows& rows, const Epilogue& epilogue, float* out);
  void (*half_depthwise_rows)(HalfFormat format, const DepthwiseRows& rows,
                              const Epilogue& epilogue, std::uint16_t* out);
  void (*half_pool)(HalfFormat format, const PoolPixels& window, std::uint16_t* out);
  // As add_vector_matrix, with a matrix of 16-bit numbers.
  void (*add_vector_halves)(HalfFormat format, const float* x, std::size_t k,
                            const std::uint16_t* matrix, std::size_t stride, float* out,
                            std::size_t n);
  // As product_of_halves, for a few rows: a panel of half_panel_width columns.
  void (*half_panel_product)(HalfFormat format, const float* rows, std::size_t count,
                             std::size_t stride, const std::uint16_t* panel, std::size_t depth,
                             float* products, std::size_t products_stride);
  // As panel_product, for a panel of codes. `block_sums` are the sums of each row's stretches of
  // `block`, one row of `blocks` after another; only read where there are shifts.
  void (*coded_product)(const CodedPanel& panel, const float* rows, std::size_t count,
                        std::size_t stride, const float* block_sums, float* products,
                        std::size_t products_stride);
  // The panel as floats, as panel_product reads it.
  void (*decode_panel)(const CodedPanel& panel, float* out);
  // out[r] = Σ_k x[k]·matrix[r·depth + k]
  void (*dot_products)(const float* x, const float* matrix, std::size_t rows, std::size_t depth,
                       float* out);
  // out[r·out_stride + j] = Σ_k rows[r·stride + k]·matrix[j·depth + k] for j < columns
  void (*rows_by_rows)(const DotRows& rows, const float* matrix, std::size_t columns,
                       std::size_t depth, float* out, std::size_t out_stride);
  // As rows_by_rows for sixteen rows, of which and of whose products the columns lie together:
  // out[16·j + r] = Σ_k rows[16·k + r]·matrix[j·depth + k] for j < columns
  void (*sixteen_by_rows)(const float* rows, const float* matrix, std::size_t columns,
                          std::size_t depth, float* out);
  ByteProductFunction byte_product;
};

const SimdKernels& simd();
const HalfRowKernels& half_rows();  // the fastest that this processor has
// The widest whose vectors a row of `floats` fills.
const SimdKernels& simd_for(std::size_t floats);

// One for each file of this folder that is compiled for the present architecture.
const SimdKernels& simd_baseline();
const SimdKernels& simd_avx2();
const SimdKernels& simd_avx512();
const HalfRowKernels& half_rows_avx512_bf16();

}  // namespace assay::cpu
