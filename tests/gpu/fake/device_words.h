// CUDA's own words, for kernels that a compiler for the processor compiles: put before their source
// by the fake NVRTC. Threads of a block take turns (fibers.h).
#define ASSAY_EMULATED 1
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" {
struct Index {
  unsigned x, y, z;
};
Index threadIdx, blockIdx, blockDim, gridDim;
void (*fake_wait_for_block)();
void (*fake_wait_for_warp)();
}
#define __global__
#define __device__ static inline
#define __forceinline__ inline
#define __shared__ static
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(name) alignas(16) static char name[232448]

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};

__device__ void __syncthreads() {
  fake_wait_for_block();
}
__device__ void __syncwarp() {
  fake_wait_for_warp();
}

static long long exchanged[1024];
template <typename T>
__device__ T __shfl_xor_sync(unsigned, T value, int mask) {
  memcpy(&exchanged[threadIdx.x], &value, sizeof(T));
  fake_wait_for_warp();
  T other;
  memcpy(&other, &exchanged[threadIdx.x ^ (unsigned)mask], sizeof(T));
  fake_wait_for_warp();
  return other;
}
template <typename T>
__device__ T __shfl_sync(unsigned, T value, int lane) {
  memcpy(&exchanged[threadIdx.x], &value, sizeof(T));
  fake_wait_for_warp();
  T other;
  memcpy(&other, &exchanged[threadIdx.x / 32 * 32 + (unsigned)lane], sizeof(T));
  fake_wait_for_warp();
  return other;
}
template <typename T>
__device__ T atomicAdd(T* where, T value) {
  const T before = *where;
  *where += value;
  return before;
}
__device__ void __threadfence() {}
__device__ float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
__device__ int min(int a, int b) {
  return a < b ? a : b;
}
__device__ int max(int a, int b) {
  return a > b ? a : b;
}
__device__ unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}
__device__ float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
