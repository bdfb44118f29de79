// Batch norms by the statistics of their batch, and their gradients. What is summed up over a whole
// batch is summed up in doubles: a network with many of these norms is sensitive to their last
// bits.
#pragma once

#include <cstdint>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

// Images as [images, groups, pixels, channels of a group]. A plane of pixels is a group of one.
struct NormShape {
  std::int64_t images = 0;
  std::int64_t groups = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;

  std::int64_t all_channels() const { return groups * channels; }  // padding included
  std::int64_t samples() const { return images * pixels; }         // of a channel
};

// Doubles of workspace.
std::int64_t norm_workspace(const NormShape& shape, int threads);

struct BatchMoments {
  float* mean = nullptr;  // by channel, zero in padding
  float* variance = nullptr;
};
void find_moments(const NormShape& shape, int threads, const float* images, double* workspace,
                  const BatchMoments& moments);

// Operands and results of a gradient; `even` and `along` are workspace for the vectors that the
// last pass, NormGradient, asks for.
struct NormBackward {
  const float* images = nullptr;
  const float* gradients = nullptr;
  const float* variance = nullptr;
  float epsilon = 0;
  NormVectors norm;
  bool positive_only = false;
  float* even = nullptr;
  float* along = nullptr;
  float* by_scale = nullptr;  // of real channels only
  float* by_shift = nullptr;
  std::int64_t real_channels = 0;
  float* result = nullptr;
};
void norm_backward(const NormShape& shape, int threads, const NormBackward& backward,
                   double* workspace);

}  // namespace assay::cpu
