#include "machine/gpu/traffic_kernel.h"

namespace assay::machine {

namespace {

// The word at position i is i, modulo 2^32. A block takes runs of 4 · its threads' groups, so that
// each thread has four loads under way.
constexpr const char* kText = R"(
#ifdef ASSAY_EMULATED
#define FROM_L2(address) (*(address))
#define INTO_L2(address, value) (*(address) = (value))
#else
#define FROM_L2(address) __ldcg(address)
#define INTO_L2(address, value) __stcg(address, value)
#endif

__device__ long long first_group(long long start, int i) {
  return start + (long long)i * blockDim.x + threadIdx.x;
}
__device__ uint4 words_at(long long group) {
  const unsigned word = (unsigned)(group * 4);
  uint4 words;
  words.x = word, words.y = word + 1, words.z = word + 2, words.w = word + 3;
  return words;
}

extern "C" __global__ void read_all(const uint4* from, long long groups, long long passes,
                                    unsigned long long* sums) {
  const long long run = 4ll * blockDim.x;
  const long long runs = (groups + run - 1) / run;
  unsigned long long sum = 0;
  for (long long pass = 0; pass < passes; ++pass) {
    for (long long at = blockIdx.x; at < runs; at += gridDim.x) {
      const long long start = (at + pass * 37) % runs * run;
      uint4 words[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const long long group = first_group(start, i);
        if (group < groups) words[i] = FROM_L2(from + group);
        else words[i].x = words[i].y = words[i].z = words[i].w = 0;
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        sum += (unsigned long long)words[i].x + words[i].y + words[i].z + words[i].w;
    }
  }
  sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void write_all(uint4* to, long long groups, long long passes) {
  const long long run = 4ll * blockDim.x;
  const long long runs = (groups + run - 1) / run;
  for (long long pass = 0; pass < passes; ++pass) {
    for (long long at = blockIdx.x; at < runs; at += gridDim.x) {
      const long long start = (at + pass * 37) % runs * run;
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const long long group = first_group(start, i);
        if (group < groups) INTO_L2(to + group, words_at(group));
      }
    }
  }
}

extern "C" __global__ void copy_all(uint4* to, const uint4* from, long long groups) {
  const long long run = 4ll * blockDim.x;
  for (long long start = blockIdx.x * run; start < groups; start += gridDim.x * run) {
    uint4 words[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first_group(start, i) < groups) words[i] = FROM_L2(from + first_group(start, i));
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first_group(start, i) < groups) INTO_L2(to + first_group(start, i), words[i]);
  }
}
)";

}  // namespace

std::string traffic_kernels() {
  return kText;
}

std::uint64_t sum_of_words(std::int64_t groups) {
  const auto words = static_cast<std::uint64_t>(groups) * 4;
  return words / 2 * (words - 1);
}

}  // namespace assay::machine
