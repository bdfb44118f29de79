#include "kernels/indices.h"

namespace assay::kernels {

std::int64_t checked_index(const KernelCall& call, std::int64_t index, std::int64_t dim) {
  const std::int64_t counted = index < 0 ? index + dim : index;
  if (counted < 0 || counted >= dim)
    call.fail("index {} is out of range for dimension {}", index, dim);
  return counted;
}

void check_element_indices(const KernelCall& call, const Tensor& data, const Tensor& indices,
                           std::size_t axis) {
  bool fits = data.dims().size() == indices.dims().size();
  for (std::size_t i = 0; fits && i < data.dims().size(); ++i) {
    fits = i == axis || indices.dims()[i] <= data.dims()[i];
  }
  if (!fits)
    call.fail("indices {} do not fit data {}", join_dims(indices.dims()), join_dims(data.dims()));
}

IndexTuples::IndexTuples(const KernelCall& call, const Tensor& data, const Tensor& indices,
                         std::int64_t batch_dims)
    : call_(call),
      data_dims_(data.dims()),
      strides_(row_major_strides(data.dims())),
      numbers_(indices.to_int64()) {
  const Dims& dims = indices.dims();
  if (dims.empty() || data_dims_.empty()) call.fail("data and indices need at least one axis");
  const auto shared = std::min(dims.size() - 1, data_dims_.size());
  if (batch_dims < 0 || static_cast<std::size_t>(batch_dims) > shared)
    call.fail("batch_dims {} is out of range", batch_dims);
  batch_dims_ = static_cast<std::size_t>(batch_dims);
  for (std::size_t axis = 0; axis < batch_dims_; ++axis) {
    if (dims[axis] != data_dims_[axis])
      call.fail("batch axis {} is {} in indices, {} in data", axis, dims[axis], data_dims_[axis]);
  }
  if (dims.back() < 0 || static_cast<std::size_t>(dims.back()) > data_dims_.size() - batch_dims_) {
    call.fail("index tuples of {} for data {}", dims.back(), join_dims(data_dims_));
  }
  width_ = static_cast<std::size_t>(dims.back());
  slice_dims_.assign(data_dims_.begin() + static_cast<std::ptrdiff_t>(batch_dims_ + width_),
                     data_dims_.end());
  const auto slice = checked_product(slice_dims_);
  const auto tuples = checked_product(std::span(dims).first(dims.size() - 1));
  const auto per_batch =
      checked_product(std::span(dims).subspan(batch_dims_, dims.size() - 1 - batch_dims_));
  if (!slice || !tuples || !per_batch) call.fail("{} is too large", join_dims(dims));
  slice_elements_ = *slice;
  count_ = static_cast<std::size_t>(*tuples);
  tuples_per_batch_ = static_cast<std::size_t>(*per_batch);
}

std::int64_t IndexTuples::start(std::size_t tuple) const {
  std::int64_t offset = 0;
  std::size_t batch = tuple / std::max<std::size_t>(tuples_per_batch_, 1);
  for (std::size_t axis = batch_dims_; axis-- > 0;) {
    const auto dim = static_cast<std::size_t>(data_dims_[axis]);
    offset += static_cast<std::int64_t>(batch % dim) * strides_[axis];
    batch /= dim;
  }
  for (std::size_t i = 0; i < width_; ++i) {
    const std::size_t axis = batch_dims_ + i;
    offset += checked_index(call_, numbers_[tuple * width_ + i], data_dims_[axis]) * strides_[axis];
  }
  return offset;
}

}  // namespace assay::kernels
