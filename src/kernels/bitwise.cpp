// BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
#include <limits>

#include "kernels/broadcast.h"
#include "kernels/families.h"

namespace assay::kernels {

namespace {

struct BitAnd {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(a & b);
    call.fail("needs integers");
  }
};
struct BitOr {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(a | b);
    call.fail("needs integers");
  }
};
struct BitXor {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(a ^ b);
    call.fail("needs integers");
  }
};
// Shifting by the whole width or more gives 0.
struct ShiftLeft {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_unsigned_v<T>) {
      if (b >= std::numeric_limits<T>::digits) return 0;
      return static_cast<T>(static_cast<std::uint64_t>(a) << b);
    }
    call.fail("needs unsigned integers");
  }
};
struct ShiftRight {
  template <typename T>
  T operator()(const KernelCall& call, T a, T b) const {
    if constexpr (std::is_unsigned_v<T>)
      return b >= std::numeric_limits<T>::digits ? T{0} : static_cast<T>(a >> b);
    call.fail("needs unsigned integers");
  }
};

template <typename Op>
std::vector<Tensor> bitwise(const KernelCall& call) {
  return {combined<Op>(call, call.input(0), call.input(1))};
}

std::vector<Tensor> shift(const KernelCall& call) {
  const std::string direction = call.node.string_or("direction", "");
  if (direction == "LEFT") return bitwise<ShiftLeft>(call);
  if (direction == "RIGHT") return bitwise<ShiftRight>(call);
  call.fail("direction '{}' is neither LEFT nor RIGHT", direction);
}

std::vector<Tensor> bitwise_not(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (!is_integer(input.type())) call.fail("needs integers");
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(input);
    if constexpr (std::is_integral_v<T>) {
      for (T& value : values) value = static_cast<T>(~value);
    }
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), values)};
  });
}

}  // namespace

void add_bitwise_kernels(KernelTable& table) {
  table["BitShift"] = shift;
  table["BitwiseAnd"] = bitwise<BitAnd>;
  table["BitwiseOr"] = bitwise<BitOr>;
  table["BitwiseXor"] = bitwise<BitXor>;
  table["BitwiseNot"] = bitwise_not;
}

}  // namespace assay::kernels
