#include "execute/cpu/lower/tile_choices.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/kernels/winograd16.h"

namespace assay::cpu {

namespace {

TileNumber tile_number(DataType type) {
  switch (type) {
    case DataType::UInt8:
      return TileNumber::U8;
    case DataType::Int8:
      return TileNumber::S8;
    case DataType::Int32:
      return TileNumber::S32;
    case DataType::BFloat16:
      return TileNumber::BF16;
    default:
      return TileNumber::F32;
  }
}

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> floats;
  for (const double number : tensor.to_double()) floats.push_back(static_cast<float>(number));
  return floats;
}

void add_eltwise(const PostOp& op, TileEpilogue& epilogue) {
  const bool is_before = epilogue.addend_type == TileNumber::None;
  if (op.algorithm == Algorithm::eltwise_clip) {
    float& low = is_before ? epilogue.low : epilogue.low_after;
    float& high = is_before ? epilogue.high : epilogue.high_after;
    low = std::max(low, op.alpha);
    high = std::min(high, op.beta);
  } else if (op.algorithm == Algorithm::eltwise_relu) {
    float& low = is_before ? epilogue.low : epilogue.low_after;
    low = std::max(low, 0.0f);
  } else if (op.algorithm == Algorithm::eltwise_round) {
    epilogue.rounds_first = is_before;
  } else if (op.algorithm == Algorithm::eltwise_linear) {
    epilogue.factor *= op.alpha;
    epilogue.zero_point += static_cast<std::int32_t>(op.beta);
  }
}

void clamp_to_type(TileEpilogue& epilogue) {
  const bool is_signed = epilogue.result == TileNumber::S8;
  if (!is_signed && epilogue.result != TileNumber::U8) return;
  const std::int32_t low = is_signed ? -128 : 0;
  epilogue.low_after = std::max(epilogue.low_after, static_cast<float>(low - epilogue.zero_point));
  epilogue.high_after =
      std::min(epilogue.high_after, static_cast<float>(low + 255 - epilogue.zero_point));
}

// Whether the activation has a form among those of tiles.
bool take_activation(const PostOp& op, TileEpilogue& epilogue) {
  switch (op.algorithm) {
    case Algorithm::eltwise_relu:
      epilogue.low_after = 0;
      return op.alpha == 0;
    case Algorithm::eltwise_clip:
      epilogue.low_after = op.alpha;
      epilogue.high_after = op.beta;
      return true;
    case Algorithm::eltwise_gelu_erf:
      epilogue.activation = TileActivation::GeluErf;
      return true;
    case Algorithm::eltwise_gelu_tanh:
      epilogue.activation = TileActivation::GeluTanh;
      return true;
    case Algorithm::eltwise_swish:
      epilogue.activation = TileActivation::Swish;
      return op.alpha == 1;
    case Algorithm::eltwise_hardswish:
      epilogue.activation = TileActivation::HardSwish;
      return true;
    default:
      return false;
  }
}

Choice packed_choice(std::string name, std::shared_ptr<const PackedConvolution> own,
                     const Desc& source, const Desc& result) {
  Choice choice;
  choice.implementation = std::move(name);
  choice.source = source;
  choice.result = result;
  choice.weights = plain_desc({static_cast<std::int64_t>(own->weight_bytes())}, DataType::Int8);
  if (own->workspace_bytes() > 0)
    choice.scratchpad = plain_desc({static_cast<std::int64_t>(own->workspace_floats())});
  choice.own = std::move(own);
  return choice;
}

// Filters that are much larger have to come from memory each time, which only many pixels are
// worth.
bool is_worth_its_weights(const TileLayer& layer, const Winograd16& own) {
  constexpr std::size_t kModest = std::size_t{32} << 20;
  constexpr std::int64_t kManyPixels = 512;
  return own.weight_bytes() <= kModest ||
         saturating_multiply(layer.images, layer.grid.output_elements()) >= kManyPixels;
}

}  // namespace

TileType tile_type(DataType type) {
  if (type == DataType::BFloat16) return TileType::BF16;
  return type == DataType::Int8 ? TileType::S8 : TileType::U8;
}

