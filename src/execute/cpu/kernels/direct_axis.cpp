// Ops along one axis: TopK, ArgMax, ArgMin, CumSum, ReverseSequence.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "execute/cpu/kernels/direct.h"
#include "execute/cpu/kernels/direct_types.h"
#include "execute/threads.h"
#include "kernels/lanes.h"
#include "kernels/numbers.h"

namespace assay::cpu {

using kernels::Lanes;
using kernels::lanes_along;
using kernels::normalized_axis;
using kernels::product_or_zero;

namespace {

constexpr std::int64_t kWorthSharing = 16 << 10;  // elements

int team_for(const DirectCall& call, std::int64_t elements) {
  return elements < kWorthSharing ? 1 : call.threads;
}

// NaN counts as the largest number.
template <typename T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <typename T>
struct Ranked {
  T value = {};
  std::int64_t place = 0;
};

// Ties go to the lower place.
template <typename T>
void rank(std::vector<Ranked<T>>& lane, std::int64_t count, bool largest) {
  const auto comes_first = [largest](const Ranked<T>& a, const Ranked<T>& b) {
    const bool before = largest ? is_less(b.value, a.value) : is_less(a.value, b.value);
    if (before) return true;
    const bool after = largest ? is_less(a.value, b.value) : is_less(b.value, a.value);
    return !after && a.place < b.place;
  };
  std::partial_sort(lane.begin(), lane.begin() + count, lane.end(), comes_first);
}

template <typename T>
void top_of_lanes(const DirectCall& call, const Lanes& lanes, std::int64_t count, bool largest,
                  std::int64_t first, std::int64_t last) {
  std::vector<Ranked<T>> lane(static_cast<std::size_t>(lanes.length));
  const T* values = call.input(0).as<T>();
  T* best = call.outputs[0].as<T>();
  auto* places = call.outputs.size() > 1 ? call.outputs[1].as<std::int64_t>() : nullptr;
  for (std::int64_t number = first; number < last; ++number) {
    const std::int64_t outer = number / lanes.inner;
    const std::int64_t inner = number % lanes.inner;
    const T* from = values + outer * lanes.length * lanes.inner + inner;
    for (std::int64_t i = 0; i < lanes.length; ++i)
      lane[static_cast<std::size_t>(i)] = {from[i * lanes.inner], i};
    rank(lane, count, largest);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t to = (outer * count + i) * lanes.inner + inner;
      if (best != nullptr) best[to] = lane[static_cast<std::size_t>(i)].value;
      if (places != nullptr) places[to] = lane[static_cast<std::size_t>(i)].place;
    }
  }
}

template <typename T, typename Better>
void best_of_lane(const T* from, const Lanes& lanes, bool takes_last, std::int64_t& place) {
  T best = from[0];
  place = 0;
  for (std::int64_t i = 1; i < lanes.length; ++i) {
    const T value = from[i * lanes.inner];
    if (!Better{}(value, best) && !(takes_last && value == best)) continue;
    best = value;
    place = i;
  }
}

template <template <typename> typename Better>
bool position_of_best(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  if (input.dims.empty()) return false;
  const Lanes lanes = lanes_along(input.dims, call.axis(0, input.dims.size()));
  const bool takes_last = call.node->int_or("select_last_index", 0) != 0;
  auto* places = call.outputs[0].as<std::int64_t>();
  const std::int64_t count = lanes.outer * lanes.inner;
  return with_computed_type(input.type, [&](auto zero) {
    using T = decltype(zero);
    execute::in_parallel(
        team_for(call, input.elements()), count, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            const T* from =
                input.as<T>() + i / lanes.inner * lanes.length * lanes.inner + i % lanes.inner;
            best_of_lane<T, Better<T>>(from, lanes, takes_last, places[i]);
          }
        });
  });
}

