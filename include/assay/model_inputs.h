// What a model is fed: one tensor for each of its inputs, in order. A single tensor will do where
// there is one input.
#pragma once

#include <initializer_list>
#include <vector>

#include "assay/tensor.h"

namespace assay {

struct ModelInputs {
  std::vector<Tensor> tensors = {};

  ModelInputs(Tensor one) : tensors{std::move(one)} {}                       // NOLINT
  ModelInputs(std::vector<Tensor> several) : tensors(std::move(several)) {}  // NOLINT
};

}  // namespace assay
