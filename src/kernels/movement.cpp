// Elements moved to other places: Transpose, Expand, Tile, Concat, Slice, Split.
#include "kernels/movement.h"

#include <algorithm>
#include <numeric>

#include "kernels/families.h"
#include "kernels/strided_walk.h"

namespace assay::kernels {

namespace {

// The elements of `input` that `strides` lead to, as a tensor of `dims`.
Tensor strided_copy(const KernelCall& call, const Tensor& input, const Dims& dims,
                    const Dims& strides) {
  ElementWriter result(call, input.type(), dims);
  const StridedWalk<1> walk(dims, {strides});
  if (walk.run_steps()[0] == 1) {
    const auto length = static_cast<std::size_t>(walk.run_length());
    walk.for_each_run([&](std::size_t i, auto at) { result.copy(i, input, at[0], length); });
  } else {
    walk.for_each([&](std::size_t i, auto at) { result.copy(i, input, at[0]); });
  }
  return result.finish();
}

}  // namespace

Tensor transposed(const KernelCall& call, const Tensor& input, const Dims& order) {
  const std::size_t rank = input.dims().size();
  if (order.size() != rank || !normalized_axes(order, rank)) {
    call.fail("perm {} is not a permutation of {} axes", join_dims(order), rank);
  }
  const Dims own = row_major_strides(input.dims());
  Dims dims(rank), strides(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from = *normalized_axis(order[axis], rank);
    dims[axis] = input.dims()[from];
    strides[axis] = own[from];
  }
  return strided_copy(call, input, dims, strides);
}

namespace {

std::vector<Tensor> transpose(const KernelCall& call) {
  const Tensor& input = call.input(0);
  Dims reversed(input.dims().size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {transposed(call, input, call.node.ints_or("perm", reversed))};
}

std::vector<Tensor> expand(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto wanted = call.input(1).to_int64();
  const auto dims = broadcast_dims(input.dims(), wanted);
  if (!dims) call.fail("cannot expand {} to {}", join_dims(input.dims()), join_dims(wanted));
  return {strided_copy(call, input, *dims, broadcast_strides(input.dims(), *dims))};
}

std::vector<Tensor> tile(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto repeats = call.input(1).to_int64();
  Dims dims = input.dims();
  if (repeats.size() != dims.size())
    call.fail("{} repeats for rank {}", repeats.size(), dims.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const auto product = checked_multiply(dims[axis], repeats[axis]);
    if (!product || repeats[axis] < 0)
      call.fail("cannot repeat axis {} {} times", axis, repeats[axis]);
    dims[axis] = *product;
  }
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      from += index[axis] % input.dims()[axis] * strides[axis];
    }
    result.copy(i, input, from);
  });
  return {result.finish()};
}

// Writes `part` into `result`, starting at `start` along `axis`.
void write_part(ElementWriter& result, const Dims& dims, const Tensor& part, std::size_t axis,
                std::int64_t start) {
  const Dims strides = row_major_strides(dims);
  for_each_index(part.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t to = offset_of(index, strides) + start * strides[axis];
    result.copy(static_cast<std::size_t>(to), part, static_cast<std::int64_t>(i));
  });
}

std::vector<Tensor> concat(const KernelCall& call) {
  Dims dims = call.input(0).dims();
  const auto axis = normalized_axis(call.node.int_or("axis", 1), dims.size());
  if (!axis)
    call.fail("axis {} is out of range for rank {}", call.node.int_or("axis", 1), dims.size());
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Dims other = call.input(i).dims();
    if (other.size() != dims.size() || call.input(i).type() != call.input(0).type()) {
      call.fail("input {} has another rank or type than input 0", i);
    }
    const auto sum = checked_add(dims[*axis], other[*axis]);
    if (!sum) call.fail("the result is too large");
    dims[*axis] = other[*axis] = *sum;
    if (other != dims)
      call.fail("input {} does not fit: {} against {}", i, join_dims(other), join_dims(dims));
  }
  ElementWriter result(call, call.input(0).type(), dims);
  std::int64_t start = 0;
  for (const Tensor& part : call.inputs) {
    write_part(result, dims, part, *axis, start);
    start += part.dims()[*axis];
  }
  return {result.finish()};
}

Tensor sliced(const KernelCall& call, const Tensor& input, const std::vector<SliceRange>& ranges) {
  const Dims strides = row_major_strides(input.dims());
  Dims dims;
  for (const SliceRange& range : ranges) dims.push_back(range.count);
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      from += (ranges[axis].first + index[axis] * ranges[axis].step) * strides[axis];
    }
    result.copy(i, input, from);
  });
  return result.finish();
}

std::vector<SliceRange> whole(const Tensor& input) {
  std::vector<SliceRange> ranges;
  for (const std::int64_t dim : input.dims()) ranges.push_back({0, 1, dim});
  return ranges;
}

// Since opset 10 the bounds are inputs; before, attributes.
Dims slice_bounds(const KernelCall& call, std::size_t input, const char* attribute,
                  Dims otherwise) {
  if (call.has(input)) return call.input(input).to_int64();
  return call.node.ints_or(attribute, std::move(otherwise));
}

std::vector<Tensor> slice(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims starts = slice_bounds(call, 1, "starts", {});
  const Dims ends = slice_bounds(call, 2, "ends", {});
  Dims first_axes(starts.size());
  std::iota(first_axes.begin(), first_axes.end(), 0);
  const Dims axes = slice_bounds(call, 3, "axes", first_axes);
  const Dims steps = slice_bounds(call, 4, "steps", Dims(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.fail("starts, ends, axes and steps differ in length");
  }
  auto ranges = whole(input);
  if (!normalized_axes(axes, ranges.size()))
    call.fail("axes {} do not fit rank {}", join_dims(axes), ranges.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) call.fail("step 0");
    const std::size_t axis = *normalized_axis(axes[i], ranges.size());
    ranges[axis] = slice_range(input.dims()[axis], starts[i], ends[i], steps[i]);
  }
  return {sliced(call, input, ranges)};
}

Dims split_lengths(const KernelCall& call, std::int64_t dim) {
  if (call.has(1)) return call.input(1).to_int64();
  if (const auto* lengths = call.node.get<Dims>("split")) return *lengths;
  const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
  if (parts == 0) call.fail("has no outputs");
  const std::int64_t each = dim / parts + (dim % parts == 0 ? 0 : 1);
  Dims lengths(static_cast<std::size_t>(parts), each);
  for (std::int64_t rest = dim; std::int64_t & length : lengths) {
    length = std::min(length, rest);
    rest -= length;
  }
  return lengths;
}

std::vector<Tensor> split(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t axis = call.axis(0, input.dims().size());
  const Dims lengths = split_lengths(call, input.dims()[axis]);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > input.dims()[axis] - start) {
      call.fail("lengths {} do not fit dimension {}", join_dims(lengths), input.dims()[axis]);
    }
    auto ranges = whole(input);
    ranges[axis] = {start, 1, length};
    parts.push_back(sliced(call, input, ranges));
    start += length;
  }
  return parts;
}

}  // namespace

void add_movement_kernels(KernelTable& table) {
  table["Transpose"] = transpose;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["Concat"] = concat;
  table["Slice"] = slice;
  table["Split"] = split;
}

}  // namespace assay::kernels
