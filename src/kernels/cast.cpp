// Cast and CastLike. A float beyond the integer's range becomes the nearest one, NaN becomes 0;
// integers wrap; anything but zero is true. Numbers become the shortest string that
// converts back to the same number.
#include <charconv>

#include "base/number_cast.h"
#include "kernels/elements.h"
#include "kernels/families.h"

namespace assay::kernels {

namespace {

std::string written(auto number) {
  if constexpr (std::is_floating_point_v<decltype(number)>) {
    if (number != number) return "NaN";
    if (number - number != 0) return number > 0 ? "INF" : "-INF";
  }
  return fmt::format("{}", number);
}

template <typename T>
T read(const KernelCall& call, const std::string& text) {
  T number{};
  const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* last = text.data() + text.size();
  const auto result = std::from_chars(first, last, number);
  if (result.ec != std::errc() || result.ptr != last)
    call.fail("'{}' is not a {}", text.substr(0, 40), std::is_integral_v<T> ? "integer" : "number");
  return number;
}

Tensor cast_to_strings(const Tensor& input) {
  return with_number_type(input.type(), [&](auto zero) {
    std::vector<std::string> texts;
    for (const auto number : load<decltype(zero)>(input)) {
      const bool is_truth = input.type() == DataType::Bool;
      texts.push_back(is_truth ? (number != 0 ? "True" : "False") : written(number));
    }
    return Tensor(input.dims(), std::move(texts));
  });
}

Tensor cast_from_strings(const KernelCall& call, const Tensor& input, DataType wanted) {
  return with_number_type(wanted, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> numbers;
    for (const std::string& text : input.strings()) numbers.push_back(read<T>(call, text));
    return store<T>(wanted, input.dims(), numbers);
  });
}

Tensor cast_numbers(const Tensor& input, DataType wanted) {
  return with_number_type(input.type(), [&](auto from_zero) {
    using From = decltype(from_zero);
    const auto values = load<From>(input);
    return with_number_type(wanted, [&](auto to_zero) {
      using To = decltype(to_zero);
      std::vector<To> results(values.size());
      const bool is_truth = wanted == DataType::Bool;
      for (std::size_t i = 0; i < values.size(); ++i) {
        results[i] =
            is_truth ? static_cast<To>(values[i] != From{0} ? 1 : 0) : number_cast<To>(values[i]);
      }
      return store<To>(wanted, input.dims(), results);
    });
  });
}

Tensor cast_to(const KernelCall& call, DataType wanted) {
  const Tensor& input = call.input(0);
  if (input.type() == wanted) return input;
  if (wanted == DataType::String) return cast_to_strings(input);
  if (input.type() == DataType::String) return cast_from_strings(call, input, wanted);
  return cast_numbers(input, wanted);
}

std::vector<Tensor> cast(const KernelCall& call) {
  const auto wanted = data_type_from_onnx(call.node.int_or("to", 0));
  if (!wanted) call.fail("attribute 'to' names no element type");
  return {cast_to(call, *wanted)};
}

std::vector<Tensor> cast_like(const KernelCall& call) {
  return {cast_to(call, call.input(1).type())};
}

}  // namespace

void add_cast_kernels(KernelTable& table) {
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
}

}  // namespace assay::kernels
