// Unique: the different elements of a tensor, or its different slices along an axis.
#include <algorithm>
#include <numeric>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

// A total order: NaN is the largest number, and equal to itself.
template <typename T>
bool comes_before(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

struct Groups {
  std::vector<std::int64_t> firsts;    // the slice that leads each group
  std::vector<std::int64_t> group_of;  // by slice
  std::vector<std::int64_t> counts;
};

// The slice at position i along the axis consists of elements i·inner… of every outer block.
template <typename T>
class Slices {
 public:
  Slices(const std::vector<T>& values, const Lanes& lanes) : values_(values), lanes_(lanes) {}

  std::int64_t count() const { return lanes_.length; }

  bool is_less(std::int64_t a, std::int64_t b) const {
    for (std::int64_t outer = 0; outer < lanes_.outer; ++outer) {
      for (std::int64_t inner = 0; inner < lanes_.inner; ++inner) {
        const T& left = at(outer, a, inner);
        const T& right = at(outer, b, inner);
        if (comes_before(left, right)) return true;
        if (comes_before(right, left)) return false;
      }
    }
    return false;
  }

 private:
  const T& at(std::int64_t outer, std::int64_t slice, std::int64_t inner) const {
    return values_[static_cast<std::size_t>((outer * lanes_.length + slice) * lanes_.inner +
                                            inner)];
  }

  const std::vector<T>& values_;
  Lanes lanes_;
};

template <typename T>
Groups sorted_groups(const Slices<T>& slices) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(slices.count()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order,
                           [&](std::int64_t a, std::int64_t b) { return slices.is_less(a, b); });
  Groups groups;
  groups.group_of.resize(order.size());
  for (const std::int64_t slice : order) {
    if (groups.firsts.empty() || slices.is_less(groups.firsts.back(), slice)) {
      groups.firsts.push_back(slice);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.group_of[static_cast<std::size_t>(slice)] =
        static_cast<std::int64_t>(groups.firsts.size()) - 1;
  }
  return groups;
}

// In the order in which the groups first appear instead.
Groups by_appearance(const Groups& sorted) {
  const std::size_t count = sorted.firsts.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t group) { return sorted.firsts[group]; });
  Groups groups;
  std::vector<std::int64_t> place(count);
  for (std::size_t i = 0; i < count; ++i) {
    groups.firsts.push_back(sorted.firsts[order[i]]);
    groups.counts.push_back(sorted.counts[order[i]]);
    place[order[i]] = static_cast<std::int64_t>(i);
  }
  for (const std::int64_t group : sorted.group_of) {
    groups.group_of.push_back(place[static_cast<std::size_t>(group)]);
  }
  return groups;
}

// Slices without elements are all equal, and there may be very many.
Groups groups_of_empty_slices(const KernelCall& call, std::int64_t count) {
  if (count == 0) return {};
  Groups groups{{0}, {}, {count}};
  if (!call.node.has_output(2)) return groups;
  call.need_memory(saturating_multiply(count, sizeof(std::int64_t)));
  groups.group_of.assign(static_cast<std::size_t>(count), 0);
  return groups;
}

Groups groups_of(const KernelCall& call, const Tensor& input, std::size_t axis) {
  const Lanes lanes = lanes_along(input.dims(), axis);
  if (input.elements() == 0) return groups_of_empty_slices(call, lanes.length);
  if (input.type() == DataType::String)
    return sorted_groups(Slices<std::string>(input.strings(), lanes));
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    return sorted_groups(Slices<T>(values, lanes));
  });
}

Tensor vector_of(const std::vector<std::int64_t>& numbers) {
  return Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers);
}

std::vector<Tensor> unique(const KernelCall& call) {
  const Tensor& given = call.input(0);
  const bool flattens = call.node.find("axis") == nullptr;
  const Tensor input = flattens ? given.reshaped({given.elements()}) : given;
  const std::size_t axis = call.axis(0, input.dims().size());
  Groups groups = groups_of(call, input, axis);
  if (call.node.int_or("sorted", 1) == 0) groups = by_appearance(groups);
  Dims dims = input.dims();
  dims[axis] = static_cast<std::int64_t>(groups.firsts.size());
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), dims);
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t slice = groups.firsts[static_cast<std::size_t>(index[axis])];
    result.copy(i, input, offset_of(index, strides) + (slice - index[axis]) * strides[axis]);
  });
  return {result.finish(), vector_of(groups.firsts), vector_of(groups.group_of),
          vector_of(groups.counts)};
}

}  // namespace

void add_unique_kernels(KernelTable& table) {
  table["Unique"] = unique;
}

}  // namespace assay::kernels
