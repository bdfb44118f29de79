// Comparisons (Equal, Less, Greater, …), And, Or, Xor, and Where.
#include "kernels/broadcast.h"
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

struct Equal {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct And {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != 0 && b != 0;
  }
};
struct Or {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != 0 || b != 0;
  }
};
struct Xor {
  template <typename T>
  bool operator()(T a, T b) const {
    return (a != 0) != (b != 0);
  }
};

template <typename Op>
std::vector<Tensor> compare(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (a.type() != b.type())
    call.fail("inputs have types {} and {}", name(a.type()), name(b.type()));
  const Broadcast pairs(call, a.dims(), operand_dims(call, a.dims(), b.dims()));
  std::vector<std::uint8_t> truths(pairs.elements());
  with_number_type(a.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto left = load<T>(a);
    const auto right = load<T>(b);
    pairs.for_each([&](std::size_t i, std::size_t l, std::size_t r) {
      truths[i] = Op{}(left[l], right[r]) ? 1 : 0;
    });
  });
  return {Tensor::of<std::uint8_t>(DataType::Bool, pairs.dims(), truths)};
}

std::vector<Tensor> equal(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (a.type() != DataType::String || b.type() != DataType::String) return compare<Equal>(call);
  const Broadcast pairs(call, a.dims(), b.dims());
  std::vector<std::uint8_t> truths(pairs.elements());
  pairs.for_each([&](std::size_t i, std::size_t l, std::size_t r) {
    truths[i] = a.strings()[l] == b.strings()[r] ? 1 : 0;
  });
  return {Tensor::of<std::uint8_t>(DataType::Bool, pairs.dims(), truths)};
}

std::vector<Tensor> where(const KernelCall& call) {
  const Tensor& condition = call.input(0);
  const Tensor& yes = call.input(1);
  const Tensor& no = call.input(2);
  if (yes.type() != no.type())
    call.fail("choices have types {} and {}", name(yes.type()), name(no.type()));
  const Broadcast choices(call, yes.dims(), no.dims());
  const Broadcast all(call, condition.dims(), choices.dims());
  const auto truths = condition.to_int64();
  const StridedWalk<3> walk(all.dims(), {broadcast_strides(condition.dims(), all.dims()),
                                         broadcast_strides(yes.dims(), all.dims()),
                                         broadcast_strides(no.dims(), all.dims())});
  ElementWriter result(call, yes.type(), all.dims());
  walk.for_each([&](std::size_t position, const StridedWalk<3>::Offsets& at) {
    const bool takes_yes = truths[static_cast<std::size_t>(at[0])] != 0;
    result.copy(position, takes_yes ? yes : no, takes_yes ? at[1] : at[2]);
  });
  return {result.finish()};
}

}  // namespace

void add_comparison_kernels(KernelTable& table) {
  table["Equal"] = equal;
  table["Less"] = compare<Less>;
  table["LessOrEqual"] = compare<LessOrEqual>;
  table["Greater"] = compare<Greater>;
  table["GreaterOrEqual"] = compare<GreaterOrEqual>;
  table["And"] = compare<And>;
  table["Or"] = compare<Or>;
  table["Xor"] = compare<Xor>;
  table["Where"] = where;
}

}  // namespace assay::kernels
