// What the ops of typed.h compute, as the plain kernels define it.
#include <cmath>
#include <map>

#include "base/number_cast.h"
#include "execute/cpu/kernels/direct_types.h"
#include "execute/cpu/kernels/typed.h"
#include "kernels/activation.h"
#include "kernels/numbers.h"

namespace assay::cpu {

namespace {

using kernels::wrapping_difference;
using kernels::wrapping_product;
using kernels::wrapping_sum;

template <typename T, typename R, typename Function>
void map_one(const TypedRow& row, Function function) {
  const T* a = reinterpret_cast<const T*>(row.operands[0]);
  R* to = reinterpret_cast<R*>(row.result);
  const std::int64_t step = row.strides[0];
  if (step == 1) {
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(a[i]);
  } else {
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(a[i * step]);
  }
}

template <typename T, typename R, typename Function>
void map_two(const TypedRow& row, Function function) {
  const T* a = reinterpret_cast<const T*>(row.operands[0]);
  const T* b = reinterpret_cast<const T*>(row.operands[1]);
  R* to = reinterpret_cast<R*>(row.result);
  const std::int64_t a_step = row.strides[0];
  const std::int64_t b_step = row.strides[1];
  if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(a[i], b[i]);
  } else if (a_step == 1 && b_step == 0) {
    const T number = *b;
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(a[i], number);
  } else if (a_step == 0 && b_step == 1) {
    const T number = *a;
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(number, b[i]);
  } else {
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = function(a[i * a_step], b[i * b_step]);
  }
}

template <typename T>
bool holds_zero(const TypedRow& row) {
  const T* b = reinterpret_cast<const T*>(row.operands[1]);
  for (std::int64_t i = 0; i < row.count; ++i) {
    if (b[i * row.strides[1]] == T{0}) return true;
  }
  return false;
}

// Comparisons and logic.
struct Equal {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return a == b; }
};
struct Less {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return a < b; }
};
struct LessOrEqual {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return a <= b; }
};
struct Greater {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return a > b; }
};
struct GreaterOrEqual {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return a >= b; }
};
struct And {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return (a != 0) & (b != 0); }
};
struct Or {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return (a != 0) | (b != 0); }
};
struct Xor {
  static constexpr bool kGivesTruths = true;
  static auto run(auto a, auto b) { return (a != 0) != (b != 0); }
};

// Arithmetic.
struct Add {
  static constexpr bool kGivesTruths = false;
  static auto run(auto a, auto b) { return wrapping_sum(a, b); }
};
struct Sub {
  static constexpr bool kGivesTruths = false;
  static auto run(auto a, auto b) { return wrapping_difference(a, b); }
};
struct Mul {
  static constexpr bool kGivesTruths = false;
  static auto run(auto a, auto b) { return wrapping_product(a, b); }
};
template <typename T>
bool is_minus_one(T number) {
  return std::is_signed_v<T> && number == static_cast<T>(-1);
}
struct Div {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (is_minus_one(b)) return wrapping_difference(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
// With the sign of the dividend.
struct Remainder {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      return is_minus_one(b) ? T{0} : static_cast<T>(a % b);
    }
  }
};
// With the sign of the divisor, but of floats.
struct Mod {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    const T rest = Remainder::run(a, b);
    if constexpr (std::is_floating_point_v<T>) {
      return rest;
    } else {
      return rest == 0 || (rest < 0) == (b < 0) ? rest : static_cast<T>(rest + b);
    }
  }
};
struct Max {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    return a != a ? a : (b > a || b != b ? b : a);
  }
};
struct Min {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    return a != a ? a : (b < a || b != b ? b : a);
  }
};
// Of floats: computed in double and rounded once.
struct Pow {
  static constexpr bool kGivesTruths = false;
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};

template <typename T, typename Op>
bool binary_row(const TypedRow& row) {
  using R = std::conditional_t<Op::kGivesTruths, std::uint8_t, T>;
  constexpr bool kDivides =
      std::is_same_v<Op, Div> || std::is_same_v<Op, Mod> || std::is_same_v<Op, Remainder>;
  if constexpr (kDivides && std::is_integral_v<T>) {
    if (holds_zero<T>(row)) return false;
  }
  map_two<T, R>(row, [](T a, T b) { return static_cast<R>(Op::run(a, b)); });
  return true;
}

template <typename Op>
TypedOp binary_of(DataType type) {
  TypedOp op{.gives_truths = Op::kGivesTruths};
  with_computed_type(type, [&](auto zero) { op.run = binary_row<decltype(zero), Op>; });
  return op;
}

