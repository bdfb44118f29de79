// Cast and CastLike between numbers. A float beyond the integer's range becomes the nearest one,
// NaN becomes 0; integers wrap; anything but zero is true.
#include <cmath>
#include <limits>

#include "kernels/elements.h"
#include "kernels/families.h"

namespace assay {

namespace {

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

Tensor cast_to(const Tensor& input, DataType wanted) {
  if (input.type() == wanted) return input;
  return with_number_type(input.type(), [&](auto from_zero) {
    using From = decltype(from_zero);
    const auto values = load<From>(input);
    return with_number_type(wanted, [&](auto to_zero) {
      using To = decltype(to_zero);
      std::vector<To> results(values.size());
      const bool is_truth = wanted == DataType::Bool;
      for (std::size_t i = 0; i < values.size(); ++i) {
        results[i] =
            is_truth ? static_cast<To>(values[i] != From{0} ? 1 : 0) : converted<To>(values[i]);
      }
      return store<To>(wanted, input.dims(), results);
    });
  });
}

std::vector<Tensor> cast(const KernelCall& call) {
  const auto wanted = data_type_from_onnx(call.node.int_or("to", 0));
  if (!wanted) call.fail("attribute 'to' names no element type");
  return {cast_to(call.input(0), *wanted)};
}

std::vector<Tensor> cast_like(const KernelCall& call) {
  return {cast_to(call.input(0), call.input(1).type())};
}

}  // namespace

void add_cast_kernels(KernelTable& table) {
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
}

}  // namespace assay
