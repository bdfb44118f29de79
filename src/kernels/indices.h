// Indices that come from tensors: checked, and read as element indices or as tuples.
#pragma once

#include "kernels/movement.h"

namespace assay::kernels {

// Counts a negative index from the end; fails when it is out of range.
std::int64_t checked_index(const KernelCall& call, std::int64_t index, std::int64_t dim);

// GatherElements and ScatterElements: equal rank, and no larger than the data but along `axis`.
void check_element_indices(const KernelCall& call, const Tensor& data, const Tensor& indices,
                           std::size_t axis);

// GatherND and ScatterND: the last axis of `indices` holds tuples, each naming a slice of `data`.
class IndexTuples {
 public:
  IndexTuples(const KernelCall& call, const Tensor& data, const Tensor& indices,
              std::int64_t batch_dims);

  std::size_t count() const { return count_; }
  const Dims& slice_dims() const { return slice_dims_; }
  std::int64_t slice_elements() const { return slice_elements_; }
  std::int64_t start(std::size_t tuple) const;  // where in `data` the slice begins

 private:
  const KernelCall& call_;
  Dims data_dims_;
  Dims strides_;
  Dims numbers_;
  Dims slice_dims_;
  std::size_t batch_dims_ = 0;
  std::size_t width_ = 0;
  std::size_t count_ = 0;
  std::size_t tuples_per_batch_ = 1;
  std::int64_t slice_elements_ = 1;
};

}  // namespace assay::kernels