template <typename T>
void sum_lane(const T* from, T* to, const Lanes& lanes, bool excludes, bool reverses) {
  T sum{0};
  for (std::int64_t step = 0; step < lanes.length; ++step) {
    const std::int64_t at = (reverses ? lanes.length - 1 - step : step) * lanes.inner;
    const T next = kernels::wrapping_sum(sum, from[at]);
    to[at] = excludes ? sum : next;
    sum = next;
  }
}

}  // namespace

bool top_k(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  if (input.dims.empty() || call.input(1).elements() != 1) return false;
  const std::size_t axis = call.axis(-1, input.dims.size());
  const std::int64_t count = integer_at(call.input(1), 0);
  if (call.outputs[0].type != input.type || call.outputs[0].dims[axis] != count) return false;
  const Lanes lanes = lanes_along(input.dims, axis);
  if (count > lanes.length) return false;
  const bool largest = call.node->int_or("largest", 1) != 0;
  return with_computed_type(input.type, [&](auto zero) {
    execute::in_parallel(team_for(call, input.elements()), lanes.outer * lanes.inner,
                         [&](std::int64_t first, std::int64_t last) {
                           top_of_lanes<decltype(zero)>(call, lanes, count, largest, first, last);
                         });
  });
}

bool position_of_greatest(const DirectCall& call) {
  return position_of_best<std::greater>(call);
}

bool position_of_least(const DirectCall& call) {
  return position_of_best<std::less>(call);
}

bool cumulative_sum(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  const auto axis = normalized_axis(integer_at(call.input(1), 0), input.dims.size());
  if (!axis) return false;
  const Lanes lanes = lanes_along(input.dims, *axis);
  const bool excludes = call.node->int_or("exclusive", 0) != 0;
  const bool reverses = call.node->int_or("reverse", 0) != 0;
  return with_computed_type(input.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = input.as<T>();
    T* to = call.outputs[0].as<T>();
    execute::in_parallel(team_for(call, input.elements()), lanes.outer * lanes.inner,
                         [&](std::int64_t first, std::int64_t last) {
                           for (std::int64_t i = first; i < last; ++i) {
                             const std::int64_t start =
                                 i / lanes.inner * lanes.length * lanes.inner + i % lanes.inner;
                             sum_lane(from + start, to + start, lanes, excludes, reverses);
                           }
                         });
  });
}

// Seen as [outer, first axis, between, second axis, inner]: rows of `inner` are moved.
bool reverse_sequence(const DirectCall& call) {
  const DirectOperand& input = call.input(0);
  const DirectOperand& lengths = call.input(1);
  const auto batch = normalized_axis(call.node->int_or("batch_axis", 1), input.dims.size());
  const auto time = normalized_axis(call.node->int_or("time_axis", 0), input.dims.size());
  if (!batch || !time || *batch == *time) return false;
  if (lengths.elements() != input.dims[*batch]) return false;
  const std::int64_t steps = input.dims[*time];
  for (std::int64_t i = 0; i < lengths.elements(); ++i) {
    if (integer_at(lengths, i) < 0 || integer_at(lengths, i) > steps) return false;
  }
  const std::span<const std::int64_t> dims(input.dims);
  const std::size_t near = std::max(*batch, *time);
  const Lanes by_time = lanes_along(dims, *time);
  const Lanes by_batch = lanes_along(dims, *batch);
  const std::int64_t row = product_or_zero(dims.subspan(near + 1));
  const std::int64_t bytes = row * input.element_bytes();
  const std::int64_t rows = input.elements() / row;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = i * row;
    const std::int64_t length = integer_at(lengths, at / by_batch.inner % by_batch.length);
    const std::int64_t step = at / by_time.inner % steps;
    const std::int64_t from = step < length ? length - 1 - step : step;
    const std::int64_t source = i + (from - step) * (by_time.inner / row);
    std::memcpy(call.outputs[0].bytes + i * bytes, input.bytes + source * bytes,
                static_cast<std::size_t>(bytes));
  }
  return true;
}

}  // namespace assay::cpu
