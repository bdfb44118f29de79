// The kernels of chains: a thread computes some elements that lie side by side or, where a few
// channels come to lie next to each other, all channels of some pixels.
#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/chain.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kWidestStore = 16;  // bytes

// How an operand is read: a group of elements, or one that all elements of the group share.
struct OperandText {
  const Walk& walk;
  const Placement& operand;
  std::size_t number = 0;
  std::int64_t width = 1;
  std::string more_offset = "";  // " + c * 64"

  bool is_single() const {
    return width == 1 || walk.lengths.empty() || walk.strides[number + 1].back() == 0;
  }
  std::string parameter() const {
    return fmt::format("const {}* __restrict__ p{}, ", stored_type(operand.type), number);
  }
  std::string declaration() const {
    const std::string type = stored_type(operand.type);
    const std::string at = offset_text(walk, number + 1) + more_offset;
    if (is_single()) return fmt::format("  const {0} g{1} = p{1}[{2}];\n", type, number, at);
    return fmt::format("  const Group<{0}, {1}> g{2} = *(const Group<{0}, {1}>*)(p{2} + {3});\n",
                       type, width, number, at);
  }
  std::string element() const {
    const std::string at = fmt::format("g{}{}", number, is_single() ? "" : ".at[j]");
    return fmt::format("    const {} a{} = {};\n", computed_type(operand.type), number,
                       loaded(operand.type, at));
  }
};

struct OperandTexts {
  std::string parameters = "";
  std::string declarations = "";
  std::string elements = "";

  void add(const OperandText& operand) {
    parameters += operand.parameter();
    declarations += operand.declaration();
    elements += operand.element();
  }
};

constexpr std::size_t kChannelAxis = 1;

Placement without_channels(Placement placement) {
  placement.dims.erase(placement.dims.begin() + kChannelAxis);
  placement.strides.erase(placement.strides.begin() + kChannelAxis);
  return placement;
}

// Elements in a store of so many that lie side by side.
std::int64_t store_width(const Placement& result, std::int64_t elements) {
  std::int64_t width = kWidestStore * 8 / bits(result.type);
  while (width > 1 && (elements % width != 0 || result.offset % width != 0)) width /= 2;
  return width;
}

// Pixels of a thread: enough for whole stores, if their operands can be read together.
std::int64_t pixels_of_thread(const Walk& walk, const std::vector<Placement>& all,
                              std::int64_t channels) {
  const std::int64_t widest = kWidestStore * 8 / bits(all[0].type);
  const auto fits = [&](std::int64_t pixels) {
    if (walk.lengths.empty() || walk.lengths.back() % pixels != 0) return false;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (walk.strides[i].back() == 0) continue;
      if (walk.strides[i].back() != 1 || all[i].offset % pixels != 0) return false;
      for (const std::int64_t stride : all[i].strides)
        if (stride != 1 && stride % pixels != 0) return false;
    }
    return true;
  };
  for (std::int64_t pixels = 1; pixels <= widest; pixels *= 2)
    if (fits(pixels) && store_width(all[0], pixels * channels) == widest) return pixels;
  return 1;
}

}  // namespace

gpu::Launch launch_for(std::int64_t threads) {
  constexpr std::int64_t kBlock = kBlockThreads;
  return {.blocks = {static_cast<unsigned>((threads + kBlock - 1) / kBlock), 1, 1},
          .threads = kBlockThreads};
}

KernelText elementwise_kernel(const ChainText& text, const Placement& result) {
  std::vector<Placement> all = {result};
  all.insert(all.end(), text.operands.begin(), text.operands.end());
  const Walk walk = walk_over(all);
  const std::int64_t width = walk.vector_width(all);
  OperandTexts texts;
  for (std::size_t i = 0; i < text.operands.size(); ++i)
    texts.add({.walk = walk, .operand = text.operands[i], .number = i, .width = width});
  const std::string kernel = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{to}* __restrict__ out) {{
  const {index} i = ({index})(blockIdx.x * {threads}ll + threadIdx.x) * {width};
  if (i >= {count}) return;
{coordinates}{declarations}  Group<{to}, {width}> result;
#pragma unroll
  for (int j = 0; j < {width}; ++j) {{
{elements}{statements}    result.at[j] = {value};
  }}
  *(Group<{to}, {width}>*)(out + {at}) = result;
}}
)",
      fmt::arg("parameters", texts.parameters), fmt::arg("to", stored_type(result.type)),
      fmt::arg("index", walk.is_short() ? "int" : "long long"), fmt::arg("width", width),
      fmt::arg("threads", kBlockThreads), fmt::arg("count", walk.elements),
      fmt::arg("coordinates", coordinates_text(walk, "i")),
      fmt::arg("declarations", texts.declarations), fmt::arg("elements", texts.elements),
      fmt::arg("statements", text.statements), fmt::arg("value", stored(result.type, text.result)),
      fmt::arg("at", offset_text(walk, 0)));
  return {kernel, launch_for(walk.elements / width)};
}

