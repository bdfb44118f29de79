// The build gives this file its instruction set.
#include "execute/cpu/simd/winograd16.h"

#if defined(__AVX512VNNI__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns of its own header (bug 105593)
#endif
#include <immintrin.h>
#endif

namespace assay::cpu {

#if defined(__AVX512VNNI__)

namespace {

#include "execute/cpu/simd/tiles/tile_epilogue.inc"

// NOLINTBEGIN(modernize-use-using): the attribute of vectors belongs to a typedef
typedef std::int16_t S __attribute__((vector_size(64)));
typedef std::uint8_t Bytes __attribute__((vector_size(32)));
typedef std::int8_t SignedBytes __attribute__((vector_size(32)));
typedef std::uint32_t U __attribute__((vector_size(64)));  // sums modulo 2³²
// NOLINTEND(modernize-use-using)

#include "execute/cpu/simd/winograd_tile.inc"

constexpr std::size_t kTile = 4;
constexpr std::size_t kSide = 6;
constexpr std::size_t kPlanes = kWinograd16Planes;

struct TileCorner {
  std::size_t image;
  std::ptrdiff_t top, left;
};

inline TileCorner input_corner(const WinogradShape& shape, std::size_t tile) {
  const TilePosition at = position_of(shape, tile);
  return {at.image, static_cast<std::ptrdiff_t>(at.down * kTile) - shape.pad_top,
          static_cast<std::ptrdiff_t>(at.across * kTile) - shape.pad_left};
}

// --- inputs of 8 bits

template <bool kSigned>
inline S pixel_of(const std::byte* bytes, S zero_point) {
  if constexpr (kSigned) {
    return __builtin_convertvector(vector_at<SignedBytes>(bytes), S) - zero_point;
  } else {
    return __builtin_convertvector(vector_at<Bytes>(bytes), S) - zero_point;
  }
}

template <bool kSigned>
inline S some_of_pixel(const std::byte* bytes, std::size_t n, S zero_point) {
  if (n >= kWinograd16Channels) return pixel_of<kSigned>(bytes, zero_point);
  std::byte padded[kWinograd16Channels] = {};
  __builtin_memcpy(padded, bytes, n);
  return pixel_of<kSigned>(padded, zero_point);
}

// One row or column of Bᵀ·d.
inline void transform_integers(const S* d, std::size_t step, S* out) {
  const S d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
  const S d4 = d[4 * step], d5 = d[5 * step];
  const S even = d4 - (d2 << 2), odd = d3 - (d1 << 2);
  const S outer = d4 - d2, inner = (d3 - d1) << 1;
  out[0] = ((d0 - d2) << 2) + outer;
  out[step] = even + odd;
  out[2 * step] = even - odd;
  out[3 * step] = outer + inner;
  out[4 * step] = outer - inner;
  out[5 * step] = (d5 - d3) - (inner << 1);
}

template <bool kSigned>
void input_of_bytes(const WinogradShape& shape, const std::byte* images, std::int32_t zero_point,
                    std::size_t first, std::size_t last, const Winograd16Inputs& to) {
  const S zero = static_cast<std::int16_t>(zero_point) - S{};
  std::int16_t* row = to.inputs;
  for (std::size_t tile = first; tile < last; ++tile, row += to.row_stride) {
    const TileCorner at = input_corner(shape, tile);
    const std::byte* image = images + at.image * shape.in.image;
    for (std::size_t c = 0; c < shape.channels; c += kWinograd16Channels) {
      const std::size_t n = shape.channels - c;
      S d[kPlanes], e[kPlanes];
      load_tile<kSide>(
          shape, image + c, at.top, at.left, n >= kWinograd16Channels, d,
          [&](const std::byte* pixel) { return pixel_of<kSigned>(pixel, zero); },
          [&](const std::byte* pixel) { return some_of_pixel<kSigned>(pixel, n, zero); });
#pragma GCC unroll 6
      for (std::size_t x = 0; x < kSide; ++x) transform_integers(d + x, kSide, e + x);
#pragma GCC unroll 6
      for (std::size_t y = 0; y < kSide; ++y) {
        transform_integers(e + y * kSide, 1, d + y * kSide);
#pragma GCC unroll 6
        for (std::size_t i = y * kSide; i < (y + 1) * kSide; ++i)
          __builtin_memcpy(row + i * to.plane_stride + c, &d[i], sizeof(S));
      }
    }
  }
}

void input_8_bit(const WinogradShape& shape, const std::byte* images, TileType type,
                 std::int32_t zero_point, std::size_t first, std::size_t last,
                 const Winograd16Inputs& to) {
  if (type == TileType::S8) return input_of_bytes<true>(shape, images, zero_point, first, last, to);
  input_of_bytes<false>(shape, images, zero_point, first, last, to);
}

// --- inputs of bf16

inline V some_bf16(const std::uint16_t* pixel, std::size_t n) {
  return from_bf16(get<Unsigned16>(reinterpret_cast<const std::byte*>(pixel),
                                   n < kTileColumns ? n : kTileColumns));
}

void transform_bf16(const WinogradShape& shape, const std::uint16_t* image, const TileCorner& at,
                    float* transformed, std::size_t stride) {
  for (std::size_t c = 0; c < stride; c += kWidth) {
    const std::size_t n = c < shape.channels ? shape.channels - c : 0;
    V d[kPlanes], e[kPlanes];
    load_tile<kSide>(
        shape, image + c, at.top, at.left, n >= kWidth, d,
        [](const std::uint16_t* pixel) { return some_bf16(pixel, kWidth); },
        [&](const std::uint16_t* pixel) { return some_bf16(pixel, n); });
#pragma GCC unroll 6
    for (std::size_t x = 0; x < kSide; ++x) transform_input<kTile>(d + x, kSide, e + x);
#pragma GCC unroll 6
    for (std::size_t y = 0; y < kSide; ++y) {
      transform_input<kTile>(e + y * kSide, 1, d + y * kSide);
#pragma GCC unroll 6
      for (std::size_t i = y * kSide; i < (y + 1) * kSide; ++i)
        store(transformed + i * stride + c, d[i]);
    }
  }
}

struct RowScale {
  float factor;      // to integers
  float stands_for;  // what 1 is
};

// Squares that single precision does not hold.
[[gnu::noinline]] RowScale careful_scale(const float* row, std::size_t n) {
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i)
    squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  const double norm = __builtin_sqrt(squares);
  constexpr double kFlushed = 1e-30;  // scales of smaller norms would overflow
  if (norm < kFlushed) return {0, 0};
  if (!(norm < 1e300)) return {0, __builtin_nanf("")};
  const double stands_for = norm / static_cast<double>(kWinograd16Norm);
  return {static_cast<float>(1 / stands_for), static_cast<float>(stands_for)};
}

inline RowScale scale_of(const float* row, std::size_t n) {
  V squares[2] = {};
  for (std::size_t c = 0; c < n; c += 2 * kWidth) {
    const V left = load(row + c), right = load(row + c + kWidth);
    squares[0] += left * left;
    squares[1] += right * right;
  }
  const float sum = _mm512_reduce_add_ps((__m512)(squares[0] + squares[1]));
  if (!(sum > 1e-25f && sum < 1e37f)) return careful_scale(row, n);
  const float norm = __builtin_sqrtf(sum);
  return {kWinograd16Norm / norm, norm * (1 / kWinograd16Norm)};
}

inline void round_row(const float* row, std::size_t n, float factor, std::int16_t* to) {
  for (std::size_t c = 0; c < n; c += kWidth) {
    const __m512i whole = _mm512_cvtps_epi32((__m512)(load(row + c) * factor));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + c), _mm512_cvtepi32_epi16(whole));
  }
}

