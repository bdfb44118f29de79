#include "execute/cuda/tile_text.h"

namespace assay::cuda {

namespace {

// How elements of tiles are spread over the threads of a warp is said by the PTX manual, under
// "Matrix Fragments for mma.m16n8k16" and "ldmatrix".
constexpr const char* kTileText = R"(
#ifdef ASSAY_EMULATED
static const unsigned short* fake_rows[1024];
static unsigned fake_fragments[1024][6];
template <typename T> __device__ void copy_16_bytes(T* to, const T* from, bool is_there) {
  if (is_there) memcpy(to, from, 16);
  else memset(to, 0, 16);
}
template <int kNone> __device__ void wait_for_copies() {}
template <int kBytes, typename T> __device__ void copy_bytes(T* to, const T* from) { memcpy(to, from, kBytes); }
__device__ void commit_copies() {}
template <int kLeft> __device__ void wait_for_copies_but() {}
template <bool kTurned, typename T> __device__ void load_fragments(unsigned (&to)[4], const T* row) {
  const unsigned lane = threadIdx.x % 32, first = threadIdx.x - lane;
  fake_rows[threadIdx.x] = (const unsigned short*)row;
  __syncwarp();
  for (int i = 0; i < 8; ++i) {
    const unsigned along = lane % 4 * 2 + i % 2, across = lane / 4;
    const unsigned bits = fake_rows[first + i / 2 * 8 + (kTurned ? along : across)][kTurned ? across : along];
    to[i / 2] = i % 2 == 0 ? bits : to[i / 2] | bits << 16;
  }
  __syncwarp();
}
template <typename T> __device__ float fake_element(unsigned fragment, int half) {
  return load(T{(unsigned short)(fragment >> 16 * half)});
}
template <typename T> __device__ void multiply_tiles(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned lane = threadIdx.x % 32, first = threadIdx.x - lane;
  unsigned* own = fake_fragments[threadIdx.x];
  for (int i = 0; i < 4; ++i) own[i] = a[i];
  own[4] = b0;
  own[5] = b1;
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) {
      const unsigned of_a = fake_fragments[first + lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2];
      const unsigned of_b = fake_fragments[first + (lane % 4 * 2 + i % 2) * 4 + k % 8 / 2][4 + k / 8];
      sums[i] += fake_element<T>(of_a, k % 2) * fake_element<T>(of_b, k % 2);
    }
  }
  __syncwarp();
}
template <typename T> __device__ int fake_byte(unsigned fragment, int byte) { return (T)(unsigned char)(fragment >> 8 * byte); }
template <typename A, typename B> __device__ void multiply_bytes(int (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned lane = threadIdx.x % 32, first = threadIdx.x - lane;
  unsigned* own = fake_fragments[threadIdx.x];
  for (int i = 0; i < 4; ++i) own[i] = a[i];
  own[4] = b0;
  own[5] = b1;
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 32; ++k) {
      const unsigned of_a = fake_fragments[first + lane / 4 * 4 + k % 16 / 4][i / 2 + k / 16 * 2];
      const unsigned of_b = fake_fragments[first + (lane % 4 * 2 + i % 2) * 4 + k % 16 / 4][4 + k / 16];
      sums[i] += fake_byte<A>(of_a, k % 4) * fake_byte<B>(of_b, k % 4);
    }
  }
  __syncwarp();
}
#else
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) char name[]
// 16 bytes to shared memory, or zeros.
template <typename T> __device__ void copy_16_bytes(T* to, const T* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}
template <int kNone> __device__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
// Several bytes; copies are waited for in groups, but those of the last groups.
template <int kBytes, typename T> __device__ void copy_bytes(T* to, const T* from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else if (kBytes == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft> __device__ void wait_for_copies_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
// Four matrices of 8 × 8: each thread says where a row of 16 bytes lies, those of the first matrix
// in the first 8 threads.
template <bool kTurned, typename T> __device__ void load_fragments(unsigned (&to)[4], const T* row) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  if (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}
template <typename T> struct IsHalf { static constexpr bool value = false; };
template <> struct IsHalf<half_t> { static constexpr bool value = true; };
// 16 × 8 sums of 16 products.
template <typename T> __device__ void multiply_tiles(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if (IsHalf<T>::value)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <typename T> struct HasSign { static constexpr bool value = true; };
template <> struct HasSign<unsigned char> { static constexpr bool value = false; };
#define MULTIPLY_BYTES(a_type, b_type) asm("mma.sync.aligned.m16n8k32.row.col.s32." a_type "." b_type ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
// 16 × 8 sums of 32 products.
template <typename A, typename B> __device__ void multiply_bytes(int (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if (HasSign<A>::value && HasSign<B>::value) MULTIPLY_BYTES("s8", "s8");
  else if (HasSign<A>::value) MULTIPLY_BYTES("s8", "u8");
  else if (HasSign<B>::value) MULTIPLY_BYTES("u8", "s8");
  else MULTIPLY_BYTES("u8", "u8");
}
#endif

__device__ half_t rounded_as(half_t, float x) { return to_half_t(x); }
__device__ bfloat_t rounded_as(bfloat_t, float x) { return to_bfloat_t(x); }
// Two numbers side by side.
template <typename T> __device__ unsigned pair_of(float low, float high) {
  return rounded_as(T{}, low).bits | (unsigned)rounded_as(T{}, high).bits << 16;
}

// Lines of a matrix to shared memory, from `first` on; zeros where it has none.
template <int kThreads, int kLines, int kWidth, int kPadded, int kPitch, bool kInGroups, typename T>
__device__ void fetch_lines(T* to, const T* from, long long line_stride, long long stride, int first, int count) {
  constexpr int kGroup = 16 / sizeof(T), kGroups = kPadded / kGroup;
#pragma unroll 4
  for (int i = threadIdx.x; i < kLines * kGroups; i += kThreads) {
    const int line = i / kGroups, at = i % kGroups * kGroup;
    const bool is_there = first + line < count && at < kWidth;
    const T* source = from + (is_there ? (first + line) * line_stride + at * stride : 0);
    T* goal = to + line * kPitch + at;
    if (kInGroups) {
      copy_16_bytes(goal, source, is_there);
    } else {
      for (int j = 0; j < kGroup; ++j) goal[j] = is_there ? source[j * stride] : T{};
    }
  }
}
)";

}  // namespace

const std::string& tile_prelude() {
  static const std::string text = kTileText;
  return text;
}

}  // namespace assay::cuda
