// Add, Sub, Mul, Div, Mod, Pow, and the variadic Min, Max, Sum, Mean, all with broadcasting.
#include <cmath>

#include "kernels/broadcast.h"
#include "kernels/families.h"
#include "kernels/numbers.h"

namespace assay::kernels {

Dims operand_dims(const KernelCall& call, const Dims& first, const Dims& second) {
  const auto* given = call.node.get<std::int64_t>("axis");
  if (call.opset >= 7 || given == nullptr || second.size() >= first.size()) return second;
  const auto axis = normalized_axis(*given, first.size());
  if (!axis || *axis + second.size() > first.size())
    call.fail("axis {} does not fit {} and {}", *given, join_dims(first), join_dims(second));
  Dims dims = second;
  dims.resize(first.size() - *axis, 1);
  return dims;
}

namespace {

struct Add {
  template <typename T>
  T operator()(const KernelCall&, T a, T b) const {
    return wrapping_sum(a, b);
  }
};

struct Sub {
  template <typename T>
  T operator()(const KernelCall&, T a, T b) const {
    return wrapping_difference(a, b);
  }
};

struct Mul {
  template <typename T>
  T operator()(const KernelCall&, T a, T b) const {
    return wrapping_product(a, b);
  }
};

// The smallest integer divided by -1 does not exist; it wraps to itself.
template <typename T>
bool is_minus_one(T number) {
  if constexpr (std::is_signed_v<T>)
    return number == -1;
  else
    return false;
}

struct Div {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) call.fail("integer division by zero");
      if (is_minus_one(b)) return wrapping_difference(T{0}, a);
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

struct Mod {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) call.fail("integer division by zero");
      if (is_minus_one(b)) return 0;
      const T rest = static_cast<T>(a % b);
      if (rest == 0 || (rest < 0) == (b < 0)) return rest;
      const bool follows_divisor = call.node.int_or("fmod", 0) == 0;
      return follows_divisor ? static_cast<T>(rest + b) : rest;
    }
  }
};

template <typename T>
T integer_power(const KernelCall& call, T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) call.fail("0 to the power of {} is a division by zero", exponent);
    if (base == 1) return 1;
    if (is_minus_one(base)) return static_cast<T>(exponent % 2 == 0 ? 1 : base);
    return 0;
  }
  T result = 1;
  T square = base;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = wrapping_product(result, square);
    square = wrapping_product(square, square);
  }
  return result;
}

// The exponent may have another type than the base; the result has the base's.
std::vector<Tensor> power(const KernelCall& call) {
  const Tensor& base = call.input(0);
  const Tensor& exponent = call.input(1);
  const Broadcast pairs(call, base.dims(), operand_dims(call, base.dims(), exponent.dims()));
  return with_number_type(base.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto bases = load<T>(base);
    std::vector<T> results(pairs.elements());
    if (std::is_integral_v<T> && !is_floating(exponent.type())) {
      const auto exponents = exponent.to_int64();
      pairs.for_each([&](std::size_t i, std::size_t a, std::size_t b) {
        if constexpr (std::is_integral_v<T>)
          results[i] = integer_power(call, bases[a], exponents[b]);
      });
    } else {
      const auto exponents = exponent.to_double();
      pairs.for_each([&](std::size_t i, std::size_t a, std::size_t b) {
        results[i] = from_real<T>(std::pow(static_cast<double>(bases[a]), exponents[b]));
      });
    }
    return std::vector<Tensor>{store<T>(base.type(), pairs.dims(), results)};
  });
}

struct Least {
  template <typename T>
  T operator()(const KernelCall&, T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(a)) return a;
    return b < a || b != b ? b : a;
  }
};

struct Greatest {
  template <typename T>
  T operator()(const KernelCall&, T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(a)) return a;
    return b > a || b != b ? b : a;
  }
};

template <typename Op>
std::vector<Tensor> binary(const KernelCall& call) {
  return {combined<Op>(call, call.input(0), call.input(1))};
}

template <typename Op>
std::vector<Tensor> variadic(const KernelCall& call) {
  Tensor result = call.input(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    result = combined<Op>(call, result, call.input(i));
  }
  return {std::move(result)};
}

std::vector<Tensor> mean(const KernelCall& call) {
  const Tensor sum = variadic<Add>(call).front();
  return with_number_type(sum.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(sum);
    for (T& value : values) value = static_cast<T>(value / static_cast<T>(call.inputs.size()));
    return std::vector<Tensor>{store<T>(sum.type(), sum.dims(), values)};
  });
}

}  // namespace

void add_arithmetic_kernels(KernelTable& table) {
  table["Add"] = binary<Add>;
  table["Sub"] = binary<Sub>;
  table["Mul"] = binary<Mul>;
  table["Div"] = binary<Div>;
  table["Mod"] = binary<Mod>;
  table["Pow"] = power;
  table["Min"] = variadic<Least>;
  table["Max"] = variadic<Greatest>;
  table["Sum"] = variadic<Add>;
  table["Mean"] = mean;
}

}  // namespace assay::kernels
