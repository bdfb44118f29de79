#include "execute/cuda/kernel_text.h"

#include <fmt/core.h>

#include <cmath>

#include "execute/cuda/tile_text.h"

namespace assay::cuda {

namespace {

// Kernels are named KERNEL, which their owner replaces. Where kernels run on the processor, in
// tests, the instructions of the GPU are written out.
constexpr const char* kPrelude = R"(
struct half_t { unsigned short bits; };
struct bfloat_t { unsigned short bits; };
template <typename T, int N> struct alignas(sizeof(T) * N) Group { T at[N]; };

#ifdef ASSAY_EMULATED
#define MEMBER static inline
__device__ float half_to_float(unsigned short h) {
  const unsigned sign = (unsigned)(h & 0x8000) << 16;
  const unsigned exponent = (h >> 10) & 31, mantissa = h & 1023;
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
  const float value = exponent == 0 ? ldexpf((float)mantissa, -24)
                                    : ldexpf((float)(mantissa | 1024), (int)exponent - 25);
  return sign ? -value : value;
}
__device__ unsigned short float_to_half(float f) {
  const unsigned bits = __float_as_uint(f);
  const unsigned short sign = (unsigned short)(bits >> 16 & 0x8000);
  const float a = fabsf(f);
  if (f != f) return (unsigned short)(sign | 0x7e00);
  if (a >= 65520.0f) return (unsigned short)(sign | 0x7c00);
  if (a < 6.103515625e-05f) return (unsigned short)(sign | (unsigned)rintf(ldexpf(a, 24)));
  int exponent;
  const float fraction = frexpf(a, &exponent);
  const unsigned mantissa = (unsigned)rintf(ldexpf(fraction, 11));
  return (unsigned short)(sign | (((unsigned)(exponent + 13) << 10) + mantissa));
}
__device__ unsigned short float_to_bfloat(float f) {
  const unsigned bits = __float_as_uint(f);
  if (f != f) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
#else
#define MEMBER static __device__
__device__ float half_to_float(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
__device__ unsigned short float_to_half(float f) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
__device__ unsigned short float_to_bfloat(float f) {
  unsigned short h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
#endif

__device__ float load(half_t x) { return half_to_float(x.bits); }
__device__ float load(bfloat_t x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ half_t to_half_t(float x) { return half_t{float_to_half(x)}; }
__device__ bfloat_t to_bfloat_t(float x) { return bfloat_t{float_to_bfloat(x)}; }

template <typename T> __device__ T relu(T x) { return x < T(0) ? T(0) : x; }
template <typename T> __device__ T smaller(T a, T b) { return a != a || a < b ? a : b; }
template <typename T> __device__ T larger(T a, T b) { return a != a || a > b ? a : b; }
#if !defined(ASSAY_EMULATED) && __CUDA_ARCH__ >= 800
__device__ float larger(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
#endif
template <typename T> __device__ T limited(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
template <typename T> __device__ T sign_of(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; }
__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ float softplus(float x) { return x > 20.0f ? x + log1pf(expf(-x)) : log1pf(expf(x)); }
__device__ double softplus(double x) { return x > 20.0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
template <typename T> __device__ T gelu_slope(T x) {
  return (T(1) + erf(x * T(0.7071067811865476))) / T(2) + x * exp(-x * x / T(2)) * T(0.3989422804014327);
}
template <typename T> __device__ T gelu_tanh_slope(T x) {
  const T c = T(0.7978845608028654), k = T(0.044715), y = tanh(c * x * (T(1) + k * x * x));
  return (T(1) + y + x * (T(1) - y * y) * c * (T(1) + T(3) * k * x * x)) / T(2);
}
// Real numbers that become whole ones are cut off, and limited to the type; NaN becomes 0.
template <typename T> struct Range;
template <> struct Range<signed char> { MEMBER bool holds(double x) { return x > -129.0 && x < 128.0; } MEMBER signed char end(double x) { return x < 0 ? -128 : 127; } };
template <> struct Range<unsigned char> { MEMBER bool holds(double x) { return x > -1.0 && x < 256.0; } MEMBER unsigned char end(double x) { return x < 0 ? 0 : 255; } };
template <> struct Range<short> { MEMBER bool holds(double x) { return x > -32769.0 && x < 32768.0; } MEMBER short end(double x) { return x < 0 ? -32768 : 32767; } };
template <> struct Range<unsigned short> { MEMBER bool holds(double x) { return x > -1.0 && x < 65536.0; } MEMBER unsigned short end(double x) { return x < 0 ? 0 : 65535; } };
template <> struct Range<int> { MEMBER bool holds(double x) { return x > -2147483649.0 && x < 2147483648.0; } MEMBER int end(double x) { return x < 0 ? -2147483647 - 1 : 2147483647; } };
template <> struct Range<unsigned> { MEMBER bool holds(double x) { return x > -1.0 && x < 4294967296.0; } MEMBER unsigned end(double x) { return x < 0 ? 0u : 4294967295u; } };
template <> struct Range<long long> { MEMBER bool holds(double x) { return x >= -9223372036854775808.0 && x < 9223372036854775808.0; } MEMBER long long end(double x) { return x < 0 ? -9223372036854775807ll - 1 : 9223372036854775807ll; } };
template <> struct Range<unsigned long long> { MEMBER bool holds(double x) { return x > -1.0 && x < 18446744073709551616.0; } MEMBER unsigned long long end(double x) { return x < 0 ? 0ull : 18446744073709551615ull; } };
template <typename T> __device__ T whole(double x) { return Range<T>::holds(x) ? (T)x : x != x ? T(0) : Range<T>::end(x); }

template <typename T, typename E> __device__ T power(T base, E exponent) {
  if (E(0.5) != E(0)) return whole<T>(pow((double)base, (double)exponent));
  long long left = (long long)exponent;
  T result = 1;
  if (exponent < E(0)) return base == T(1) ? T(1) : base == T(-1) ? (left % 2 ? T(-1) : T(1)) : T(0);
  for (; left > 0; left /= 2, base *= base) if (left % 2) result *= base;
  return result;
}
template <typename T> __device__ bool is_minus_one(T x) { return T(-1) < T(0) && x == T(-1); }
template <typename T> __device__ T quotient(T a, T b) { return b == T(0) ? T(0) : is_minus_one(b) ? T(0) - a : a / b; }
template <typename T> __device__ T rest_of(T a, T b) { return b == T(0) || is_minus_one(b) ? T(0) : a % b; }
template <typename T> __device__ T modulus(T a, T b) {
  const T rest = rest_of(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}
__device__ float floor_modulus(float a, float b) {
  const float rest = fmodf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// An index counts from the end where it is negative. It is kept inside, so that wrong data reads
// wrong numbers and not memory of others.
__device__ long long inside(long long i, long long length) {
  if (i < 0) i += length;
  return i < 0 ? 0 : i < length ? i : length - 1;
}
// The same; the first index below `least` or not below `length` is kept in `wrong`, with its node.
__device__ long long checked(long long i, long long least, long long length, int node, volatile long long* wrong) {
  if ((i < least || i >= length) && wrong[0] == 0) {
    wrong[1] = i;
    wrong[2] = length;
    wrong[0] = node + 1;
  }
  return inside(i, length);
}

// What another block has just written lies in no cache of the multiprocessor.
#ifdef ASSAY_EMULATED
__device__ float read_fresh(const float* from) { return *from; }
#else
__device__ float read_fresh(const float* from) {
  float to;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(to) : "l"(from) : "memory");
  return to;
}
#endif
// 16 bytes that are read once are kept in no cache of the multiprocessor.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
template <typename T> __device__ T read_once(const T* from) { return *from; }
#else
template <typename T> __device__ T read_once(const T* from) {
  T to;
  unsigned* words = (unsigned*)&to;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "l"(from));
  return to;
}
#endif

// What a block of threads has together: every thread gets the result.
struct Plus { template <typename T> MEMBER T of(T a, T b) { return a + b; } };
struct Times { template <typename T> MEMBER T of(T a, T b) { return a * b; } };
struct Larger { template <typename T> MEMBER T of(T a, T b) { return larger(a, b); } };
struct Smaller { template <typename T> MEMBER T of(T a, T b) { return smaller(a, b); } };
template <typename Op, int kThreads, typename T> __device__ T together(T x) {
  for (int mask = 16; mask > 0; mask /= 2) x = Op::of(x, (T)__shfl_xor_sync(0xffffffffu, x, mask));
  if (kThreads == 32) return x;
  __shared__ T parts[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (int i = 1; i < kThreads / 32; ++i) x = Op::of(x, parts[i]);
  return x;
}
)";

}  // namespace

const std::string& kernel_prelude() {
  static const std::string text = kPrelude + tile_prelude();
  return text;
}

bool has_device_type(DataType type) {
  switch (type) {
    case DataType::Float32:
    case DataType::UInt8:
    case DataType::Int8:
    case DataType::UInt16:
    case DataType::Int16:
    case DataType::Int32:
    case DataType::Int64:
    case DataType::Bool:
    case DataType::Float16:
    case DataType::Float64:
    case DataType::UInt32:
    case DataType::UInt64:
    case DataType::BFloat16:
      return true;
    default:
      return false;
  }
}

std::string stored_type(DataType type) {
  switch (type) {
    case DataType::UInt8:
    case DataType::Bool:
      return "unsigned char";
    case DataType::Int8:
      return "signed char";
    case DataType::UInt16:
      return "unsigned short";
    case DataType::Int16:
      return "short";
    case DataType::Int32:
      return "int";
    case DataType::Int64:
      return "long long";
    case DataType::UInt32:
      return "unsigned";
    case DataType::UInt64:
      return "unsigned long long";
    case DataType::Float16:
      return "half_t";
    case DataType::BFloat16:
      return "bfloat_t";
    case DataType::Float64:
      return "double";
    default:
      return "float";
  }
}

std::string computed_type(DataType type) {
  switch (type) {
    case DataType::Float16:
    case DataType::BFloat16:
      return "float";
    case DataType::Bool:
      return "bool";
    default:
      return stored_type(type);
  }
}

std::string loaded(DataType type, const std::string& stored) {
  const bool is_half = type == DataType::Float16 || type == DataType::BFloat16;
  if (is_half) return fmt::format("load({})", stored);
  return type == DataType::Bool ? fmt::format("({} != 0)", stored) : stored;
}

std::string stored(DataType type, const std::string& computed) {
  if (type == DataType::Float16) return fmt::format("to_half_t({})", computed);
  if (type == DataType::BFloat16) return fmt::format("to_bfloat_t({})", computed);
  return fmt::format("({})({})", stored_type(type), computed);
}

std::string cast_text(DataType from, DataType to, const std::string& number) {
  const bool is_whole = is_integer(to) && to != DataType::Bool;
  if (is_whole && is_floating(from)) return fmt::format("whole<{}>({})", stored_type(to), number);
  const bool is_half = to == DataType::Float16 || to == DataType::BFloat16;
  if (is_half) return loaded(to, stored(to, fmt::format("(float)({})", number)));
  return fmt::format("({})({})", computed_type(to), number);
}

std::string number_text(double number, const std::string& computed_type) {
  if (computed_type == "bool") return number != 0 ? "true" : "false";
  if (computed_type != "float" && computed_type != "double")
    return fmt::format("({}){}ll", computed_type, static_cast<std::int64_t>(number));
  const char* suffix = computed_type == "float" ? "f" : "";
  const std::string cast = fmt::format("({})", computed_type);
  if (std::isnan(number)) return cast + "__uint_as_float(0x7fc00000u)";
  if (std::isinf(number)) {
    return cast + (number > 0 ? "__uint_as_float(0x7f800000u)" : "__uint_as_float(0xff800000u)");
  }
  std::string text = fmt::format("{:.17g}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return number < 0 ? "(" + text + suffix + ")" : text + suffix;
}

}  // namespace assay::cuda
