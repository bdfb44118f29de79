// Arithmetic on dimensions that may be unknown. Unknown operands give unknown results; overflow is
// an Error that names the node.
#pragma once

#include <span>

#include "infer/context.h"

namespace assay::infer {

Dim added(const InferContext& context, const Dim& a, std::int64_t b);
Dim sum_of(const InferContext& context, const Dim& a, const Dim& b);
Dim multiplied(const InferContext& context, const Dim& a, const Dim& b);
// Fails unless `b` divides `a`.
Dim divided(const InferContext& context, const Dim& a, std::int64_t b, const char* what);
Dim product(const InferContext& context, std::span<const Dim> dims);

// Two dimensions that must be equal: the known one of both. On failure the Error names both
// numbers.
Dim equal_dims(const InferContext& context, const Dim& a, const Dim& b, const char* what);
// Two dimensions, one of which applies at run time: unknown if they differ.
Dim either_dim(const Dim& a, const Dim& b);

Shape broadcast(const InferContext& context, const Shape& a, const Shape& b);
// The common shape of all inputs from `first` on that are there; nothing when a rank is not known.
std::optional<Shape> broadcast_inputs(const InferContext& context, std::size_t first,
                                      std::size_t count);

// Fails unless `from` can be broadcast to `to` without making it larger.
void check_broadcasts_to(const InferContext& context, const Shape& from, const Shape& to,
                         const char* what);
// Fails unless the shape of an input is `expected`, as far as both are known.
void check_shape(const InferContext& context, std::size_t input, const Shape& expected);

std::vector<Dim> dims_of(const Shape& shape);
std::optional<Shape> maybe(const Shape* shape);
Shape unknown_shape(std::size_t rank);

}  // namespace assay::infer
