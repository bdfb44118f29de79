// Elements picked by index: Gather, GatherElements, GatherND.
#include "kernels/families.h"
#include "kernels/indices.h"

namespace assay::kernels {

namespace {

std::vector<Tensor> gather(const KernelCall& call) {
  const Tensor& data = call.input(0);
  const Tensor& indices = call.input(1);
  const std::size_t axis = call.axis(0, data.dims().size());
  const auto picks = indices.to_int64();
  const Dims strides = row_major_strides(data.dims());
  const Dims pick_strides = row_major_strides(indices.dims());
  const std::size_t pick_rank = indices.dims().size();
  Dims dims(data.dims().begin(), data.dims().begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(axis) + 1,
              data.dims().end());
  ElementWriter result(call, data.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const auto pick =
        picks[static_cast<std::size_t>(offset_of(index.subspan(axis, pick_rank), pick_strides))];
    std::int64_t from = checked_index(call, pick, data.dims()[axis]) * strides[axis];
    from += offset_of(index.first(axis), strides);
    from += offset_of(index.subspan(axis + pick_rank), std::span(strides).subspan(axis + 1));
    result.copy(i, data, from);
  });
  return {result.finish()};
}

std::vector<Tensor> gather_elements(const KernelCall& call) {
  const Tensor& data = call.input(0);
  const Tensor& indices = call.input(1);
  const std::size_t axis = call.axis(0, data.dims().size());
  check_element_indices(call, data, indices, axis);
  const auto picks = indices.to_int64();
  const Dims strides = row_major_strides(data.dims());
  ElementWriter result(call, data.type(), indices.dims());
  for_each_index(indices.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t pick = checked_index(call, picks[i], data.dims()[axis]);
    result.copy(i, data, offset_of(index, strides) + (pick - index[axis]) * strides[axis]);
  });
  return {result.finish()};
}

std::vector<Tensor> gather_nd(const KernelCall& call) {
  const Tensor& data = call.input(0);
  const Tensor& indices = call.input(1);
  const IndexTuples tuples(call, data, indices, call.node.int_or("batch_dims", 0));
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), tuples.slice_dims().begin(), tuples.slice_dims().end());
  ElementWriter result(call, data.type(), dims);
  if (tuples.slice_elements() == 0) return {result.finish()};  // there may be countless tuples
  std::size_t position = 0;
  for (std::size_t tuple = 0; tuple < tuples.count(); ++tuple) {
    const std::int64_t start = tuples.start(tuple);
    for (std::int64_t i = 0; i < tuples.slice_elements(); ++i)
      result.copy(position++, data, start + i);
  }
  return {result.finish()};
}

}  // namespace

void add_gather_kernels(KernelTable& table) {
  table["Gather"] = gather;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
}

}  // namespace assay::kernels