void input_bf16(const WinogradShape& shape, const std::byte* images, std::size_t first,
                std::size_t last, const Winograd16Inputs& to) {
  const auto* numbers = reinterpret_cast<const std::uint16_t*>(images);
  std::int16_t* row = to.inputs;
  float* scales = to.scales;
  const std::size_t stride = to.row_stride;
  for (std::size_t tile = first; tile < last; ++tile, row += stride, scales += kPlanes) {
    const TileCorner at = input_corner(shape, tile);
    transform_bf16(shape, numbers + at.image * shape.in.image, at, to.workspace, stride);
    for (std::size_t i = 0; i < kPlanes; ++i) {
      const RowScale scale = scale_of(to.workspace + i * stride, stride);
      scales[i] = scale.stands_for;
      round_row(to.workspace + i * stride, stride, scale.factor, row + i * to.plane_stride);
    }
  }
}

// --- products

constexpr std::size_t kMostRows = 14;  // as many as leave registers for the panel and one factor
constexpr std::size_t kPanelBytes = 2 * kWinograd16Columns * sizeof(std::int16_t);  // of a pair

inline __m512i pair_of(const std::int16_t* numbers) {
  std::int32_t pair;
  __builtin_memcpy(&pair, numbers, sizeof(pair));
  return _mm512_set1_epi32(pair);
}

