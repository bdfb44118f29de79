#include "machine/gpu/product_kernel.h"

#include <fmt/core.h>

#include <array>

namespace assay::machine {

namespace {

// An operand: an integer from -4 to 4. `operand_text` is the same for the GPU.
int operand(unsigned number) {
  number *= 2654435761u;
  number ^= number >> 15;
  number *= 2246822519u;
  number ^= number >> 13;
  return static_cast<int>(number % 9u) - 4;
}

constexpr const char* kOperandText = R"(
__device__ int operand(unsigned number) {
  number *= 2654435761u;
  number ^= number >> 15;
  number *= 2246822519u;
  number ^= number >> 13;
  return (int)(number % 9u) - 4;
}
)";

// 32 sums in each thread, of the products of one pair of operands: with operands that change, an
// instruction reads more registers at once than there are ports, and a seventh to a quarter of the
// rate is lost, depending on where the compiler puts them. The loop is unrolled because what counts
// its rounds takes the place of a multiply-add. Sums start at numbers that differ, so that the
// compiler cannot take them for one.
constexpr int kSums = 32;
constexpr const char* kFusedText = R"(
__device__ float start(int sum) {{ return (float)operand(threadIdx.x % 32 * 64 + 32 + sum); }}
extern "C" __global__ void multiply(long long rounds, double* sums) {{
  const float a = (float)operand(threadIdx.x % 32 * 64), b = (float)operand(threadIdx.x % 32 * 64 + 1);
  float c[{sums}];
  for (int i = 0; i < {sums}; ++i) c[i] = start(i);
  const int count = (int)rounds;
  #pragma unroll 1
  for (int round = 0; round < count; round += {together}) {{
    #pragma unroll
    for (int again = 0; again < {together}; ++again) {{
      #pragma unroll
      for (int i = 0; i < {sums}; ++i) c[i] = fmaf(a, b, c[i]);
    }}
  }}
  double sum = 0;
  for (int i = 0; i < {sums}; ++i) sum += c[i] - start(i);
  sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}
)";

std::string fused_text() {
  return kOperandText +
         fmt::format(kFusedText, fmt::arg("sums", kSums), fmt::arg("together", kRoundsTogether));
}

double fused_sum() {
  double sum = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane)
    sum += kSums * operand(lane * 64) * operand(lane * 64 + 1);
  return sum;
}

ProductKernel fused_kernel() {
  constexpr double kFlops = 2.0 * kSums * kWarp;
  return {.precision = "fp32",
          .instruction_set = "CUDA cores",
          .text = fused_text(),
          .operations = kFlops,
          .sum_of_warp = fused_sum()};
}

// A product of tensor cores: 16 rows, 8 columns. A thread has 4 registers of A, 2 of B, 4 sums. Its
// lane / 4 is a row of A (and that + 8), and a column of B; lane % 4 and the elements of a register
// count along both. (PTX documentation, "Matrix Fragments for mma".)
struct TensorForm {
  std::string_view precision;
  int least_capability = 80;
  int elements = 1;  // of a register
  const char* sum = "float";
  const char* instruction = "";
  const char* encode = "";  // text: the bits of the integer `x` from 0 to 4, without a sign
  const char* sign = "";    // text: the bits of a negative one, from those
};

constexpr std::array<TensorForm, 5> kForms = {{
    {"tf32", 80, 1, "float", "m16n8k8.row.col.f32.tf32.tf32.f32", "__float_as_uint((float)x)",
     "bits | 0x80000000u"},
    {"fp16", 80, 2, "float", "m16n8k16.row.col.f32.f16.f16.f32",
     "x == 0 ? 0u : x == 1 ? 0x3c00u : x == 2 ? 0x4000u : x == 3 ? 0x4200u : 0x4400u",
     "bits | 0x8000u"},
    {"bf16", 80, 2, "float", "m16n8k16.row.col.f32.bf16.bf16.f32",
     "__float_as_uint((float)x) >> 16", "bits | 0x8000u"},
    {"fp8", 89, 4, "float", "m16n8k32.row.col.f32.e4m3.e4m3.f32",
     "x == 0 ? 0u : x == 1 ? 0x38u : x == 2 ? 0x40u : x == 3 ? 0x44u : 0x48u", "bits | 0x80u"},
    {"int8", 80, 4, "int", "m16n8k32.row.col.s32.s8.s8.s32", "(unsigned)x", "(0u - bits) & 0xffu"},
}};

// Tiles of B that one A is multiplied with, so that several products are under way.
constexpr int kTiles = 8;
constexpr int kMostElements = 4;
constexpr int kRegisters = 4 + 2 * kTiles;

// The number of an operand: register 0 to 3 is of A, then two of each B.
unsigned operand_number(int lane, int reg, int element) {
  return static_cast<unsigned>((lane * kRegisters + reg) * kMostElements + element);
}

