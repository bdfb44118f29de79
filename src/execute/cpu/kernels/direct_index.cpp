// Elements picked and placed by index: GatherElements, GatherND, ScatterElements, ScatterND,
// OneHot.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "execute/cpu/kernels/direct.h"
#include "execute/cpu/kernels/direct_types.h"
#include "kernels/lanes.h"
#include "kernels/numbers.h"

namespace assay::cpu {

using kernels::Lanes;
using kernels::lanes_along;
using kernels::normalized_axis;
using kernels::product_or_zero;
using kernels::row_major_strides;

std::int64_t DirectOperand::elements() const {
  return checked_product(dims).value_or(0);
}

std::size_t DirectCall::axis(std::int64_t otherwise, std::size_t rank) const {
  return normalized_axis(node->int_or("axis", otherwise), rank).value_or(0);
}

std::int64_t integer_at(const DirectOperand& operand, std::int64_t i) {
  return operand.type == DataType::Int32 ? operand.as<std::int32_t>()[i]
                                         : operand.as<std::int64_t>()[i];
}

namespace {

// Positions counted from the start, or nothing where one is out of range.
std::optional<std::int64_t> counted(std::int64_t index, std::int64_t length) {
  const std::int64_t position = index < 0 ? index + length : index;
  if (position < 0 || position >= length) return {};
  return position;
}

bool are_in_range(const DirectOperand& indices, std::int64_t length) {
  const std::int64_t count = indices.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (!counted(integer_at(indices, i), length)) return false;
  }
  return true;
}

// GatherElements and ScatterElements: calls `visit(i, place)` with the number of each index and the
// place in the data that it names. All indices are in range.
template <typename Visit>
void for_each_named_element(const DirectOperand& data, const DirectOperand& indices,
                            std::size_t axis, Visit visit) {
  const Dims strides = row_major_strides(data.dims);
  const std::size_t last = indices.dims.size() - 1;
  const std::int64_t width = indices.dims[last];
  const std::int64_t rows = indices.elements() / width;
  const std::int64_t column_step = axis == last ? 0 : 1;
  const std::int64_t length = data.dims[axis];
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t start = 0;
    std::int64_t rest = row;
    for (std::size_t at = last; at-- > 0;) {
      if (at != axis) start += rest % indices.dims[at] * strides[at];
      rest /= indices.dims[at];
    }
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t i = row * width + column;
      const std::int64_t named = integer_at(indices, i);
      visit(i, start + column * column_step + (named < 0 ? named + length : named) * strides[axis]);
    }
  }
}

// Of equal rank, and no larger than the data but along `axis`.
bool fit_elements(const DirectOperand& data, const DirectOperand& indices, std::size_t axis) {
  if (data.dims.size() != indices.dims.size() || data.dims.empty()) return false;
  for (std::size_t i = 0; i < data.dims.size(); ++i) {
    if (i != axis && indices.dims[i] > data.dims[i]) return false;
  }
  return are_in_range(indices, data.dims[axis]);
}

// GatherND and ScatterND: tuples name slices of the data.
struct Tuples {
  std::int64_t count = 0;
  std::int64_t width = 0;  // numbers of a tuple
  std::int64_t per_batch = 0;
  std::int64_t batch_elements = 0;  // of the data
  std::int64_t slice = 0;           // elements
  std::size_t batch_dims = 0;
  Dims strides = {};
};

std::optional<Tuples> tuples_of(const DirectOperand& data, const DirectOperand& indices,
                                std::int64_t batch_dims) {
  const std::size_t rank = indices.dims.size();
  if (rank == 0 || data.dims.empty() || batch_dims < 0) return {};
  const auto batches = static_cast<std::size_t>(batch_dims);
  if (batches > rank - 1 || batches > data.dims.size()) return {};
  if (indices.dims.back() < 1) return {};
  const auto width = static_cast<std::size_t>(indices.dims.back());
  if (width > data.dims.size() - batches) return {};
  if (!std::equal(indices.dims.begin(), indices.dims.begin() + batch_dims, data.dims.begin()))
    return {};
  const std::span<const std::int64_t> dims(data.dims);
  const std::span<const std::int64_t> index_dims(indices.dims);
  return Tuples{.count = product_or_zero(index_dims.first(rank - 1)),
                .width = indices.dims.back(),
                .per_batch = product_or_zero(index_dims.subspan(batches, rank - 1 - batches)),
                .batch_elements = product_or_zero(dims.subspan(batches)),
                .slice = product_or_zero(dims.subspan(batches + width)),
                .batch_dims = batches,
                .strides = row_major_strides(data.dims)};
}

std::optional<std::int64_t> start_of(const Tuples& tuples, const DirectOperand& data,
                                     const DirectOperand& indices, std::int64_t tuple) {
  std::int64_t start = tuple / tuples.per_batch * tuples.batch_elements;
  for (std::int64_t i = 0; i < tuples.width; ++i) {
    const std::size_t axis = tuples.batch_dims + static_cast<std::size_t>(i);
    const auto position = counted(integer_at(indices, tuple * tuples.width + i), data.dims[axis]);
    if (!position) return {};
    start += *position * tuples.strides[axis];
  }
  return start;
}

enum class Merge : std::uint8_t { Replace, Add, Multiply, Greatest, Least };

