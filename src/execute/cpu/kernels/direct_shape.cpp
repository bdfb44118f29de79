// Elements rearranged or made from numbers: Trilu, Tile, Pad, Range.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "execute/cpu/kernels/direct.h"
#include "execute/cpu/kernels/direct_types.h"
#include "kernels/lanes.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

using kernels::normalized_axes;
using kernels::normalized_axis;
using kernels::row_major_strides;

namespace {

constexpr std::int64_t kOutside = -1;
constexpr std::int64_t kLongest = std::int64_t{1} << 40;  // whose sums do not overflow

// For each position along an axis of the result, the position along that of the input, or kOutside.
using AxisMap = std::vector<std::int64_t>;

// Fills `to`, of dims as long as the maps, with the elements that the maps name.
template <typename T>
class MappedCopy {
 public:
  MappedCopy(const std::vector<AxisMap>& maps, const Dims& from_dims, T fill)
      : maps_(maps), strides_(row_major_strides(from_dims)), fill_(fill) {}

  void run(const T* from, T* to) {
    to_ = to;
    write(0, from);
  }

 private:
  // `from` is null outside.
  void write(std::size_t axis, const T* from) {
    if (axis + 1 == maps_.size()) return write_row(from);
    for (const std::int64_t at : maps_[axis]) {
      const bool is_inside = from != nullptr && at != kOutside;
      write(axis + 1, is_inside ? from + at * strides_[axis] : nullptr);
    }
  }

  void write_row(const T* from) {
    const AxisMap& map = maps_.back();
    if (from == nullptr) {
      std::fill_n(to_, map.size(), fill_);
    } else {
      for (std::size_t i = 0; i < map.size(); ++i)
        to_[i] = map[i] == kOutside ? fill_ : from[map[i]];
    }
    to_ += map.size();
  }

  const std::vector<AxisMap>& maps_;
  Dims strides_;
  T fill_;
  T* to_ = nullptr;
};

void copy_mapped(const DirectOperand& from, const std::vector<AxisMap>& maps, const std::byte* fill,
                 const DirectOperand& to) {
  with_element_size(from.type, [&](auto zero) {
    using T = decltype(zero);
    T filling = 0;
    if (fill != nullptr) std::memcpy(&filling, fill, sizeof(T));
    MappedCopy<T>(maps, from.dims, filling).run(from.as<T>(), to.as<T>());
  });
}

std::optional<std::int64_t> unpadded(std::int64_t at, std::int64_t dim, const std::string& mode) {
  if (at >= 0 && at < dim) return at;
  if (mode == "constant") return kOutside;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, dim - 1);
  if (mode == "wrap") return (at % dim + dim) % dim;
  if (mode != "reflect") return {};
  if (dim == 1) return 0;
  const std::int64_t period = 2 * (dim - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < dim ? phase : period - phase;
}

// Of every axis, begins first.
std::optional<Dims> pads_of(const DirectCall& call, std::size_t rank) {
  Dims given;
  for (std::int64_t i = 0; i < call.input(1).elements(); ++i)
    given.push_back(integer_at(call.input(1), i));
  if (!call.has(3)) return given.size() == 2 * rank ? std::optional(given) : std::nullopt;
  Dims axes;
  for (std::int64_t i = 0; i < call.input(3).elements(); ++i)
    axes.push_back(integer_at(call.input(3), i));
  if (given.size() != 2 * axes.size() || !normalized_axes(axes, rank)) return {};
  Dims pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = *normalized_axis(axes[i], rank);
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
  }
  return pads;
}

template <typename T>
void fill_range(const DirectCall& call) {
  const T start = *call.input(0).as<T>();
  const T delta = *call.input(2).as<T>();
  T* to = call.outputs[0].as<T>();
  const std::int64_t count = call.outputs[0].elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      to[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                             static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
    } else {
      to[i] = start + static_cast<T>(i) * delta;
    }
  }
}

template <typename T>
std::optional<std::int64_t> range_length(const DirectCall& call) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  const auto number = [&](std::size_t i) { return static_cast<Wide>(*call.input(i).as<T>()); };
  return kernels::range_count(number(0), number(1), number(2));
}

}  // namespace

bool triangle(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  const std::size_t rank = input.dims.size();
  if (rank < 2) return false;
  if (call.has(1) && (call.input(1).elements() != 1 || call.input(1).type != DataType::Int64))
    return false;
  const std::int64_t diagonal = call.has(1) ? integer_at(call.input(1), 0) : 0;
  const bool is_upper = call.node->int_or("upper", 1) != 0;
  const std::int64_t rows = input.dims[rank - 2];
  const std::int64_t columns = input.dims[rank - 1];
  const std::int64_t matrices = input.elements() / rows / columns;
  const std::int64_t size = input.element_bytes();
  for (std::int64_t row = 0; row < matrices * rows; ++row) {
    const double edge = static_cast<double>(row % rows) + static_cast<double>(diagonal);
    const double first = is_upper ? edge : edge + 1;  // of the part above, or of what is cut there
    const auto cut =
        static_cast<std::int64_t>(std::clamp(first, 0.0, static_cast<double>(columns)));
    std::byte* to = call.outputs[0].bytes + row * columns * size;
    const std::byte* from = input.bytes + row * columns * size;
    const std::int64_t kept = is_upper ? cut : 0;
    const std::int64_t end = is_upper ? columns : cut;
    std::memset(to, 0, static_cast<std::size_t>(columns * size));
    std::memcpy(to + kept * size, from + kept * size,
                static_cast<std::size_t>((end - kept) * size));
  }
  return true;
}

bool tile(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  const DirectOperand& result = call.outputs[0];
  const std::size_t rank = input.dims.size();
  if (rank == 0 || call.input(1).elements() != static_cast<std::int64_t>(rank)) return false;
  std::vector<AxisMap> maps(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t repeats = integer_at(call.input(1), static_cast<std::int64_t>(axis));
    if (repeats < 1 || result.dims[axis] / repeats != input.dims[axis]) return false;
    for (std::int64_t i = 0; i < result.dims[axis]; ++i) maps[axis].push_back(i % input.dims[axis]);
  }
  copy_mapped(input, maps, nullptr, result);
  return true;
}

bool pad(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  const DirectOperand& result = call.outputs[0];
  const std::size_t rank = input.dims.size();
  const auto pads = pads_of(call, rank);
  if (!pads || rank == 0) return false;
  const bool has_fill = call.has(2);
  if (has_fill && (call.input(2).elements() != 1 || call.input(2).type != input.type)) return false;
  const std::string mode = call.node->string_or("mode", "constant");
  std::vector<AxisMap> maps(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t begin = (*pads)[axis];
    const std::int64_t end = (*pads)[rank + axis];
    if (std::abs(begin) > kLongest || std::abs(end) > kLongest) return false;
    if (input.dims[axis] + begin + end != result.dims[axis]) return false;
    for (std::int64_t i = 0; i < result.dims[axis]; ++i) {
      const auto at = unpadded(i - begin, input.dims[axis], mode);
      if (!at) return false;
      maps[axis].push_back(*at);
    }
  }
  copy_mapped(input, maps, has_fill ? call.input(2).bytes : nullptr, result);
  return true;
}

bool range(const DirectCall& call) {
  for (const std::size_t i : {0u, 1u, 2u}) {
    if (call.input(i).type != call.outputs[0].type || call.input(i).elements() != 1) return false;
  }
  bool fits = false;
  with_computed_type(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    fits = range_length<T>(call) == call.outputs[0].elements();
    if (fits) fill_range<T>(call);
  });
  return fits;
}

}  // namespace assay::cpu
