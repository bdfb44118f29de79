// Convolutions of 8-bit numbers with stored weights: as products of windows and weights on tensor
// cores, or, where each channel has a filter of its own, several channels a thread.
#pragma once

#include "execute/cuda/byte_tiles.h"
#include "execute/cuda/convolution_view.h"
#include "execute/cuda/operands.h"

namespace assay::cuda {

class ByteConvolution {
 public:
  // Of an image and a weight without zero point. What kernels read of the weight besides is
  // declared in `operands`.
  ByteConvolution(Lowering& lowering, const ConvolutionView& view, const Tensor* weight,
                  Operands& operands);

  bool is_supported() const { return is_depthwise_ || is_product_; }

  // `zero_point` is the image's, a whole number; `result` an expression of `sum`. All read and
  // write what the draft says, which `parameters` declare.
  std::vector<Candidate> candidates(Lowering& lowering, const std::string& zero_point,
                                    const std::string& parameters, const TextAt& result,
                                    const Epilogue& epilogue, const StepDraft& draft) const;

 private:
  std::vector<Candidate> product_candidates(Lowering& lowering, const std::string& zero_point,
                                            const std::string& parameters, const TextAt& result,
                                            const Epilogue& epilogue, const StepDraft& draft) const;
  std::vector<Candidate> depthwise_candidates(Lowering& lowering, const std::string& zero_point,
                                              const std::string& parameters, const TextAt& result,
                                              const Epilogue& epilogue,
                                              const StepDraft& draft) const;

  const ConvolutionView& view_;
  bool is_depthwise_ = false;
  bool is_product_ = false;
  DataType weight_type_ = DataType::Int8;
  std::string image_;
  std::string numbers_;  // of the filters
  std::string sums_;     // of each filter's numbers
};

// Whether a weight has no zero point: there is none, or all are stored zeros.
bool has_no_zero_point(const Lowering& lowering, const Node& node, std::size_t input);

// The sum of the numbers that each column of a result is made of: those of a stored weight whose
// elements of one column lie `stride` apart from one to the next, columns `column_stride`.
Tensor column_sums(const Tensor& weight, std::int64_t columns, std::int64_t depth,
                   std::int64_t column_stride, std::int64_t stride);

}  // namespace assay::cuda