template <std::size_t kRows>
void product_of_rows(const Winograd16Product& product, const std::int16_t* rows,
                     std::int32_t* products, const char* next, std::size_t step) {
  constexpr std::size_t kAhead = 16 * kPanelBytes;
  const std::size_t stride = product.stride;
  // Few base addresses: a pointer for each row would not fit the registers.
  const std::int16_t* bases[4] = {rows, rows + 4 * stride, rows + 8 * stride, rows + 12 * stride};
  const char* panel = reinterpret_cast<const char*>(product.panel);
  __m512i sums[kRows][2];
#pragma GCC unroll 14
  for (auto& of_row : sums) of_row[0] = of_row[1] = _mm512_setzero_si512();
  for (std::size_t k = 0; k < product.pairs; ++k, panel += kPanelBytes, next += step) {
    const __m512i left = _mm512_loadu_si512(panel);
    const __m512i right = _mm512_loadu_si512(panel + kPanelBytes / 2);
    __builtin_prefetch(panel + kAhead);
    __builtin_prefetch(panel + kAhead + kPanelBytes / 2);
    __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 14
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i factors = pair_of(bases[r / 4] + (r % 4) * stride + 2 * k);
      sums[r][0] = _mm512_dpwssd_epi32(sums[r][0], factors, left);
      sums[r][1] = _mm512_dpwssd_epi32(sums[r][1], factors, right);
    }
  }
#pragma GCC unroll 14
  for (std::size_t r = 0; r < kRows; ++r) {
    _mm512_storeu_si512(products + r * product.products_stride, sums[r][0]);
    _mm512_storeu_si512(products + r * product.products_stride + 16, sums[r][1]);
  }
}

template <std::size_t kRows>
inline void product_of(std::size_t count, const Winograd16Product& product,
                       const std::int16_t* rows, std::int32_t* products, const char* next,
                       std::size_t step) {
  if (count == kRows) return product_of_rows<kRows>(product, rows, products, next, step);
  if constexpr (kRows > 1) product_of<kRows - 1>(count, product, rows, products, next, step);
}

void product_with_panel(const Winograd16Product& product) {
  const std::size_t groups = (product.count + kMostRows - 1) / kMostRows;
  const std::size_t step = product.upcoming.floats * sizeof(float) / (groups * product.pairs);
  const char* next = reinterpret_cast<const char*>(product.upcoming.begin);
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t first = product.count * group / groups;
    const std::size_t last = product.count * (group + 1) / groups;
    product_of<kMostRows>(last - first, product, product.rows + first * product.stride,
                          product.products + first * product.products_stride,
                          next + group * product.pairs * step, step);
  }
}

// --- results

// Those of a tile that are inside the image.
struct TileResults {
  std::size_t rows, columns;
  std::size_t at;  // the position of the first, all outputs of a pixel side by side
};

inline TileResults results_of(const WinogradShape& shape, std::size_t tile) {
  const TilePosition at = position_of(shape, tile);
  const std::size_t top = at.down * kTile, left = at.across * kTile;
  return {lesser(shape.rows - top, kTile), lesser(shape.columns - left, kTile),
          at.image * shape.out.image + (top * shape.columns + left) * shape.out.pixel};
}

// Aᵀ·m modulo 2³², for filters that kWinograd16Filter has transformed.
inline void integer_results(const I* m, std::size_t step, I* out, std::size_t out_step) {
  const auto sum = [&](std::size_t i) { return (U)m[i * step]; };
  const U near_sum = sum(1) + sum(2), near_difference = sum(1) - sum(2);
  const U far_sum = sum(3) + sum(4), far_difference = sum(3) - sum(4);
  out[0] = (I)(sum(0) + near_sum + far_sum);
  out[out_step] = (I)(near_difference + (far_difference << 1));
  out[2 * out_step] = (I)(near_sum + (far_sum << 2));
  out[3 * out_step] = (I)(near_difference + ((far_difference + sum(5)) << 3));
}

// From 24² · y modulo 2³². 24² is 64 · 9, and 9 has an inverse.
inline I divided(I sum) {
  constexpr std::uint32_t kInverseOfNine = 0x38e38e39;
  return (I)((U)sum * kInverseOfNine) >> 6;
}

// All results of one tile for a vector of outputs; `load_sums(i)` gives the sums of plane i.
template <typename T, typename Load, typename Transform>
[[gnu::always_inline]] inline void tile_results(const Load& load_sums, const Transform& transform,
                                                T* out) {
  T e[kTile * kSide];
#pragma GCC unroll 6
  for (std::size_t x = 0; x < kSide; ++x) {
    T m[kSide];
#pragma GCC unroll 6
    for (std::size_t y = 0; y < kSide; ++y) m[y] = load_sums(y * kSide + x);
    transform(m, 1, e + x, kSide);
  }
#pragma GCC unroll 4
  for (std::size_t y = 0; y < kTile; ++y) transform(e + y * kSide, 1, out + y * kTile, 1);
}

