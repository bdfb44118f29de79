#include "execute/random_graph.h"

#include <algorithm>
#include <random>

#include "assay/builder.h"

namespace assay {

namespace {

using Ints = std::vector<std::int64_t>;

struct Known {
  ValueId value;
  Ints dims;
};

class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(seed), builder_("random", seed) {}

  Graph write() {
    images_ = between(0, 2) != 0;
    const Ints dims =
        images_ ? Ints{between(1, 2), pick({1, 3, 8, 16, 24}), between(5, 14), between(5, 14)}
                : Ints{between(1, 2), between(1, 9), pick({4, 8, 16, 20})};
    add(builder_.input("input", DataType::Float32, Shape(dims)), dims);
    const std::int64_t nodes = between(3, 10);
    for (std::int64_t i = 0; i < nodes; ++i) add_layer();
    // Every value nobody reads is an output, and now and then one that somebody does.
    builder_.output(values_.back().value, "last");
    if (values_.size() > 3 && between(0, 3) == 0) {
      const Known& inner = values_[values_.size() / 2];
      if (inner.value != values_.back().value && inner.value != values_.front().value) {
        builder_.output(inner.value, "inner");
      }
    }
    return builder_.finish();
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t pick(const Ints& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  std::string name(const std::string& what) { return what + std::to_string(count_++); }
  void add(ValueId value, Ints dims) { values_.push_back({value, std::move(dims)}); }

  // Mostly the newest value, sometimes an older one, so that branches arise.
  const Known source() {
    const auto last = static_cast<std::int64_t>(values_.size()) - 1;
    return values_[static_cast<std::size_t>(between(0, 3) == 0 ? between(0, last) : last)];
  }

  void add_layer() {
    const Known from = source();
    switch (between(0, 9)) {
      case 0:
      case 1:
      case 2:
        return from.dims.size() == 4 ? add_convolution(from) : add_linear(from);
      case 3:
        return add_activation(from);
      case 4:
        return add_sum(from);
      case 5:
        return from.dims.size() == 4 ? add_pooling(from) : add_softmax(from);
      case 6:
        return add_scale(from);
      case 7:
        return add_transpose(from);
      case 8:
        return add_concat(from);
      default:
        return from.dims.size() == 4 ? add_batch_norm(from) : add_attention(from);
    }
  }

  void add_convolution(const Known& from) {
    const std::int64_t inputs = from.dims[1];
    const bool is_depthwise = between(0, 3) == 0;
    const std::int64_t groups = is_depthwise ? inputs : 1;
    const std::int64_t outputs = is_depthwise ? inputs : pick({4, 8, 16, 17, 32});
    const std::int64_t kernel = std::min({pick({1, 3, 3, 5}), from.dims[2], from.dims[3]});
    const std::int64_t stride = between(1, 2);
    const std::int64_t pad = kernel / 2;
    const std::string called = name("conv");
    const double bound = 1.0 / static_cast<double>(inputs / groups * kernel * kernel + 1);
    std::vector<ValueId> arguments = {
        from.value,
        builder_.weight(called + ".w", {outputs, inputs / groups, kernel, kernel}, bound * 3)};
    if (between(0, 1) == 0) arguments.push_back(builder_.weight(called + ".b", {outputs}, 0.5));
    const ValueId value = builder_.node(
        "Conv", called, arguments,
        {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}, {"group", groups}});
    add(value, {from.dims[0], outputs, (from.dims[2] + 2 * pad - kernel) / stride + 1,
                (from.dims[3] + 2 * pad - kernel) / stride + 1});
  }

  void add_linear(const Known& from) {
    const std::int64_t width = from.dims.back();
    const std::int64_t outputs = pick({3, 8, 16, 33});
    const std::string called = name("linear");
    const ValueId product = builder_.node(
        "MatMul", called,
        {from.value,
         builder_.weight(called + ".w", {width, outputs}, 1.0 / static_cast<double>(width))});
    Ints dims = from.dims;
    dims.back() = outputs;
    if (between(0, 3) == 0) return add(product, dims);
    add(builder_.node("Add", name("bias"),
                      {product, builder_.weight(called + ".b", {outputs}, 0.5)}),
        dims);
  }

  void add_activation(const Known& from) {
    static const char* kOps[] = {"Relu", "Sigmoid",  "Tanh", "LeakyRelu", "HardSwish",
                                 "Elu",  "Softplus", "Abs",  "Neg",       "Erf"};
    add(builder_.node(kOps[between(0, 9)], name("act"), {from.value}), from.dims);
  }

  void add_sum(const Known& from) {
    for (std::size_t i = values_.size(); i-- > 0;) {
      if (values_[i].dims != from.dims || values_[i].value == from.value) continue;
      static const char* kOps[] = {"Add", "Mul", "Sub", "Max"};
      return add(builder_.node(kOps[between(0, 3)], name("sum"), {from.value, values_[i].value}),
                 from.dims);
    }
    add_scale(from);
  }

  void add_scale(const Known& from) {
    Ints dims(from.dims.size(), 1);
    const auto axis =
        static_cast<std::size_t>(between(0, static_cast<std::int64_t>(dims.size()) - 1));
    dims[axis] = from.dims[axis];
    const std::string called = name("scale");
    const ValueId factor = between(0, 1) == 0 ? builder_.weight(called + ".f", dims, 1.0)
                                              : builder_.scalar(called + ".f", 0.75f);
    static const char* kOps[] = {"Mul", "Add", "Sub"};
    const bool is_first = between(0, 1) == 0;
    add(builder_.node(kOps[between(0, 2)], called,
                      is_first ? std::vector{from.value, factor} : std::vector{factor, from.value}),
        from.dims);
  }

  void add_pooling(const Known& from) {
    if (from.dims[2] < 3 || from.dims[3] < 3) return add_activation(from);
    if (between(0, 3) == 0) {
      return add(builder_.node("GlobalAveragePool", name("pool"), {from.value}),
                 {from.dims[0], from.dims[1], 1, 1});
    }
    const bool is_maximum = between(0, 1) == 0;
    const ValueId value = builder_.node(
        is_maximum ? "MaxPool" : "AveragePool", name("pool"), {from.value},
        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    add(value,
        {from.dims[0], from.dims[1], (from.dims[2] - 1) / 2 + 1, (from.dims[3] - 1) / 2 + 1});
  }

  void add_softmax(const Known& from) {
    const std::string called = name("norm");
    if (between(0, 1) == 0) {
      return add(builder_.node("Softmax", called, {from.value}, {{"axis", std::int64_t{-1}}}),
                 from.dims);
    }
    const Ints width = {from.dims.back()};
    // A large epsilon: rows of nearly equal numbers would turn rounding into signal.
    add(builder_.node("LayerNormalization", called,
                      {from.value, builder_.weight(called + ".g", width, 1.0),
                       builder_.weight(called + ".b", width, 1.0)},
                      {{"axis", std::int64_t{-1}}, {"epsilon", 0.1f}}),
        from.dims);
  }

  void add_transpose(const Known& from) {
    Ints order(from.dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    // A later layer wants the batch first and, of images, space for a window.
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    Ints dims = from.dims;
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    add(builder_.node("Transpose", name("turn"), {from.value}, {{"perm", order}}), dims);
  }

  void add_concat(const Known& from) {
    Ints dims = from.dims;
    dims[1] *= 2;
    if (dims[1] > 64) return add_activation(from);
    add(builder_.node("Concat", name("join"), {from.value, from.value},
                      {{"axis", std::int64_t{1}}}),
        dims);
  }

  void add_batch_norm(const Known& from) {
    const std::string called = name("bn");
    const Ints channels = {from.dims[1]};
    add(builder_.node("BatchNormalization", called,
                      {from.value, builder_.weight(called + ".g", channels, 1.0),
                       builder_.weight(called + ".b", channels, 1.0),
                       builder_.weight(called + ".m", channels, 0.5),
                       builder_.filled(called + ".v", channels, 0.7f)}),
        from.dims);
  }

  // x·xᵀ, softmax, times x.
  void add_attention(const Known& from) {
    const ValueId transposed =
        builder_.node("Transpose", name("keys"), {from.value}, {{"perm", Ints{0, 2, 1}}});
    const ValueId scores = builder_.node("MatMul", name("scores"), {from.value, transposed});
    const ValueId shares =
        builder_.node("Softmax", name("shares"), {scores}, {{"axis", std::int64_t{-1}}});
    add(builder_.node("MatMul", name("mixed"), {shares, from.value}), from.dims);
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<Known> values_;
  bool images_ = true;
  int count_ = 0;
};

}  // namespace

Graph random_graph(std::uint64_t seed) {
  return Author(seed).write();
}

}  // namespace assay