// On the processor, in tests, the instruction is written out.
constexpr const char* kTensorText = R"(
__device__ unsigned encoded(int value) {{
  const int x = value < 0 ? -value : value;
  const unsigned bits = {encode};
  return value < 0 ? {sign} : bits;
}}
__device__ unsigned packed(int lane, int reg) {{
  unsigned bits = 0;
  for (int e = 0; e < {elements}; ++e)
    bits |= encoded(operand((lane * {registers} + reg) * 4 + e)) << (e * (32 / {elements}) % 32);
  return bits;
}}
#ifdef ASSAY_EMULATED
static signed char meaning[65536];
__device__ int decoded(unsigned bits, int e) {{
  if ({elements} == 1) return (int)__uint_as_float(bits);
  const unsigned width = 32 / {elements};
  if (meaning[encoded(4) & 65535] == 0)
    for (int value = -4; value <= 4; ++value) meaning[encoded(value) & 65535] = (signed char)value;
  return meaning[bits >> e * width & (1u << width % 32) - 1];
}}
__device__ void multiply_tile({sum}* c, const unsigned* a, const unsigned* b) {{
  const int lane = threadIdx.x % 32;
  for (int t = 0; t < 4; ++t)
    for (int half = 0; half < 2; ++half) {{
      const unsigned low = __shfl_sync(~0u, a[2 * half], lane / 4 * 4 + t);
      const unsigned high = __shfl_sync(~0u, a[2 * half + 1], lane / 4 * 4 + t);
      const unsigned left = __shfl_sync(~0u, b[half], lane % 4 * 8 + t);
      const unsigned right = __shfl_sync(~0u, b[half], lane % 4 * 8 + 4 + t);
      for (int e = 0; e < {elements}; ++e) {{
        c[0] += decoded(low, e) * decoded(left, e);
        c[1] += decoded(low, e) * decoded(right, e);
        c[2] += decoded(high, e) * decoded(left, e);
        c[3] += decoded(high, e) * decoded(right, e);
      }}
    }}
}}
#else
__device__ void multiply_tile({sum}* c, const unsigned* a, const unsigned* b) {{
  asm volatile(
      "mma.sync.aligned.{instruction} {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, {{%0,%1,%2,%3}};"
      : "+{letter}"(c[0]), "+{letter}"(c[1]), "+{letter}"(c[2]), "+{letter}"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}
#endif
extern "C" __global__ void multiply(long long rounds, double* sums) {{
  const int lane = threadIdx.x % 32;
  unsigned a[4], b[{tiles}][2];
  {sum} c[{tiles}][4], sums_so_far[{tiles}][4];
  for (int i = 0; i < 4; ++i) a[i] = packed(lane, i);
  for (int tile = 0; tile < {tiles}; ++tile) {{
    for (int i = 0; i < 2; ++i) b[tile][i] = packed(lane, 4 + 2 * tile + i);
    for (int i = 0; i < 4; ++i) sums_so_far[tile][i] = 0;
  }}
  for (long long round = 0; round < rounds; round += {together}) {{
    #pragma unroll
    for (int tile = 0; tile < {tiles}; ++tile)
      for (int i = 0; i < 4; ++i) c[tile][i] = 0;
    for (int again = 0; again < {together}; ++again) {{
      #pragma unroll
      for (int tile = 0; tile < {tiles}; ++tile) multiply_tile(c[tile], a, b[tile]);
    }}
    #pragma unroll
    for (int tile = 0; tile < {tiles}; ++tile)
      for (int i = 0; i < 4; ++i) sums_so_far[tile][i] += c[tile][i];
  }}
  double sum = 0;
  for (int tile = 0; tile < {tiles}; ++tile)
    for (int i = 0; i < 4; ++i) sum += sums_so_far[tile][i];
  sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}
)";

std::string tensor_text(const TensorForm& form) {
  const bool is_whole = std::string_view(form.sum) == "int";
  return kOperandText +
         fmt::format(kTensorText, fmt::arg("encode", form.encode), fmt::arg("sign", form.sign),
                     fmt::arg("elements", form.elements), fmt::arg("registers", kRegisters),
                     fmt::arg("sum", form.sum), fmt::arg("instruction", form.instruction),
                     fmt::arg("letter", is_whole ? "r" : "f"), fmt::arg("tiles", kTiles),
                     fmt::arg("together", kRoundsTogether));
}

// The sum of all elements of A · B: over what both count along, (sum of A's column) · (sum of B's
// row).
double tensor_sum(const TensorForm& form) {
  double sum = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int t = 0; t < 4; ++t) {
      for (int half = 0; half < 2; ++half) {
        for (int e = 0; e < form.elements; ++e) {
          double column = 0;
          double row = 0;
          for (int group = 0; group < 8; ++group) {
            const int lane = 4 * group + t;
            column += operand(operand_number(lane, 2 * half, e)) +
                      operand(operand_number(lane, 2 * half + 1, e));
            row += operand(operand_number(lane, 4 + 2 * tile + half, e));
          }
          sum += column * row;
        }
      }
    }
  }
  return sum;
}

ProductKernel tensor_kernel(const TensorForm& form) {
  const double products = 16.0 * 8.0 * 8.0 * form.elements;  // rows, columns, 4 · 2 registers
  return {.precision = form.precision,
          .instruction_set = "tensor cores",
          .least_capability = form.least_capability,
          .text = tensor_text(form),
          .threads_cooperate = true,
          .operations = 2 * products * kTiles,
          .sum_of_warp = tensor_sum(form)};
}

}  // namespace

std::vector<ProductKernel> product_kernels() {
  std::vector<ProductKernel> kernels = {fused_kernel()};
  for (const TensorForm& form : kForms) kernels.push_back(tensor_kernel(form));
  return kernels;
}

}  // namespace assay::machine