template <TileNumber kResult, TileNumber kAddend>
void output_of_integers(const WinogradShape& shape, const Winograd16Products& from,
                        std::size_t first, std::size_t last, const TileEpilogue& given,
                        std::byte* to) {
  const TileEpilogue epilogue = simplified(given);  // a copy, which stores of bytes cannot change
  const std::int32_t* row = from.products;
  for (std::size_t tile = first; tile < last; ++tile, row += from.row_stride) {
    const TileResults results = results_of(shape, tile);
    for (std::size_t c = 0; c < shape.outputs; c += kTileColumns) {
      const std::size_t n = lesser(shape.outputs - c, kTileColumns);
      const ColumnConstants<true> column(epilogue, c);
      I sums[kTile * kTile];
      tile_results([&](std::size_t i) { return vector_at<I>(row + i * from.plane_stride + c); },
                   integer_results, sums);
      for (std::size_t y = 0; y < results.rows; ++y) {
        std::size_t at = results.at + y * shape.columns * shape.out.pixel + c;
        for (std::size_t x = 0; x < results.columns; ++x, at += shape.out.pixel) {
          finish_integers<kResult, kAddend>(
              epilogue, column, divided(sums[y * kTile + x]), n,
              kAddend == TileNumber::None ? nullptr : epilogue.addend + at,
              to + at * bytes_of(kResult));
        }
      }
    }
  }
}

template <TileNumber kResult>
void output_with_result(const WinogradShape& shape, const Winograd16Products& from,
                        std::size_t first, std::size_t last, const TileEpilogue& epilogue,
                        std::byte* results) {
  switch (epilogue.addend_type) {
    case TileNumber::U8:
      return output_of_integers<kResult, TileNumber::U8>(shape, from, first, last, epilogue,
                                                         results);
    case TileNumber::S8:
      return output_of_integers<kResult, TileNumber::S8>(shape, from, first, last, epilogue,
                                                         results);
    default:
      output_of_integers<kResult, TileNumber::None>(shape, from, first, last, epilogue, results);
  }
}

void output_8_bit(const WinogradShape& shape, const Winograd16Products& from, std::size_t first,
                  std::size_t last, const TileEpilogue& epilogue, std::byte* results) {
  switch (epilogue.result) {
    case TileNumber::S8:
      return output_with_result<TileNumber::S8>(shape, from, first, last, epilogue, results);
    case TileNumber::U8:
      return output_with_result<TileNumber::U8>(shape, from, first, last, epilogue, results);
    case TileNumber::F32:
      return output_with_result<TileNumber::F32>(shape, from, first, last, epilogue, results);
    default:
      output_of_integers<TileNumber::S32, TileNumber::None>(shape, from, first, last, epilogue,
                                                            results);
  }
}

template <TileNumber kAddend>
void output_of_floats(const WinogradShape& shape, const Winograd16Products& from, std::size_t first,
                      std::size_t last, const TileEpilogue& given, std::byte* to) {
  const TileEpilogue epilogue = given;
  const std::int32_t* row = from.products;
  const float* scales = from.scales;
  for (std::size_t tile = first; tile < last; ++tile, row += from.row_stride, scales += kPlanes) {
    const TileResults results = results_of(shape, tile);
    for (std::size_t c = 0; c < shape.outputs; c += kTileColumns) {
      const std::size_t n = lesser(shape.outputs - c, kTileColumns);
      const ColumnConstants<false> column(epilogue, c);
      V sums[kTile * kTile];
      tile_results(
          [&](std::size_t i) {
            return __builtin_convertvector(vector_at<I>(row + i * from.plane_stride + c), V) *
                   (load(from.filter_scales + i * from.row_stride + c) * scales[i]);
          },
          transform_output<kTile>, sums);
      for (std::size_t y = 0; y < results.rows; ++y) {
        std::size_t at = results.at + y * shape.columns * shape.out.pixel + c;
        for (std::size_t x = 0; x < results.columns; ++x, at += shape.out.pixel) {
          finish_floats<TileNumber::BF16, kAddend>(
              epilogue, column, sums[y * kTile + x], n,
              kAddend == TileNumber::None ? nullptr : epilogue.addend + 2 * at, to + 2 * at);
        }
      }
    }
  }
}

void output_bf16(const WinogradShape& shape, const Winograd16Products& from, std::size_t first,
                 std::size_t last, const TileEpilogue& epilogue, std::byte* results) {
  if (epilogue.addend_type == TileNumber::BF16)
    return output_of_floats<TileNumber::BF16>(shape, from, first, last, epilogue, results);
  output_of_floats<TileNumber::None>(shape, from, first, last, epilogue, results);
}

}  // namespace

const Winograd16Kernels* compiled_winograd16() {
  static constexpr Winograd16Kernels kKernels = {.isa = "avx512_vnni",
                                                 .input_8_bit = input_8_bit,
                                                 .input_bf16 = input_bf16,
                                                 .product = product_with_panel,
                                                 .output_8_bit = output_8_bit,
                                                 .output_bf16 = output_bf16};
  return &kKernels;
}

#else

const Winograd16Kernels* compiled_winograd16() {
  return nullptr;
}

#endif

}  // namespace assay::cpu
