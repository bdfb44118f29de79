// Ops of one tensor, element by element: Neg, Abs, Sign, Floor, Ceil, Round, Sqrt, Not, Relu, Clip.
#include <cmath>
#include <optional>

#include "kernels/elements.h"
#include "kernels/families.h"

namespace assay::kernels {

namespace {

struct Negative {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0 - static_cast<std::uint64_t>(a));
    else
      return -a;
  }
};
struct Absolute {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else
      return a < T{0} ? Negative{}(a) : a;
  }
};
struct Sign {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>((a > T{0} ? 1 : 0) - (a < T{0} ? 1 : 0));
  }
};
struct Floor {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::floor(a);
    else
      return a;
  }
};
struct Ceiling {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::ceil(a);
    else
      return a;
  }
};
// Halves go to the even neighbour, as in numpy.
struct Round {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::nearbyint(a);
    else
      return a;
  }
};
struct SquareRoot {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::sqrt(a);
    else
      fail_bad_input("Sqrt of integers is not defined");
  }
};
struct Rectified {
  template <typename T>
  T operator()(T a) const {
    return a < T{0} ? T{0} : a;
  }
};
struct LogicalNot {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(a == T{0} ? 1 : 0);
  }
};

template <typename Op>
std::vector<Tensor> unary(const KernelCall& call) {
  const Tensor& input = call.input(0);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(input);
    for (T& value : values) value = Op{}(value);
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), values)};
  });
}

// Since opset 11 the bounds are inputs; before, attributes.
template <typename T>
std::optional<T> bound(const KernelCall& call, std::size_t input, const char* attribute) {
  if (call.has(input)) {
    const Tensor& scalar = call.input(input);
    if (scalar.elements() != 1 || scalar.type() != call.input(0).type())
      call.fail("{} is not a scalar of the input's type", attribute);
    return load<T>(scalar).front();
  }
  [[maybe_unused]] const auto* number = call.node.get<float>(attribute);
  if constexpr (std::is_floating_point_v<T>) {
    if (number != nullptr) return static_cast<T>(*number);
  }
  return std::nullopt;
}

std::vector<Tensor> clip(const KernelCall& call) {
  const Tensor& input = call.input(0);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto low = bound<T>(call, 1, "min");
    const auto high = bound<T>(call, 2, "max");
    auto values = load<T>(input);
    for (T& value : values) {
      if (low && value < *low) value = *low;
      if (high && value > *high) value = *high;
    }
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), values)};
  });
}

}  // namespace

void add_unary_kernels(KernelTable& table) {
  table["Neg"] = unary<Negative>;
  table["Abs"] = unary<Absolute>;
  table["Sign"] = unary<Sign>;
  table["Floor"] = unary<Floor>;
  table["Ceil"] = unary<Ceiling>;
  table["Round"] = unary<Round>;
  table["Sqrt"] = unary<SquareRoot>;
  table["Relu"] = unary<Rectified>;
  table["Clip"] = clip;
  table["Not"] = unary<LogicalNot>;
}

}  // namespace assay::kernels
