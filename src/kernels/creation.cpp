// Tensors made from shapes and numbers: Shape, Size, Constant, ConstantOfShape, Range, EyeLike,
// OneHot.
#include "graph/constant_node.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

std::vector<Tensor> shape(const KernelCall& call) {
  const auto& dims = call.input(0).dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto range =
      slice_range(rank, call.node.int_or("start", 0), call.node.int_or("end", rank), 1);
  const Dims part(dims.begin() + range.first, dims.begin() + range.first + range.count);
  return {Tensor::of_int64({range.count}, part)};
}

std::vector<Tensor> size(const KernelCall& call) {
  return {Tensor::of_int64({}, {call.input(0).elements()})};
}

std::vector<Tensor> constant(const KernelCall& call) {
  return {graph::constant_tensor(call.node)};
}

std::vector<Tensor> constant_of_shape(const KernelCall& call) {
  const auto* given = call.node.get<Tensor>("value");
  const Tensor value = given != nullptr ? *given : Tensor::of_float({1}, {0.0f});
  if (value.elements() != 1) call.fail("'value' holds {} elements instead of 1", value.elements());
  ElementWriter result(call, value.type(), call.input(0).to_int64());
  for (std::size_t i = 0; i < result.elements(); ++i) result.copy(i, value, 0);
  return {result.finish()};
}

std::vector<Tensor> range(const KernelCall& call) {
  const DataType type = call.input(0).type();
  return with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    const auto number = [&](std::size_t i) {
      const Tensor& scalar = call.input(i);
      if (scalar.type() != type || scalar.elements() != 1)
        call.fail("input {} is not a {} scalar", i, name(type));
      return load<T>(scalar).front();
    };
    const T start = number(0);
    const T delta = number(2);
    const auto count = range_count(static_cast<Wide>(start), static_cast<Wide>(number(1)),
                                   static_cast<Wide>(delta));
    if (!count) call.fail("delta is 0 or the range has no end");
    call.need_memory(saturating_multiply(*count, sizeof(T)));
    std::vector<T> values(static_cast<std::size_t>(*count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                                   i * static_cast<std::uint64_t>(delta));
      } else {
        values[i] = start + static_cast<T>(i) * delta;
      }
    }
    return std::vector<Tensor>{store<T>(type, {*count}, values)};
  });
}

std::vector<Tensor> eye_like(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.dims().size() != 2) call.fail("needs a matrix, got {}", join_dims(input.dims()));
  const auto type =
      data_type_from_onnx(call.node.int_or("dtype", static_cast<std::int64_t>(input.type())));
  if (!type) call.fail("attribute 'dtype' names no element type");
  const std::int64_t diagonal = call.node.int_or("k", 0);
  return with_number_type(*type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(static_cast<std::size_t>(input.elements()), T{0});
    for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
      if (index[1] - index[0] == diagonal) values[i] = T{1};
    });
    return std::vector<Tensor>{store<T>(*type, input.dims(), values)};
  });
}

std::vector<Tensor> one_hot(const KernelCall& call) {
  const Tensor& indices = call.input(0);
  const Tensor& off_and_on = call.input(2);
  if (call.input(1).elements() != 1) call.fail("depth is not a scalar");
  if (off_and_on.elements() != 2)
    call.fail("values holds {} elements instead of 2", off_and_on.elements());
  const std::int64_t depth = call.input(1).to_int64().front();
  if (depth < 0) call.fail("depth {} is negative", depth);
  const std::size_t axis = call.axis(-1, indices.dims().size() + 1);
  Dims dims = indices.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto hot = indices.to_int64();
  Dims strides = row_major_strides(indices.dims());
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  ElementWriter result(call, off_and_on.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t wanted = hot[static_cast<std::size_t>(offset_of(index, strides))];
    if (wanted < 0) wanted += depth;
    result.copy(i, off_and_on, index[axis] == wanted ? 1 : 0);
  });
  return {result.finish()};
}

}  // namespace

void add_creation_kernels(KernelTable& table) {
  table["Shape"] = shape;
  table["Size"] = size;
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Range"] = range;
  table["EyeLike"] = eye_like;
  table["OneHot"] = one_hot;
}

}  // namespace assay::kernels
