// Spectra and windows: DFT, STFT, MelWeightMatrix, Hann, Hamming and Blackman windows.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

void window(InferContext& context) {
  context.type(0);
  const auto size = context.integer(0);
  if (size && *size < 0) context.fail("size {} is negative", *size);
  context.set(0, context.type_from("output_datatype", DataType::Float32),
              Shape{size ? Dim(*size) : Dim()});
}

void mel_weights(InferContext& context) {
  const auto bins = context.integer(0);
  const auto length = context.integer(1);
  if ((bins && *bins < 0) || (length && *length < 0)) context.fail("a size is negative");
  context.set(0, context.type_from("output_datatype", DataType::Float32),
              Shape{length ? Dim(*length / 2 + 1) : Dim(), bins ? Dim(*bins) : Dim()});
}

// The spectrum of a real signal is symmetric: half of it is enough.
Dim bins_of(const Dim& length, bool one_sided) {
  if (!one_sided) return length;
  return length.is_known() ? Dim(length.value() / 2 + 1) : Dim();
}

// The axis is an attribute until opset 19 (default 1) and an input since (default -2).
std::optional<std::int64_t> transform_axis(const InferContext& context) {
  if (context.opset() < 20) return context.node().int_or("axis", 1);
  return context.has(2) ? context.integer(2) : std::optional<std::int64_t>(-2);
}

void fourier_transform(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 2);
  const auto wanted = transform_axis(context);
  if (input == nullptr || !wanted) return context.set(0, context.element(0));
  const std::size_t axis = context.axis(*wanted, input->rank());
  const bool one_sided = context.node().int_or("onesided", 0) != 0;
  const bool inverse = context.node().int_or("inverse", 0) != 0;
  Shape result = *input;
  if (context.has(1)) {
    const auto length = context.integer(1);
    if (length && *length < 0) context.fail("dft_length {} is negative", *length);
    result[axis] = length ? Dim(*length) : Dim();
  }
  result[axis] = bins_of(result[axis], one_sided && !inverse);
  result[result.rank() - 1] = Dim(one_sided && inverse ? 1 : 2);
  context.set(0, context.element(0), result);
}

Dim frame_length(const InferContext& context) {
  if (const auto length = context.integer(3)) {
    if (*length < 1) context.fail("frame_length {} is not positive", *length);
    return Dim(*length);
  }
  const Shape* window_shape = context.has(2) ? context.shape_of_rank(2, 1) : nullptr;
  return window_shape != nullptr ? (*window_shape)[0] : Dim();
}

void short_time_transform(InferContext& context) {
  const Shape* signal = context.shape_of_rank_at_least(0, 2);
  const auto step = context.integer(1);
  const Dim length = frame_length(context);
  if (step && *step < 1) context.fail("frame_step {} is not positive", *step);
  Shape result = unknown_shape(4);
  if (signal != nullptr) result[0] = (*signal)[0];
  if (signal != nullptr && step && length.is_known() && (*signal)[1].is_known()) {
    const std::int64_t slack = (*signal)[1].value() - length.value();
    if (slack < 0)
      context.fail("a frame of {} does not fit a signal of {}", length.value(),
                   (*signal)[1].value());
    result[1] = Dim(slack / *step + 1);
  }
  result[2] = bins_of(length, context.node().int_or("onesided", 1) != 0);
  result[3] = Dim(2);
  context.set(0, context.element(0), result);
}

}  // namespace

void add_signal_rules(RuleTable& table) {
  table["HannWindow"] = window;
  table["HammingWindow"] = window;
  table["BlackmanWindow"] = window;
  table["MelWeightMatrix"] = mel_weights;
  table["DFT"] = fourier_transform;
  table["STFT"] = short_time_transform;
}

}  // namespace assay::infer
