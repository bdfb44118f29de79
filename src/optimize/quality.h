// How near the results of a version are to those of the original, on the same inputs.
#pragma once

#include <vector>

#include "assay/optimize.h"

namespace assay::optimize {

// 10·log10(Σ r² / Σ (r - x)²) over pairs added so far; pairs with a number that is not finite count
// as wrong by the size of r.
class SignalToNoise {
 public:
  void add(std::span<const double> reference, std::span<const double> actual);
  std::optional<double> decibels() const;                    // nothing where there is no noise
  bool saw_only_finite() const { return saw_only_finite_; }  // as a reference

 private:
  double signal_ = 0;
  double noise_ = 0;
  bool saw_only_finite_ = true;
};

// The position of the largest number of each row: rows run along the last axis, or along axis 1 for
// four dimensions and more, which is where scores of images have their classes.
std::vector<std::int64_t> decisions_of(const Tensor& scores);

// Runs the original once, on everything there is to judge on, and keeps its outputs.
class QualityJudge {
 public:
  QualityJudge(const Graph& original, const OptimizeData& data, const ProgramOptions& program,
               Progress* progress);

  const VariantQuality& original() const { return original_; }
  VariantQuality judge(const Graph& version, Progress* progress) const;

 private:
  using Outputs = std::vector<Tensor>;
  std::vector<Outputs> outputs_of(const Graph& model, Progress* progress) const;
  VariantQuality compared(const std::vector<Outputs>& actual) const;

  const OptimizeData& data_;
  ProgramOptions program_;
  std::vector<Outputs> reference_;  // by batch
  VariantQuality original_;
};

}  // namespace assay::optimize