template <typename Op>
TypedOp binary_of_truths(DataType type) {
  return type == DataType::Bool ? TypedOp{binary_row<std::uint8_t, Op>, true} : TypedOp{};
}

template <typename Op>
TypedOp comparison_of(DataType type) {
  return type == DataType::Bool ? binary_of_truths<Op>(type) : binary_of<Op>(type);
}

TypedOp power_of(DataType type) {
  if (type == DataType::Float32) return {binary_row<float, Pow>, false};
  if (type == DataType::Float64) return {binary_row<double, Pow>, false};
  return {};
}

// Of one operand.
struct Neg {
  static auto run(auto a) { return wrapping_difference(decltype(a){0}, a); }
};
struct Abs {
  template <typename T>
  static T run(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(a);
    } else {
      return a < T{0} ? wrapping_difference(T{0}, a) : a;
    }
  }
};
struct Sign {
  template <typename T>
  static T run(T a) {
    return static_cast<T>((a > T{0} ? 1 : 0) - (a < T{0} ? 1 : 0));
  }
};
struct Relu {
  template <typename T>
  static T run(T a) {
    return a < T{0} ? T{0} : a;
  }
};

template <typename T, typename Op>
bool unary_row(const TypedRow& row) {
  map_one<T, T>(row, [](T a) { return Op::run(a); });
  return true;
}

template <typename Op>
TypedOp unary_of(DataType type) {
  TypedOp op;
  with_computed_type(type, [&](auto zero) { op.run = unary_row<decltype(zero), Op>; });
  return op;
}

// Wrapping differences would lose the sign of a zero.
template <>
TypedOp unary_of<Neg>(DataType type) {
  if (type == DataType::Float64)
    return {[](const TypedRow& row) {
      map_one<double, double>(row, [](double a) { return -a; });
      return true;
    }};
  TypedOp op;
  with_computed_type(type, [&](auto zero) {
    if constexpr (std::is_integral_v<decltype(zero)>) op.run = unary_row<decltype(zero), Neg>;
  });
  return op;
}

// Functions of real numbers; alpha and beta are attributes.
template <auto Function>
TypedOp real_function(DataType type) {
  if (type == DataType::Float32)
    return {[](const TypedRow& row) {
      map_one<float, float>(row, [&](float x) {
        return static_cast<float>(Function(static_cast<double>(x), row.numbers));
      });
      return true;
    }};
  if (type == DataType::Float64)
    return {[](const TypedRow& row) {
      map_one<double, double>(row, [&](double x) { return Function(x, row.numbers); });
      return true;
    }};
  return {};
}

using Numbers = std::array<float, 2>;

template <double (*Function)(double)>
double of_x(double x, const Numbers&) {
  return Function(x);
}

double thresholded(double x, const Numbers& numbers) {
  return kernels::thresholded(x, static_cast<double>(numbers[0]));
}

double mish(double x, const Numbers&) {
  return x * std::tanh(kernels::softplus(x));
}

double celu(double x, const Numbers& numbers) {
  const auto alpha = static_cast<double>(numbers[0]);
  return x < 0 ? alpha * std::expm1(x / alpha) : x;
}

double selu(double x, const Numbers& numbers) {
  return static_cast<double>(numbers[1]) * kernels::elu(x, static_cast<double>(numbers[0]));
}

TypedOp negation_of(DataType type) {
  if (type != DataType::Bool) return {};
  return {[](const TypedRow& row) {
            map_one<std::uint8_t, std::uint8_t>(
                row, [](std::uint8_t a) { return static_cast<std::uint8_t>(a == 0); });
            return true;
          },
          true};
}

TypedOp is_nan_of(DataType type) {
  if (type != DataType::Float32) return {};
  return {[](const TypedRow& row) {
            map_one<float, std::uint8_t>(row,
                                         [](float a) { return static_cast<std::uint8_t>(a != a); });
            return true;
          },
          true};
}

using Finder = TypedOp (*)(DataType type);

TypedOp found_in(const std::map<std::string, Finder>& table, const std::string& op, DataType type) {
  const auto found = table.find(op);
  return found == table.end() ? TypedOp{} : found->second(type);
}

template <typename T>
bool where_row(const TypedRow& row) {
  const auto* mask = reinterpret_cast<const std::uint8_t*>(row.operands[0]);
  const T* yes = reinterpret_cast<const T*>(row.operands[1]);
  const T* no = reinterpret_cast<const T*>(row.operands[2]);
  T* to = reinterpret_cast<T*>(row.result);
  for (std::int64_t i = 0; i < row.count; ++i) {
    to[i] = mask[i * row.strides[0]] != 0 ? yes[i * row.strides[1]] : no[i * row.strides[2]];
  }
  return true;
}

