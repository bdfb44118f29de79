#include "infer/dims.h"

#include <algorithm>

#include "base/checked.h"

namespace assay::infer {

Dim added(const InferContext& context, const Dim& a, std::int64_t b) {
  if (b == 0) return a;
  if (!a.is_known()) return Dim();
  const auto sum = checked_add(a.value(), b);
  if (!sum || *sum < 0) context.fail("dimension {} plus {} is no dimension", a.value(), b);
  return Dim(*sum);
}

Dim sum_of(const InferContext& context, const Dim& a, const Dim& b) {
  if (b.is_known()) return added(context, a, b.value());
  return a.is_known() && a.value() == 0 ? b : Dim();
}

Dim multiplied(const InferContext& context, const Dim& a, const Dim& b) {
  const auto is = [](const Dim& dim, std::int64_t number) { return dim.value() == number; };
  if (is(a, 0) || is(b, 0)) return Dim(0);
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (!a.is_known() || !b.is_known()) return Dim();
  const auto result = checked_multiply(a.value(), b.value());
  if (!result) context.fail("{} times {} overflows", a.value(), b.value());
  return Dim(*result);
}

Dim divided(const InferContext& context, const Dim& a, std::int64_t b, const char* what) {
  if (b <= 0) context.fail("{} {} is not positive", what, b);
  if (b == 1) return a;
  if (!a.is_known()) return Dim();
  if (a.value() % b != 0)
    context.fail("dimension {} is not a multiple of {} {}", a.value(), what, b);
  return Dim(a.value() / b);
}

Dim product(const InferContext& context, std::span<const Dim> dims) {
  Dim result(1);
  for (const Dim& dim : dims) {
    if (dim.is_known() && dim.value() == 0) return Dim(0);
  }
  for (const Dim& dim : dims) result = multiplied(context, result, dim);
  return result;
}

Dim equal_dims(const InferContext& context, const Dim& a, const Dim& b, const char* what) {
  if (a.is_known() && b.is_known() && a.value() != b.value()) {
    context.fail("{}: {} against {}", what, a.value(), b.value());
  }
  if (a.is_known()) return a;
  if (b.is_known()) return b;
  return a.is_symbol() ? a : b;
}

Dim either_dim(const Dim& a, const Dim& b) {
  return a == b ? a : Dim();
}

namespace {

Dim broadcast_dim(const InferContext& context, const Shape& a, const Shape& b, const Dim& left,
                  const Dim& right) {
  if (left == right || right.value() == 1) return left;
  if (left.value() == 1) return right;
  if (left.is_known() && right.is_known()) {
    context.fail("shapes {} and {} do not broadcast: {} against {}", a.to_string(), b.to_string(),
                 left.value(), right.value());
  }
  if (left.is_known()) return left;
  return right.is_known() ? right : Dim();
}

}  // namespace

Shape broadcast(const InferContext& context, const Shape& a, const Shape& b) {
  Shape result = unknown_shape(std::max(a.rank(), b.rank()));
  const Dim one(1);
  for (std::size_t back = 1; back <= result.rank(); ++back) {
    const Dim& left = back <= a.rank() ? a[a.rank() - back] : one;
    const Dim& right = back <= b.rank() ? b[b.rank() - back] : one;
    result[result.rank() - back] = broadcast_dim(context, a, b, left, right);
  }
  return result;
}

std::optional<Shape> broadcast_inputs(const InferContext& context, std::size_t first,
                                      std::size_t count) {
  Shape result;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!context.has(i)) continue;
    const Shape* shape = context.shape(i);
    if (shape == nullptr) return std::nullopt;
    result = broadcast(context, result, *shape);
  }
  return result;
}

void check_broadcasts_to(const InferContext& context, const Shape& from, const Shape& to,
                         const char* what) {
  const Shape both = broadcast(context, to, from);
  bool is_larger = both.rank() != to.rank();
  for (std::size_t axis = 0; !is_larger && axis < to.rank(); ++axis)
    is_larger = to[axis].is_known() && both[axis] != to[axis];
  if (is_larger)
    context.fail("{} {} does not broadcast to {}", what, from.to_string(), to.to_string());
}

void check_shape(const InferContext& context, std::size_t input, const Shape& expected) {
  if (!context.has(input)) return;
  const Shape* given = context.shape(input);
  if (given == nullptr) return;
  bool fits = given->rank() == expected.rank();
  for (std::size_t axis = 0; fits && axis < expected.rank(); ++axis) {
    const bool are_known = (*given)[axis].is_known() && expected[axis].is_known();
    fits = !are_known || (*given)[axis] == expected[axis];
  }
  if (!fits) {
    context.fail("input {} is {}, must be {}", input, given->to_string(), expected.to_string());
  }
}

std::vector<Dim> dims_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

std::optional<Shape> maybe(const Shape* shape) {
  return shape != nullptr ? std::optional(*shape) : std::nullopt;
}

Shape unknown_shape(std::size_t rank) {
  return Shape(std::vector<Dim>(rank));
}

}  // namespace assay::infer
