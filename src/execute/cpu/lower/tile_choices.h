// Convolutions and products by tile instructions, for the tuner to compare with oneDNN's.
#pragma once

#include "execute/cpu/kernels/tile_convolution.h"
#include "execute/cpu/lowering.h"
#include "execute/cpu/onednn/adapter.h"

namespace assay::cpu {

// What post-ops of an 8-bit product do to its sums. `result` is its type, 32-bit sums and floats
// included; the addend of a Sum is the result itself.
TileEpilogue tile_epilogue(const std::vector<PostOp>& post_ops, DataType result,
                           std::int32_t zero_point);

// The same of a bf16 product: an addition, then an activation. Nothing for others.
std::optional<TileEpilogue> bf16_tile_epilogue(const std::vector<PostOp>& post_ops);

// With images or rows in these layouts, without gaps and channels last. Nothing where there are no
// tile instructions, or the windows have no form.
std::optional<Choice> tile_choice(const Lowering& lowering, const TileLayer& layer,
                                  std::int64_t groups, const Desc& source, const Desc& result);

// By Winograd's algorithm in 16-bit integers. Nothing for other windows, where there are no such
// instructions or tiles are faster, or where memory counts. Of 8-bit weights, Winograd16::is_exact
// has to be asked first.
std::optional<Choice> winograd16_choice(const Lowering& lowering, const TileLayer& layer,
                                        std::int64_t groups, const Desc& source,
                                        const Desc& result);

bool uses_tiles(const Choice& choice);
// The precision in which a choice multiplies, if it is not that of its images.
std::string precision_of(const Choice& choice, const std::string& otherwise);
// Whether bias and scales are stored with the weights, which packed_weights makes.
bool packs_constants(const Choice& choice);

// What is packed with the weights of such a choice; one scale stands for all outputs. Weights are
// 8-bit or, of bf16, any floats, as `TileParameters` has them.
struct TileConstants {
  std::vector<float> scales = {};
  std::optional<Tensor> bias = {};  // 32-bit integers; of bf16, any floats
  bool are_transposed = false;
};
// `node` tells apart layers that share their weights.
Placement packed_weights(Lowering& lowering, const Choice& choice, const Tensor& weights,
                         TileConstants constants, NodeId node);

TileType tile_type(DataType type);  // of 8-bit numbers and bf16

}  // namespace assay::cpu