template <typename T>
bool clip_row(const TypedRow& row) {
  const T low = *reinterpret_cast<const T*>(row.operands[1]);
  const T high = *reinterpret_cast<const T*>(row.operands[2]);
  map_one<T, T>(row, [=](T value) {
    const T raised = value < low ? low : value;
    return raised > high ? high : raised;
  });
  return true;
}

template <typename From, typename To>
void convert(const std::byte* from, std::byte* to, std::int64_t first, std::int64_t last) {
  const auto* numbers = reinterpret_cast<const From*>(from);
  auto* results = reinterpret_cast<To*>(to);
  for (std::int64_t i = first; i < last; ++i) results[i] = number_cast<To>(numbers[i]);
}

template <typename From>
void convert_to_truths(const std::byte* from, std::byte* to, std::int64_t first,
                       std::int64_t last) {
  const auto* numbers = reinterpret_cast<const From*>(from);
  auto* results = reinterpret_cast<std::uint8_t*>(to);
  for (std::int64_t i = first; i < last; ++i) results[i] = numbers[i] != From{0} ? 1 : 0;
}

}  // namespace

TypedOp typed_unary(const std::string& op, DataType type) {
  static const std::map<std::string, Finder> table = {
      {"Neg", unary_of<Neg>},
      {"Abs", unary_of<Abs>},
      {"Sign", unary_of<Sign>},
      {"Relu", unary_of<Relu>},
      {"Not", negation_of},
      {"IsNaN", is_nan_of},
      {"Floor", real_function<of_x<std::floor>>},
      {"Ceil", real_function<of_x<std::ceil>>},
      {"Round", real_function<of_x<std::nearbyint>>},
      {"Sqrt", real_function<of_x<std::sqrt>>},
      {"Exp", real_function<of_x<std::exp>>},
      {"Log", real_function<of_x<std::log>>},
      {"Sin", real_function<of_x<std::sin>>},
      {"Cos", real_function<of_x<std::cos>>},
      {"Tan", real_function<of_x<std::tan>>},
      {"Asin", real_function<of_x<std::asin>>},
      {"Acos", real_function<of_x<std::acos>>},
      {"Atan", real_function<of_x<std::atan>>},
      {"Sinh", real_function<of_x<std::sinh>>},
      {"Cosh", real_function<of_x<std::cosh>>},
      {"Asinh", real_function<of_x<std::asinh>>},
      {"Acosh", real_function<of_x<std::acosh>>},
      {"Atanh", real_function<of_x<std::atanh>>},
      {"Tanh", real_function<of_x<std::tanh>>},
      {"Mish", real_function<mish>},
      {"Celu", real_function<celu>},
      {"Selu", real_function<selu>},
      {"ThresholdedRelu", real_function<thresholded>},
  };
  return found_in(table, op, type);
}

TypedOp typed_binary(const std::string& op, DataType type) {
  static const std::map<std::string, Finder> table = {
      {"Equal", comparison_of<Equal>},
      {"Less", comparison_of<Less>},
      {"LessOrEqual", comparison_of<LessOrEqual>},
      {"Greater", comparison_of<Greater>},
      {"GreaterOrEqual", comparison_of<GreaterOrEqual>},
      {"And", binary_of_truths<And>},
      {"Or", binary_of_truths<Or>},
      {"Xor", binary_of_truths<Xor>},
      {"Add", binary_of<Add>},
      {"Sub", binary_of<Sub>},
      {"Mul", binary_of<Mul>},
      {"Div", binary_of<Div>},
      {"Mod", binary_of<Mod>},
      {"Remainder", binary_of<Remainder>},
      {"Max", binary_of<Max>},
      {"Min", binary_of<Min>},
      {"Pow", power_of},
  };
  return found_in(table, op, type);
}

TypedOp typed_where(DataType type) {
  if (bits(type) % 8 != 0 || bits(type) > 64 || type == DataType::String) return {};
  TypedOp op;
  with_element_size(type, [&](auto zero) { op.run = where_row<decltype(zero)>; });
  return op;
}

TypedOp typed_clip(DataType type) {
  TypedOp op;
  with_computed_type(type, [&](auto zero) { op.run = clip_row<decltype(zero)>; });
  return op;
}

TypedConversion typed_conversion(DataType from, DataType to) {
  TypedConversion found = nullptr;
  with_stored_type(from, [&](auto from_zero) {
    using From = decltype(from_zero);
    if (to == DataType::Bool) {
      found = convert_to_truths<From>;
      return;
    }
    with_stored_type(to, [&](auto to_zero) { found = convert<From, decltype(to_zero)>; });
  });
  return found;
}

}  // namespace assay::cpu
