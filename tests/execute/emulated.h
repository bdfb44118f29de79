#pragma once
// Tile and float16 instructions as plain loops, so that their algorithms are tested on every
// processor.

#include "execute/cpu/simd/fp16/fp16_product.h"
#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

const TileKernels& tiles_emulated();
const Fp16Kernels& fp16_emulated();

}  // namespace assay::cpu
