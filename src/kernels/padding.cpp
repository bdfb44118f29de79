// Pad, and CenterCropPad, which pads or crops both ends of an axis alike.
#include <algorithm>
#include <numeric>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/movement.h"
#include "kernels/numbers.h"

namespace assay::kernels {

namespace {

// The pads of every axis, begins first: attribute before opset 11, input since, `axes` since 18.
Dims pads_of(const KernelCall& call, std::size_t rank) {
  Dims given = call.has(1) ? call.input(1).to_int64() : call.node.ints_or("pads", {});
  if (!call.has(3)) return given;
  const auto axes = call.input(3).to_int64();
  if (given.size() != 2 * axes.size() || !normalized_axes(axes, rank))
    call.fail("pads and axes do not fit");
  Dims pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = *normalized_axis(axes[i], rank);
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
  }
  return pads;
}

// The position in the input along one axis, or nothing if the constant is used.
std::optional<std::int64_t> unpadded(const KernelCall& call, std::int64_t at, std::int64_t dim,
                                     const std::string& mode) {
  if (at >= 0 && at < dim) return at;
  if (mode == "constant") return std::nullopt;
  if (dim <= 0) call.fail("cannot pad an empty axis with mode {}", mode);
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, dim - 1);
  if (mode == "wrap") return (at % dim + dim) % dim;
  if (mode != "reflect") call.fail("mode '{}' is not known", mode);
  if (dim == 1) return 0;
  const std::int64_t period = 2 * (dim - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < dim ? phase : period - phase;
}

Dims first_axes(std::size_t count) {
  Dims axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The dimensions after padding; a negative pad crops.
Dims padded_dims(const KernelCall& call, Dims dims, const Dims& pads) {
  const std::size_t rank = dims.size();
  if (pads.size() != 2 * rank) call.fail("{} pads for rank {}", pads.size(), rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto both = checked_add(pads[axis], pads[rank + axis]);
    const std::int64_t sum = both ? checked_add(*both, dims[axis]).value_or(-1) : -1;
    const bool crops_too_much = pads[axis] < -dims[axis] || pads[rank + axis] < -dims[axis];
    if (sum < 0 || crops_too_much) {
      call.fail("pads {} and {} do not fit dimension {}", pads[axis], pads[rank + axis],
                dims[axis]);
    }
    dims[axis] = sum;
  }
  return dims;
}

// `fill` is the value of the padding, by default 0.
Tensor padded(const KernelCall& call, const Dims& pads, const std::string& mode,
              const Tensor& fill) {
  const Tensor& input = call.input(0);
  const Dims dims = padded_dims(call, input.dims(), pads);
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      const auto at = unpadded(call, index[axis] - pads[axis], input.dims()[axis], mode);
      if (!at) {
        if (fill.has_value()) result.copy(i, fill, 0);
        return;
      }
      from += *at * strides[axis];
    }
    result.copy(i, input, from);
  });
  return result.finish();
}

// An input since opset 11; the attribute `value` before.
Tensor fill_of(const KernelCall& call) {
  const DataType type = call.input(0).type();
  if (!call.has(2)) {
    const float value = call.node.float_or("value", 0);
    if (value == 0) return {};
    return with_number_type(type, [&](auto zero) {
      using T = decltype(zero);
      return store<T>(type, {}, {from_real<T>(static_cast<double>(value))});
    });
  }
  const Tensor& fill = call.input(2);
  if (fill.elements() != 1 || fill.type() != type) call.fail("the constant does not fit");
  return fill;
}

std::vector<Tensor> pad(const KernelCall& call) {
  const Dims pads = pads_of(call, call.input(0).dims().size());
  return {padded(call, pads, call.node.string_or("mode", "constant"), fill_of(call))};
}

std::vector<Tensor> center_crop_pad(const KernelCall& call) {
  const Dims& dims = call.input(0).dims();
  const auto wanted = call.input(1).to_int64();
  const auto axes = call.node.ints_or("axes", first_axes(wanted.size()));
  if (axes.size() != wanted.size() || !normalized_axes(axes, dims.size()))
    call.fail("shape {} and axes {} do not fit", join_dims(wanted), join_dims(axes));
  Dims pads(2 * dims.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = *normalized_axis(axes[i], dims.size());
    if (wanted[i] < 0) call.fail("shape {} is negative", join_dims(wanted));
    const std::int64_t missing = wanted[i] - dims[axis];
    pads[axis] = missing / 2;  // the odd one is added or cut at the end
    pads[dims.size() + axis] = missing - pads[axis];
  }
  return {padded(call, pads, "constant", Tensor())};
}

}  // namespace

void add_padding_kernels(KernelTable& table) {
  table["Pad"] = pad;
  table["CenterCropPad"] = center_crop_pad;
}

}  // namespace assay::kernels