TileEpilogue tile_epilogue(const std::vector<PostOp>& post_ops, DataType result,
                           std::int32_t zero_point) {
  TileEpilogue epilogue{.result = tile_number(result), .zero_point = zero_point};
  for (const PostOp& op : post_ops) {
    if (op.kind == PostOp::Kind::Eltwise) add_eltwise(op, epilogue);
    if (op.kind != PostOp::Kind::Sum) continue;
    epilogue.addend_type = tile_number(op.type);
    epilogue.addend_scale = op.scale;
    epilogue.addend_zero_point = op.zero_point;
  }
  clamp_to_type(epilogue);
  return epilogue;
}

std::optional<TileEpilogue> bf16_tile_epilogue(const std::vector<PostOp>& post_ops) {
  TileEpilogue epilogue{.result = TileNumber::BF16};
  bool is_active = false;
  for (const PostOp& op : post_ops) {
    if (is_active) return {};
    if (op.kind == PostOp::Kind::Eltwise) {
      if (!take_activation(op, epilogue)) return {};
      is_active = true;
    } else {
      epilogue.addend_type = TileNumber::BF16;
    }
  }
  return epilogue;
}

bool uses_tiles(const Choice& choice) {
  return choice.own != nullptr && choice.implementation.starts_with("tiles");
}

bool packs_constants(const Choice& choice) {
  return dynamic_cast<const PackedConvolution*>(choice.own.get()) != nullptr;
}

std::optional<Choice> tile_choice(const Lowering& lowering, const TileLayer& layer,
                                  std::int64_t groups, const Desc& source, const Desc& result) {
  const TileKernels* kernels = tiles();
  if (kernels == nullptr || !TileConvolution::fits(layer.grid, groups)) return {};
  if (layer.type == TileType::BF16 && !kernels->multiplies_bf16) return {};
  return packed_choice(layer.type == TileType::BF16 ? "tiles bf16" : "tiles int8",
                       std::make_shared<TileConvolution>(layer, lowering.threads(), *kernels),
                       source, result);
}

std::optional<Choice> winograd16_choice(const Lowering& lowering, const TileLayer& layer,
                                        std::int64_t groups, const Desc& source,
                                        const Desc& result) {
  const Winograd16Kernels* kernels = winograd16();
  const auto& options = lowering.options();
  if (kernels == nullptr || tiles() != nullptr || !Winograd16::fits(layer, groups)) return {};
  if (options.program.optimize_for == OptimizeFor::Memory || options.ieee_strict) return {};
  const auto own = std::make_shared<Winograd16>(layer, lowering.threads(), *kernels);
  if (!is_worth_its_weights(layer, *own)) return {};
  return packed_choice(fmt::format("winograd 4x4 int16:{}", kernels->isa), own, source, result);
}

std::string precision_of(const Choice& choice, const std::string& otherwise) {
  const bool is_16_bit = dynamic_cast<const Winograd16*>(choice.own.get()) != nullptr;
  return is_16_bit ? "int16" : otherwise;
}

Placement packed_weights(Lowering& lowering, const Choice& choice, const Tensor& weights,
                         TileConstants constants, NodeId node) {
  const auto own = std::static_pointer_cast<const PackedConvolution>(choice.own);
  if (constants.scales.size() == 1)
    constants.scales.resize(own->outputs(), constants.scales.front());
  const auto pack = [own, constants](const Tensor& stored, std::byte* packed) {
    if (own->takes_floats()) {
      const auto numbers = floats_of(stored);
      const auto bias = constants.bias ? floats_of(*constants.bias) : std::vector<float>{};
      return own->pack({.weights = numbers.data(),
                        .are_transposed = constants.are_transposed,
                        .bias = bias.empty() ? nullptr : bias.data()},
                       packed);
    }
    const auto numbers = stored.to_vector<std::int8_t>();
    std::vector<std::int32_t> bias;
    if (constants.bias) bias = constants.bias->to_vector<std::int32_t>();
    own->pack({.weights = numbers.data(),
               .are_transposed = constants.are_transposed,
               .bias = bias.empty() ? nullptr : bias.data(),
               .scales = constants.scales.empty() ? nullptr : constants.scales.data()},
              packed);
  };
  return lowering.weights().prepared(weights,
                                     fmt::format("{} of {}", choice.implementation, node.number),
                                     own->weight_bytes(), pack);
}

}  // namespace assay::cpu