std::optional<Merge> merge_of(const Node& node) {
  const std::string name = node.string_or("reduction", "none");
  if (name == "none") return Merge::Replace;
  if (name == "add") return Merge::Add;
  if (name == "mul") return Merge::Multiply;
  if (name == "max") return Merge::Greatest;
  if (name == "min") return Merge::Least;
  return {};
}

template <typename T>
T merged_value(Merge merge, T old, T update) {
  switch (merge) {
    case Merge::Add:
      return kernels::wrapping_sum(old, update);
    case Merge::Multiply:
      return kernels::wrapping_product(old, update);
    case Merge::Greatest:
      return std::max(old, update);
    case Merge::Least:
      return std::min(old, update);
    default:
      return update;
  }
}

void copy_whole(const DirectOperand& from, const DirectOperand& to) {
  std::memcpy(to.bytes, from.bytes,
              static_cast<std::size_t>(from.elements() * from.element_bytes()));
}

// Calls `work(zero)` with a zero of the type in which updates are merged.
template <typename Work>
void with_merged_type(Merge merge, DataType type, Work work) {
  if (merge == Merge::Replace) {
    with_element_size(type, work);
  } else {
    with_computed_type(type, work);
  }
}

}  // namespace

bool gather_elements(const DirectCall& call) {
  const DirectOperand& data = call.input(0);
  const DirectOperand& indices = call.input(1);
  const std::size_t axis = call.axis(0, data.dims.size());
  if (!fit_elements(data, indices, axis)) return false;
  with_element_size(data.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = data.as<T>();
    T* to = call.outputs[0].as<T>();
    for_each_named_element(data, indices, axis,
                           [&](std::int64_t i, std::int64_t place) { to[i] = from[place]; });
  });
  return true;
}

bool scatter_elements(const DirectCall& call) {
  const DirectOperand& data = call.input(0);
  const DirectOperand& indices = call.input(1);
  const DirectOperand& updates = call.input(2);
  const std::size_t axis = call.axis(0, data.dims.size());
  const auto merge = merge_of(*call.node);
  const bool fits = updates.dims == indices.dims && updates.type == data.type;
  if (!merge || !fits || !fit_elements(data, indices, axis)) return false;
  copy_whole(data, call.outputs[0]);
  with_merged_type(*merge, data.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = updates.as<T>();
    T* to = call.outputs[0].as<T>();
    for_each_named_element(data, indices, axis, [&](std::int64_t i, std::int64_t place) {
      to[place] = merged_value(*merge, to[place], from[i]);
    });
  });
  return true;
}

bool gather_tuples(const DirectCall& call) {
  const DirectOperand& data = call.input(0);
  const DirectOperand& indices = call.input(1);
  const auto tuples = tuples_of(data, indices, call.node->int_or("batch_dims", 0));
  if (!tuples) return false;
  const auto bytes = static_cast<std::size_t>(tuples->slice * data.element_bytes());
  for (std::int64_t tuple = 0; tuple < tuples->count; ++tuple) {
    const auto start = start_of(*tuples, data, indices, tuple);
    if (!start) return false;
    std::memcpy(call.outputs[0].bytes + static_cast<std::size_t>(tuple) * bytes,
                data.bytes + *start * data.element_bytes(), bytes);
  }
  return true;
}

bool scatter_tuples(const DirectCall& call) {
  const DirectOperand& data = call.input(0);
  const DirectOperand& indices = call.input(1);
  const DirectOperand& updates = call.input(2);
  const auto merge = merge_of(*call.node);
  const auto tuples = tuples_of(data, indices, 0);
  if (!tuples || !merge || updates.type != data.type) return false;
  if (updates.elements() != tuples->count * tuples->slice) return false;
  copy_whole(data, call.outputs[0]);
  bool fits = true;
  with_merged_type(*merge, data.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t tuple = 0; fits && tuple < tuples->count; ++tuple) {
      const auto start = start_of(*tuples, data, indices, tuple);
      fits = start.has_value();
      if (!fits) break;
      const T* from = updates.as<T>() + tuple * tuples->slice;
      T* to = call.outputs[0].as<T>() + *start;
      for (std::int64_t i = 0; i < tuples->slice; ++i) to[i] = merged_value(*merge, to[i], from[i]);
    }
  });
  return fits;
}

bool one_hot(const DirectCall& call) {
  const DirectOperand& indices = call.input(0);
  const DirectOperand& off_and_on = call.input(2);
  const DirectOperand& result = call.outputs[0];
  const std::size_t axis = call.axis(-1, indices.dims.size() + 1);
  if (off_and_on.elements() != 2 || off_and_on.type != result.type) return false;
  const Lanes lanes = lanes_along(result.dims, axis);
  with_element_size(result.type, [&](auto zero) {
    using T = decltype(zero);
    const T off = off_and_on.as<T>()[0];
    const T on = off_and_on.as<T>()[1];
    T* to = result.as<T>();
    std::fill_n(to, result.elements(), off);
    for (std::int64_t i = 0; i < lanes.outer * lanes.inner; ++i) {
      std::int64_t hot = integer_at(indices, i);
      if (hot < 0) hot += lanes.length;
      if (hot < 0 || hot >= lanes.length) continue;
      to[(i / lanes.inner * lanes.length + hot) * lanes.inner + i % lanes.inner] = on;
    }
  });
  return true;
}

}  // namespace assay::cpu
