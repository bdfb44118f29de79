// Which input elements an element of a resized axis is made of, and with what weights. Resizing is
// separable: every axis is resized on its own.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace assay::kernels {

enum class Interpolation { Nearest, Linear, Cubic };

// How an op resizes, the same for all axes. The texts are those of the attributes.
struct ResizeRule {
  Interpolation interpolation = Interpolation::Nearest;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_coefficient = -0.75;
  bool excludes_outside = false;
  bool smooths_when_smaller = false;  // antialias: the filter is as wide as an output pixel
};

struct ResizeAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  double scale = 1;
  double region_start = 0;  // of tf_crop_and_resize, relative to the axis
  double region_end = 1;
};

struct Tap {
  std::int64_t index = 0;
  double weight = 1;
};

// The taps of one output element; none where it lies outside of what tf_crop_and_resize crops.
using Taps = std::vector<Tap>;

// Keys' cubic convolution kernel.
double cubic_weight(double distance, double coefficient);

// One for each output element; fails for texts that are not known.
std::vector<Taps> taps_of(const KernelCall& call, const ResizeRule& rule, const ResizeAxis& axis);

// The identity.
bool is_identity(const std::vector<Taps>& taps, std::int64_t input);

}  // namespace assay::kernels
