// Convolutions of 8-bit numbers, whose sums are exact: ConvInteger and QLinearConv. With stored
// weights without zero points, tensor cores compete with the plain kernel.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "execute/cuda/byte_convolution.h"
#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/quantized_text.h"

namespace assay::cuda {

namespace {

// Where operands and their zero points stand among the inputs.
struct ConvolutionInputs {
  std::size_t image = 0;
  std::size_t image_zero_point = 0;
  std::size_t weight = 0;
  std::size_t weight_zero_point = 0;
};

class IntegerConvolution {
 public:
  IntegerConvolution(Lowering& lowering, NodeId id, const ConvolutionInputs& inputs)
      : lowering_(lowering),
        id_(id),
        node_(lowering.node(id)),
        operands_(lowering),
        inputs_(inputs),
        view_(convolution_view_of(lowering, node_, inputs.image, inputs.weight)) {
    const std::size_t zero = inputs.weight_zero_point;
    if (view_ && node_.has_input(zero)) {
      const Placement numbers = lowering.native(node_.inputs[zero]);
      const bool fits = numbers.elements() == 1 ||
                        (numbers.dims.size() == 1 && numbers.dims[0] == view_->weight.dims[0]);
      if (!fits) view_.reset();
      if (view_) weight_zero_ = along_axis(numbers, view_->weight.dims, 0);
    }
    if (!is_one_number(lowering, node_, {inputs.image_zero_point, inputs.image_zero_point}))
      view_.reset();
  }

  bool is_supported() const { return view_.has_value(); }
  const Node& node() const { return node_; }
  Operands& operands() { return operands_; }

  // One number of this input a channel of the result, or one for all.
  std::optional<Placement> by_channel(std::size_t input) {
    const Placement numbers = lowering_.native(node_.inputs[input]);
    const bool fits = numbers.elements() == 1 || numbers.elements() == view_->result[1];
    if (!fits || numbers.dims.size() > 1) return {};
    return along_axis(numbers, view_->result, 1);
  }

  // `result` gives an expression of `sum`.
  bool finish(const TextAt& result) {
    const Epilogue epilogue = epilogue_of(lowering_, id_, channels_last_placement);
    ConvolutionTexts texts{
        .parameters = "",
        .sum_type = view_->inputs * view_->grid.taps() < (1 << 14) ? "int" : "long long",
        .image = [&](const std::vector<std::string>& at) { return image_text(at); },
        .weight = [&](const std::vector<std::string>& at) { return weight_text(at); },
        .store =
            [&](const std::vector<std::string>& at) {
              return epilogue.statements(result(at), at);
            }};
    const bool has_plain_weight = has_no_zero_point(lowering_, node_, inputs_.weight_zero_point);
    const Tensor* weight =
        has_plain_weight ? lowering_.constant(node_.inputs[inputs_.weight]) : nullptr;
    const ByteConvolution bytes(lowering_, *view_, weight, operands_);
    const std::string zero_point =
        node_.has_input(inputs_.image_zero_point)
            ? "(int)" + operands_.whole(node_.inputs[inputs_.image_zero_point])
            : "0";
    const auto anywhere = std::vector<std::string>(view_->result.size(), "0");
    for (const TextAt* text : {&texts.image, &texts.weight, &texts.store}) (*text)(anywhere);
    texts.parameters = operands_.parameters() + epilogue.parameters();
    const ConvolutionKernel kernel = convolution_kernel(*view_, texts);
    const StepDraft draft = draft_with(epilogue, id_, operands_.reads(), view_->flops());
    std::vector<Candidate> candidates = {
        own_candidate(lowering_, name_of(kernel), kernel.kernel, kernel.is_tiled, draft)};
    if (bytes.is_supported())
      for (Candidate& candidate :
           bytes.candidates(lowering_, zero_point, texts.parameters, result, epilogue, draft))
        candidates.push_back(std::move(candidate));
    lowering_.add_contest(draft, question() + following(lowering_, epilogue),
                          std::move(candidates));
    return true;
  }

 private:
  std::string question() const {
    const auto described = [](const Placement& placement) {
      return fmt::format("{} {}/{}", name(placement.type), fmt::join(placement.dims, "x"),
                         fmt::join(placement.strides, ","));
    };
    return fmt::format("bytes {} by {} to {}", described(view_->image), described(view_->weight),
                       fmt::join(view_->result, "x"));
  }

  std::string image_text(const std::vector<std::string>& at) {
    const std::string number = "(int)" + operands_.element(view_->image, at);
    if (!node_.has_input(inputs_.image_zero_point)) return "(" + number + ")";
    const std::string zero = operands_.whole(node_.inputs[inputs_.image_zero_point]);
    return fmt::format("({} - (int){})", number, zero);
  }

  std::string weight_text(const std::vector<std::string>& at) {
    const std::string number = "(int)" + operands_.element(view_->weight, at);
    if (!weight_zero_) return "(" + number + ")";
    return fmt::format("({} - (int){})", number, operands_.element(*weight_zero_, at));
  }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  Operands operands_;
  ConvolutionInputs inputs_;
  std::optional<ConvolutionView> view_;
  std::optional<Placement> weight_zero_;
};

bool lower_integer_convolution(Lowering& lowering, NodeId id) {
  IntegerConvolution convolution(
      lowering, id, {.image = 0, .image_zero_point = 2, .weight = 1, .weight_zero_point = 3});
  return convolution.is_supported() &&
         convolution.finish([](const std::vector<std::string>&) { return "(int)sum"; });
}

bool lower_quantized_convolution(Lowering& lowering, NodeId id) {
  IntegerConvolution convolution(
      lowering, id, {.image = 0, .image_zero_point = 2, .weight = 3, .weight_zero_point = 5});
  const Node& node = lowering.node(id);
  const bool fits = convolution.is_supported() && is_one_number(lowering, node, {1, 1}) &&
                    is_one_number(lowering, node, {6, 7});
  if (!fits) return false;
  const auto scales = convolution.by_channel(4);
  const auto bias = node.has_input(8) ? convolution.by_channel(8) : std::nullopt;
  if (!scales || (node.has_input(8) && !bias)) return false;
  Operands& operands = convolution.operands();
  return convolution.finish([&](const std::vector<std::string>& at) {
    const std::string sum =
        bias ? fmt::format("(double)(sum + (long long){})", operands.element(*bias, at))
             : std::string("(double)sum");
    const std::string scale = lowering.number(node.inputs[4])
                                  ? operands.real(node.inputs[4])
                                  : "(double)" + operands.element(*scales, at);
    const std::string zero = node.has_input(7) ? operands.real(node.inputs[7]) : "0.0";
    return saturated_text(
        lowering.type(node.outputs[0]),
        fmt::format("rint({} * ({} * ({} / {}))) + {}", sum, scale, operands.real(node.inputs[1]),
                    operands.real(node.inputs[6]), zero));
  });
}

}  // namespace

void add_quantized_convolution_lowering(LowerTable& table) {
  table["ConvInteger"] = lower_integer_convolution;
  table["QLinearConv"] = lower_quantized_convolution;
}

}  // namespace assay::cuda
