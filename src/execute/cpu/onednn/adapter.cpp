#include "execute/cpu/onednn/adapter.h"

#include <algorithm>
#include <cassert>

#include "execute/cpu/onednn/instruction_sets.h"

namespace assay::cpu {

namespace {

dnnl::memory::data_type library_type(DataType type) {
  using Library = dnnl::memory::data_type;
  switch (type) {
    case DataType::Int8:
      return Library::s8;
    case DataType::UInt8:
      return Library::u8;
    case DataType::Int32:
      return Library::s32;
    case DataType::BFloat16:
      return Library::bf16;
    case DataType::Float16:
      return Library::f16;
    case DataType::Undefined:
      return Library::undef;
    default:
      assert(type == DataType::Float32);  // a layout of another type would have the wrong size
      return Library::f32;
  }
}

void add_requantization(const Requantization& what, int channel_axis, dnnl::primitive_attr& attr) {
  attr.set_output_scales(what.scales.size() > 1 ? 1 << channel_axis : 0, what.scales);
  if (what.source_zero_point != 0)
    attr.set_zero_points(argument::kSource, 0, {what.source_zero_point});
  if (what.weights_zero_point != 0)
    attr.set_zero_points(argument::kWeights, 0, {what.weights_zero_point});
  if (what.result_zero_point != 0)
    attr.set_zero_points(argument::kResult, 0, {what.result_zero_point});
}

dnnl::primitive_attr attributes(const std::vector<PostOp>& post_ops,
                                const std::optional<Requantization>& requantization = {}) {
  constexpr int kChannelAxis = 1;
  dnnl::post_ops ops;
  for (const PostOp& op : post_ops) {
    switch (op.kind) {
      case PostOp::Kind::Sum:
        ops.append_sum(op.scale, op.zero_point, library_type(op.type));
        break;
      case PostOp::Kind::Eltwise:
        ops.append_eltwise(1.0f, op.algorithm, op.alpha, op.beta);
        break;
      case PostOp::Kind::BinaryAdd:
        ops.append_binary(dnnl::algorithm::binary_add, op.operand);
        break;
      case PostOp::Kind::BinaryMul:
        ops.append_binary(dnnl::algorithm::binary_mul, op.operand);
        break;
    }
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (requantization) add_requantization(*requantization, kChannelAxis, attr);
  return attr;
}

template <typename Forward, typename PrimitiveDesc>
Choice choice_of(const PrimitiveDesc& desc) {
  Choice choice;
  choice.primitive = Forward(desc);
  choice.implementation = desc.impl_info_str();
  choice.source = desc.src_desc();
  choice.result = desc.dst_desc();
  choice.scratchpad = desc.scratchpad_desc();
  return choice;
}

template <typename Forward, typename PrimitiveDesc>
Choice weighted_choice(const PrimitiveDesc& desc, const std::vector<PostOp>& post_ops) {
  Choice choice = choice_of<Forward>(desc);
  choice.weights = desc.weights_desc();
  choice.bias = desc.bias_desc();
  for (std::size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].kind != PostOp::Kind::BinaryAdd && post_ops[i].kind != PostOp::Kind::BinaryMul)
      continue;
    choice.operands.emplace_back(argument::post_op_operand(i), post_ops[i].operand);
  }
  return choice;
}

// Implementations are offered one after another. An error means that there is none.
template <typename Forward, typename Make>
std::vector<Choice> offered(const std::vector<PostOp>& post_ops, std::size_t most, Make make) {
  std::vector<Choice> choices;
  try {
    auto desc = make();
    do {
      choices.push_back(weighted_choice<Forward>(desc, post_ops));
    } while (choices.size() < most && desc.next_impl());
  } catch (const dnnl::error&) {
    // What was offered so far is what there is.
  }
  return choices;
}

constexpr auto kInference = dnnl::prop_kind::forward_inference;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

template <typename Forward>
std::vector<Choice> convolutions_by(const Convolution& what, dnnl::prop_kind purpose,
                                    dnnl::algorithm algorithm, std::size_t most) {
  const auto attr = attributes(what.post_ops, what.requantization);
  const Desc bias = what.bias.value_or(Desc());
  // The description must outlive the iteration over implementations.
  std::optional<typename Forward::desc> described;
  return offered<Forward>(what.post_ops, most, [&] {
    described.emplace(purpose, algorithm, what.source, what.weights, bias, what.result,
                      what.strides, what.dilations, what.pads_begin, what.pads_end);
    return typename Forward::primitive_desc(*described, attr, dnnl_engine());
  });
}

// What a backward primitive wants to know of the forward one: hardly more than the shapes.
dnnl::convolution_forward::primitive_desc forward_hint(const Convolution& what,
                                                       dnnl::algorithm algorithm) {
  using Forward = dnnl::convolution_forward;
  const Desc source = any_desc(what.source.dims());
  const Desc weights = any_desc(what.weights.dims());
  const Desc result = any_desc(what.result.dims());
  const Forward::desc described(kTraining, algorithm, source, weights, result, what.strides,
                                what.dilations, what.pads_begin, what.pads_end);
  return Forward::primitive_desc(described, dnnl_engine());
}

// `operands` are what stands between source and result: weights, and for some a bias.
template <typename Backward, typename Fill, typename... Operands>
std::vector<Choice> gradients_by(const Convolution& what, dnnl::algorithm algorithm,
                                 std::size_t most, Fill fill, const Operands&... operands) {
  const auto attr = attributes({});
  std::vector<Choice> choices;
  try {
    const auto hint = forward_hint(what, algorithm);
    const typename Backward::desc described(algorithm, what.source, operands..., what.result,
                                            what.strides, what.dilations, what.pads_begin,
                                            what.pads_end);
    typename Backward::primitive_desc desc(described, attr, dnnl_engine(), hint);
    do {
      Choice choice;
      choice.primitive = Backward(desc);
      choice.implementation = desc.impl_info_str();
      choice.scratchpad = desc.scratchpad_desc();
      fill(desc, choice);
      choices.push_back(std::move(choice));
    } while (choices.size() < most && desc.next_impl());
  } catch (const dnnl::error&) {
    // What was offered so far is what there is.
  }
  return choices;
}

std::vector<Choice> input_gradients_by(const Convolution& what, dnnl::algorithm algorithm,
                                       std::size_t most) {
  using Backward = dnnl::convolution_backward_data;
  const auto fill = [](const Backward::primitive_desc& desc, Choice& choice) {
    choice.source = desc.diff_src_desc();
    choice.weights = desc.weights_desc();
    choice.result = desc.diff_dst_desc();
    choice.indices = {.source = DNNL_ARG_DIFF_SRC, .result = DNNL_ARG_DIFF_DST};
  };
  return gradients_by<Backward>(what, algorithm, most, fill, what.weights);
}

std::vector<Choice> weight_gradients_by(const Convolution& what, dnnl::algorithm algorithm,
                                        std::size_t most) {
  using Backward = dnnl::convolution_backward_weights;
  const auto fill = [&](const Backward::primitive_desc& desc, Choice& choice) {
    choice.source = desc.src_desc();
    choice.weights = desc.diff_weights_desc();
    if (what.bias) choice.bias = desc.diff_bias_desc();
    choice.result = desc.diff_dst_desc();
    choice.indices = {
        .weights = DNNL_ARG_DIFF_WEIGHTS, .bias = DNNL_ARG_DIFF_BIAS, .result = DNNL_ARG_DIFF_DST};
  };
  return gradients_by<Backward>(what, algorithm, most, fill, what.weights,
                                what.bias.value_or(Desc()));
}

// oneDNN never chooses its Winograd by itself: it has to be asked for.
std::vector<Choice> by_both_algorithms(const Convolution& what, std::size_t most,
                                       std::vector<Choice> (*by)(const Convolution&,
                                                                 dnnl::algorithm, std::size_t)) {
  auto all = by(what, dnnl::algorithm::convolution_direct, most);
  for (Choice& choice : by(what, dnnl::algorithm::convolution_winograd, 1)) {
    all.push_back(std::move(choice));
  }
  return all;
}

std::vector<Choice> trained_by(const Convolution& what, dnnl::algorithm algorithm,
                               std::size_t most) {
  return convolutions_by<dnnl::convolution_forward>(what, kTraining, algorithm, most);
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine = [] {
    forbid_unsafe_instructions();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

const dnnl::stream& dnnl_stream() {
  static const dnnl::stream stream(dnnl_engine());
  return stream;
}

namespace {

dnnl::memory::format_tag row_major(std::size_t rank) {
  using tag = dnnl::memory::format_tag;
  constexpr tag kTags[] = {tag::undef, tag::a,     tag::ab,    tag::abc,
                           tag::abcd,  tag::abcde, tag::abcdef};
  return kTags[rank < 7 ? rank : 0];
}

}  // namespace

Desc plain_desc(const Dims& dims, DataType type) {
  return Desc(dims, library_type(type), row_major(dims.size()));
}

Desc any_desc(const Dims& dims, DataType type) {
  return Desc(dims, library_type(type), dnnl::memory::format_tag::any);
}

Desc strided_desc(const Dims& dims, const Dims& strides, DataType type) {
  return Desc(dims, library_type(type), strides);
}

DataType element_of(const Desc& desc) {
  constexpr DataType kTypes[] = {DataType::Int8, DataType::UInt8, DataType::Int32,
                                 DataType::BFloat16, DataType::Float16};
  for (const DataType type : kTypes) {
    if (desc.data_type() == library_type(type)) return type;
  }
  return DataType::Float32;
}

Desc image_desc(const Dims& dims, std::int64_t block, DataType type) {
  using tag = dnnl::memory::format_tag;
  constexpr tag kLast[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  constexpr tag kOf4[] = {tag::nCw4c, tag::nChw4c, tag::nCdhw4c};
  constexpr tag kOf8[] = {tag::nCw8c, tag::nChw8c, tag::nCdhw8c};
  constexpr tag kOf16[] = {tag::nCw16c, tag::nChw16c, tag::nCdhw16c};
  const tag* tags = block == 0 ? kLast : block == 4 ? kOf4 : block == 8 ? kOf8 : kOf16;
  return Desc(dims, library_type(type), tags[dims.size() - 3]);
}

Desc blocked_weights_desc(const Dims& dims, std::int64_t block) {
  using tag = dnnl::memory::format_tag;
  return Desc(dims, dnnl::memory::data_type::f32, block == 16 ? tag::OIhw16i16o : tag::OIhw8i8o);
}

Desc with_type(Desc desc, DataType type) {
  desc.data.data_type = dnnl::memory::convert_to_c(library_type(type));
  return desc;
}

std::size_t bytes_of(const Desc& desc) {
  return desc.get_size();
}

std::string layout_key(const Desc& desc) {
  return std::string(reinterpret_cast<const char*>(&desc.data), sizeof(desc.data));
}

std::vector<Choice> convolutions(const Convolution& what, ConvolutionKind kind, std::size_t most) {
  using dnnl::algorithm;
  switch (kind) {
    case ConvolutionKind::Direct:
      return convolutions_by<dnnl::convolution_forward>(what, kInference,
                                                        algorithm::convolution_direct, most);
    case ConvolutionKind::Transposed:
      return convolutions_by<dnnl::deconvolution_forward>(what, kInference,
                                                          algorithm::deconvolution_direct, most);
    case ConvolutionKind::Trained:
      return by_both_algorithms(what, most, trained_by);
    case ConvolutionKind::InputGradient:
      return by_both_algorithms(what, most, input_gradients_by);
    case ConvolutionKind::WeightGradient:
      return by_both_algorithms(what, most, weight_gradients_by);
  }
  return {};
}

std::vector<Choice> inner_products(const Product& what, std::size_t most) {
  using Forward = dnnl::inner_product_forward;
  const auto attr = attributes(what.post_ops, what.requantization);
  const Desc bias = what.bias.value_or(Desc());
  std::optional<Forward::desc> described;
  return offered<Forward>(what.post_ops, most, [&] {
    described.emplace(kInference, what.source, what.weights, bias, what.result);
    return Forward::primitive_desc(*described, attr, dnnl_engine());
  });
}

std::vector<Choice> matrix_products(const Product& what, std::size_t most) {
  using Forward = dnnl::matmul;
  const auto attr = attributes(what.post_ops, what.requantization);
  const Desc bias = what.bias.value_or(Desc());
  std::optional<Forward::desc> described;
  return offered<Forward>(what.post_ops, most, [&] {
    described.emplace(what.source, what.weights, bias, what.result);
    return Forward::primitive_desc(*described, attr, dnnl_engine());
  });
}

namespace {

using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;

PoolingForward::primitive_desc pooling_desc(const Pooling& what, dnnl::prop_kind purpose) {
  const auto attr = attributes({});
  const PoolingForward::desc described(purpose, what.algorithm, what.source, what.result,
                                       what.strides, what.kernel, what.dilations, what.pads_begin,
                                       what.pads_end);
  return PoolingForward::primitive_desc(described, attr, dnnl_engine());
}

}  // namespace

std::optional<Choice> pooling(const Pooling& what) {
  try {
    return choice_of<PoolingForward>(pooling_desc(what, kInference));
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

std::optional<Choice> pooling_gradient(const Pooling& what) {
  const auto attr = attributes({});
  try {
    const auto hint = pooling_desc(what, kTraining);
    const Desc source = hint.src_desc();
    const Desc result = hint.dst_desc();
    const PoolingBackward::desc described(what.algorithm, source, result, what.strides, what.kernel,
                                          what.dilations, what.pads_begin, what.pads_end);
    const PoolingBackward::primitive_desc desc(described, attr, dnnl_engine(), hint);
    Choice choice;
    choice.primitive = PoolingBackward(desc);
    choice.implementation = desc.impl_info_str();
    choice.source = source;
    choice.result = result;
    choice.scratchpad = desc.scratchpad_desc();
    choice.indices = {.source = DNNL_ARG_DIFF_SRC, .result = DNNL_ARG_DIFF_DST};
    return choice;
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

void keep_small_weights(std::vector<Choice>& choices) {
  if (choices.empty()) return;
  std::size_t least = bytes_of(choices.front().weights);
  for (const Choice& choice : choices) least = std::min(least, bytes_of(choice.weights));
  const std::size_t most = least + least / 16;
  std::erase_if(choices, [&](const Choice& choice) { return bytes_of(choice.weights) > most; });
}

std::optional<Desc> rows_of(const Desc& desc, std::int64_t first, std::int64_t count) {
  Dims dims = desc.dims();
  Dims offsets(dims.size(), 0);
  dims[0] = count;
  offsets[0] = first;
  try {
    return desc.submemory_desc(dims, offsets);
  } catch (const dnnl::error&) {
    return {};
  }
}

dnnl::primitive reorder_primitive(const Desc& from, const Desc& to) {
  // oneDNN moves no float16; where nothing is converted, 16 bits are 16 bits.
  const bool is_half = from.data_type() == dnnl::memory::data_type::f16;
  if (is_half && to.data_type() == dnnl::memory::data_type::f16)
    return reorder_primitive(with_type(from, DataType::BFloat16),
                             with_type(to, DataType::BFloat16));
  return dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), from, dnnl_engine(), to));
}

void reorder(const Desc& from_desc, void* from, const Desc& to_desc, void* to) {
  dnnl::memory source(from_desc, dnnl_engine(), from);
  dnnl::memory result(to_desc, dnnl_engine(), to);
  dnnl::stream stream = dnnl_stream();
  reorder_primitive(from_desc, to_desc)
      .execute(stream, {{argument::kFrom, source}, {argument::kTo, result}});
  stream.wait();
}

}  // namespace assay::cpu
