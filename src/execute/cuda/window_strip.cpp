#include "execute/cuda/window_strip.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

using kernels::WindowAxis;

namespace {

constexpr unsigned kStripThreads = 128;
// So many keep an H200 busy.
constexpr std::int64_t kEnoughThreads = std::int64_t{1} << 17;
constexpr std::int64_t kMostUnrolledTaps = 25;

// Rows of the image that the windows of a thread reach.
std::int64_t rows_of(const WindowStrip& strip) {
  const WindowAxis& axis = strip.grid.axes[1];
  return strip.windows == 1 ? axis.kernel : (strip.windows - 1) * axis.stride + axis.kernel;
}

std::int64_t strips_of(const WindowStrip& strip) {
  return (strip.grid.axes[1].output + strip.windows - 1) / strip.windows;
}

// Whether windows start, and end, inside the image.
bool has_padding(const WindowAxis& axis) {
  const std::int64_t last = axis.position(axis.output - 1, axis.kernel - 1);
  return axis.pad_begin > 0 || last >= axis.input;
}

std::string inside_text(const std::string& position, const WindowAxis& axis, bool may_overrun) {
  if (!has_padding(axis) && !may_overrun) return "true";
  return fmt::format("{0} >= 0 && {0} < {1}", position, axis.input);
}

std::string coordinates_text(const WindowStrip& strip, const std::string& index_type) {
  const auto& [depth, height, width] = strip.grid.axes;
  std::string text;
  std::string rest = "strip";
  const auto take = [&](const char* name, std::int64_t length, std::int64_t step) {
    const std::string digit = remainder_text(rest, length);
    text += fmt::format("  const int {} = (int)({}){};\n", name, digit,
                        step == 1 ? "" : fmt::format(" * {}", step));
    text +=
        fmt::format("  const {} after_{} = {};\n", index_type, name, quotient_text(rest, length));
    rest = fmt::format("after_{}", name);
  };
  take("channel", strip.image.dims[1] / strip.channels, strip.channels);
  take("out2", width.output, 1);
  take("first1", strips_of(strip), strip.windows);
  take("out0", depth.output, 1);
  return text + fmt::format("  const {} batch = {};\n", index_type, rest);
}

// Reads a row of the windows, and adds it where it belongs.
std::string row_text(const WindowStrip& strip, const StripTexts& texts) {
  const auto& [depth, height, width] = strip.grid.axes;
  const auto at = image_coordinates(strip.grid, "batch", "channel", "in");
  return fmt::format(
      R"(      Group<{stored}, {channels}> elements[{taps2}];
#pragma unroll
      for (int tap2 = 0; tap2 < {taps2}; ++tap2) {{
        const int in2 = out2 * {stride2} + tap2 * {dilation2} - {pad2};
#pragma unroll
        for (int j = 0; j < {channels}; ++j) elements[tap2].at[j] = outside;
        if ({inside0} && {inside1} && {inside2})
          elements[tap2] = *(const Group<{stored}, {channels}>*)({image} + {at});
      }}
#pragma unroll
      for (int w = 0; w < {windows}; ++w) {{
        const int tap1 = row - w * {stride1};
        if (tap1 < 0 || tap1 >= {taps1}) continue;
#pragma unroll
        for (int tap2 = 0; tap2 < {taps2}; ++tap2) {{
{tap}#pragma unroll
          for (int j = 0; j < {channels}; ++j) {{
            const {type} x = {element};
            {type}& sum = sums[w][j];
            {add}
          }}
        }}
      }}
)",
      fmt::arg("stored", stored_type(strip.image.type)), fmt::arg("channels", strip.channels),
      fmt::arg("taps1", height.kernel), fmt::arg("taps2", width.kernel),
      fmt::arg("stride1", height.stride), fmt::arg("stride2", width.stride),
      fmt::arg("dilation2", width.dilation), fmt::arg("pad2", width.pad_begin),
      fmt::arg("inside0", inside_text("in0", depth, false)),
      fmt::arg("inside1", inside_text("in1", height, height.output % strip.windows != 0)),
      fmt::arg("inside2", inside_text("in2", width, false)), fmt::arg("image", texts.image),
      fmt::arg("at", offset_text(strip.image, at)), fmt::arg("windows", strip.windows),
      fmt::arg("tap", texts.tap), fmt::arg("type", texts.type),
      fmt::arg("element", loaded(strip.image.type, "elements[tap2].at[j]")),
      fmt::arg("add", texts.add));
}

