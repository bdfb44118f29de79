// Elements written by index: ScatterElements, Scatter, ScatterND, with their reductions.
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/indices.h"

namespace assay::kernels {

namespace {

template <typename T>
T reduced(const KernelCall& call, const std::string& reduction, T old, T update) {
  if (reduction == "none") return update;
  if (reduction == "max") return std::max(old, update);
  if (reduction == "min") return std::min(old, update);
  const bool adds = reduction == "add";
  if (!adds && reduction != "mul") call.fail("reduction '{}' is not known", reduction);
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(old);
    const auto b = static_cast<std::uint64_t>(update);
    return static_cast<T>(adds ? a + b : a * b);
  } else {
    return adds ? old + update : old * update;
  }
}

// `target(i)` is the position that update `i` goes to.
template <typename Target>
std::vector<Tensor> scattered(const KernelCall& call, const Tensor& data, const Tensor& updates,
                              Target target) {
  if (data.type() != updates.type()) call.fail("data and updates differ in type");
  const std::string reduction = call.node.string_or("reduction", "none");
  return with_number_type(data.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(data);
    const auto news = load<T>(updates);
    for (std::size_t i = 0; i < news.size(); ++i) {
      T& place = values[target(i)];
      place = reduced(call, reduction, place, news[i]);
    }
    return std::vector<Tensor>{store<T>(data.type(), data.dims(), values)};
  });
}

std::vector<Tensor> scatter_elements(const KernelCall& call) {
  const Tensor& data = call.input(0);
  const Tensor& indices = call.input(1);
  const Tensor& updates = call.input(2);
  const std::size_t axis = call.axis(0, data.dims().size());
  check_element_indices(call, data, indices, axis);
  if (updates.dims() != indices.dims())
    call.fail("updates {} do not fit indices {}", join_dims(updates.dims()),
              join_dims(indices.dims()));
  const auto picks = indices.to_int64();
  const Dims strides = row_major_strides(data.dims());
  std::vector<std::size_t> targets(picks.size());
  for_each_index(indices.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t pick = checked_index(call, picks[i], data.dims()[axis]);
    targets[i] =
        static_cast<std::size_t>(offset_of(index, strides) + (pick - index[axis]) * strides[axis]);
  });
  return scattered(call, data, updates, [&](std::size_t i) { return targets[i]; });
}

std::vector<Tensor> scatter_nd(const KernelCall& call) {
  const Tensor& data = call.input(0);
  const Tensor& indices = call.input(1);
  const Tensor& updates = call.input(2);
  const IndexTuples tuples(call, data, indices, 0);
  Dims wanted(indices.dims().begin(), indices.dims().end() - 1);
  wanted.insert(wanted.end(), tuples.slice_dims().begin(), tuples.slice_dims().end());
  if (updates.dims() != wanted)
    call.fail("updates {} should be {}", join_dims(updates.dims()), join_dims(wanted));
  const auto width = static_cast<std::size_t>(tuples.slice_elements());
  return scattered(call, data, updates, [&](std::size_t i) {
    return static_cast<std::size_t>(tuples.start(i / width)) + i % width;
  });
}

}  // namespace

void add_scatter_kernels(KernelTable& table) {
  table["ScatterElements"] = scatter_elements;
  table["Scatter"] = scatter_elements;
  table["ScatterND"] = scatter_nd;
}

}  // namespace assay::kernels