KernelText pixel_kernel(const ChainText& text, const Placement& result) {
  const std::int64_t channels = result.dims[kChannelAxis];
  const std::int64_t pitch = channels + result.padding;
  std::vector<Placement> all = {without_channels(result)};
  for (const Placement& operand : text.operands) all.push_back(without_channels(operand));
  const Walk walk = walk_over(all);
  std::vector<Placement> whole = {result};
  whole.insert(whole.end(), text.operands.begin(), text.operands.end());
  const std::int64_t pixels = pixels_of_thread(walk, whole, pitch);
  const std::int64_t width = store_width(result, pixels * pitch);
  OperandTexts texts;
  for (std::size_t i = 0; i < text.operands.size(); ++i) {
    const Placement& operand = text.operands[i];
    texts.add({.walk = walk,
               .operand = operand,
               .number = i,
               .width = pixels,
               .more_offset = fmt::format(" + c * {}ll", operand.strides[kChannelAxis])});
  }
  const std::string kernel = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{to}* __restrict__ out) {{
  const {index} i = ({index})(blockIdx.x * {threads}ll + threadIdx.x) * {pixels};
  if (i >= {count}) return;
{coordinates}  Group<{to}, {width}> results[{stores}];
#pragma unroll
  for (int c = 0; c < {channels}; ++c) {{
{declarations}#pragma unroll
  for (int j = 0; j < {pixels}; ++j) {{
{elements}{statements}    results[(j * {pitch} + c) / {width}].at[(j * {pitch} + c) % {width}] = {value};
  }}
  }}
#pragma unroll
  for (int c = {channels}; c < {pitch}; ++c)
#pragma unroll
    for (int j = 0; j < {pixels}; ++j)
      results[(j * {pitch} + c) / {width}].at[(j * {pitch} + c) % {width}] = {zero};
#pragma unroll
  for (int k = 0; k < {stores}; ++k)
    *(Group<{to}, {width}>*)(out + {at} + k * {width}) = results[k];
}}
)",
      fmt::arg("parameters", texts.parameters), fmt::arg("to", stored_type(result.type)),
      fmt::arg("index", walk.is_short() ? "int" : "long long"), fmt::arg("pixels", pixels),
      fmt::arg("threads", kBlockThreads), fmt::arg("count", walk.elements),
      fmt::arg("coordinates", coordinates_text(walk, "i")), fmt::arg("width", width),
      fmt::arg("stores", pixels * pitch / width), fmt::arg("channels", channels),
      fmt::arg("declarations", texts.declarations), fmt::arg("elements", texts.elements),
      fmt::arg("statements", text.statements), fmt::arg("pitch", pitch),
      fmt::arg("value", stored(result.type, text.result)),
      fmt::arg("zero", stored(result.type, "0")), fmt::arg("at", offset_text(walk, 0)));
  return {kernel, launch_for(walk.elements / pixels)};
}

namespace {

ChainText copy_text(const Placement& from, const Placement& to) {
  return {.operands = {from}, .result = fmt::format("({})(a0)", computed_type(to.type))};
}

}  // namespace

KernelText copy_kernel(const Placement& from, const Placement& to) {
  const bool is_by_pixels = to.is_channels_last() && to.dims[kChannelAxis] <= kMostPixelChannels &&
                            from.strides.back() == 1;
  return is_by_pixels ? pixel_copy_kernel(from, to) : elementwise_kernel(copy_text(from, to), to);
}

KernelText pixel_copy_kernel(const Placement& from, const Placement& to) {
  return pixel_kernel(copy_text(from, to), to);
}

}  // namespace assay::cuda