std::string store_text(const WindowStrip& strip, const StripTexts& texts,
                       const Epilogue& epilogue) {
  const auto at = [&](const char* channel) {
    return image_coordinates(strip.grid, "batch", channel, "out");
  };
  return fmt::format(
      R"(#pragma unroll
  for (int w = 0; w < {windows}; ++w) {{
    const int out1 = first1 + w;
    if (out1 >= {height}) break;
{finish}    Group<{to}, {channels}> result;
#pragma unroll
    for (int j = 0; j < {channels}; ++j) {{
      const {type} sum = sums[w][j];
{computing}      result.at[j] = {value};
    }}
    *(Group<{to}, {channels}>*)(out + {place}) = result;
  }}
)",
      fmt::arg("windows", strip.windows), fmt::arg("height", strip.grid.axes[1].output),
      fmt::arg("finish", texts.finish), fmt::arg("to", stored_type(epilogue.result.type)),
      fmt::arg("channels", strip.channels), fmt::arg("type", texts.type),
      fmt::arg("computing", epilogue.computing(texts.result, at("(channel + j)"))),
      fmt::arg("value", epilogue.stored_result()),
      fmt::arg("place", offset_text(epilogue.result, at("channel"))));
}

bool is_short(const WindowStrip& strip, const Epilogue& epilogue) {
  const Placement images[] = {strip.image};
  const Placement results[] = {epilogue.result};
  return walk_over(images).is_short() && walk_over(results).is_short();
}

}  // namespace

std::int64_t WindowStrip::threads() const {
  const auto& [depth, height, width] = grid.axes;
  return image.dims[0] * depth.output * strips_of(*this) * width.output * image.dims[1] / channels;
}

std::optional<WindowStrip> window_strip_of(const kernels::WindowGrid& grid, const Placement& image,
                                           std::int64_t most_windows) {
  WindowStrip strip{.grid = grid, .image = image};
  strip.channels = vector_width(image, 1);
  if (strip.channels == 1) return {};
  const WindowAxis& height = grid.axes[1];
  const bool shares_rows = height.dilation == 1 && height.stride < height.kernel;
  const std::int64_t most = shares_rows ? most_windows / height.stride : 1;
  for (strip.windows = std::max<std::int64_t>(most, 1); strip.windows > 1; strip.windows /= 2)
    if (height.output >= strip.windows && strip.threads() >= kEnoughThreads) break;
  return strip;
}

KernelText strip_kernel(const WindowStrip& strip, const StripTexts& texts,
                        const Epilogue& epilogue) {
  const auto& [depth, height, width] = strip.grid.axes;
  const std::string index_type = is_short(strip, epilogue) ? "int" : "long long";
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{more}) {{
  const {index} strip = blockIdx.x * {threads}ll + threadIdx.x;
  if (strip >= {count}) return;
{coordinates}{before}  const {stored} outside = {outside};
  {type} sums[{windows}][{channels}];
#pragma unroll
  for (int w = 0; w < {windows}; ++w)
#pragma unroll
    for (int j = 0; j < {channels}; ++j) sums[w][j] = {start};
  for (int tap0 = 0; tap0 < {taps0}; ++tap0) {{
    const int in0 = out0 * {stride0} + tap0 * {dilation0} - {pad0};
#pragma unroll {unrolled}
    for (int row = 0; row < {rows}; ++row) {{
      const {index} in1 = first1 * {stride1} + row * {dilation1} - {pad1};
{row}    }}
  }}
{store}}}
)",
      fmt::arg("parameters", texts.parameters), fmt::arg("more", epilogue.parameters()),
      fmt::arg("index", index_type), fmt::arg("threads", kStripThreads),
      fmt::arg("count", strip.threads()),
      fmt::arg("coordinates", coordinates_text(strip, index_type)),
      fmt::arg("before", texts.before), fmt::arg("stored", stored_type(strip.image.type)),
      fmt::arg("outside", texts.outside), fmt::arg("type", texts.type),
      fmt::arg("windows", strip.windows), fmt::arg("channels", strip.channels),
      fmt::arg("start", texts.start), fmt::arg("taps0", depth.kernel),
      fmt::arg("stride0", depth.stride), fmt::arg("dilation0", depth.dilation),
      fmt::arg("pad0", depth.pad_begin), fmt::arg("rows", rows_of(strip)),
      fmt::arg("unrolled", height.kernel * width.kernel <= kMostUnrolledTaps ? rows_of(strip) : 1),
      fmt::arg("stride1", height.stride), fmt::arg("dilation1", height.dilation),
      fmt::arg("pad1", height.pad_begin), fmt::arg("row", row_text(strip, texts)),
      fmt::arg("store", store_text(strip, texts, epilogue)));
  constexpr std::int64_t kBlock = kStripThreads;
  return {text,
          {.blocks = {static_cast<unsigned>((strip.threads() + kBlock - 1) / kBlock), 1, 1},
           .threads = kStripThreads}};
}

}  // namespace assay::cuda
