// ASSAY_MAX_ISA limits our loops and oneDNN alike; the build runs these tests once for every level
// (execute.max_isa.*).
#include "execute/cpu/onednn/instruction_sets.h"

#include <gtest/gtest.h>

#include <map>

#include "assay/bind.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "base/instruction_set.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {
namespace {

InstructionSet level_of(const std::string& isa) {
  static const std::map<std::string, InstructionSet> kLevels = {
      {"", InstructionSet::Baseline},
      {"baseline", InstructionSet::Baseline},
      {"sse41", InstructionSet::Baseline},
      {"avx", InstructionSet::Avx2},
      {"avx2", InstructionSet::Avx2},
      {"avx2_vnni", InstructionSet::Avx512Vnni},
      {"avx512", InstructionSet::Avx512},
      {"avx512_vnni", InstructionSet::Avx512Vnni},
      {"avx512_bf16", InstructionSet::Avx512Bf16},
      {"amx", InstructionSet::Amx},
      {"neon_dot", InstructionSet::Avx512Vnni},
      {"neon_i8mm", InstructionSet::Amx},
      {"neon_fp16", InstructionSet::Amx}};
  return kLevels.at(isa);
}

TEST(MaxIsa, LimitsEveryStepOfAProgram) {
  const Inferred model = infer_shapes(bind_inputs(zoo_model("small_cnn_gap"), {}).graph);
  const auto program = compile(model, {.cpu = {.threads = 1}});
  for (const StepInfo& step : program->steps()) {
    EXPECT_LE(level_of(step.isa), highest_allowed_level())
        << step.name << ": " << step.algorithm << " " << step.isa;
  }
}

TEST(MaxIsa, LimitsOurLoops) {
  EXPECT_LE(level_of(simd().name), highest_allowed_level());
  for (const std::size_t floats : {1u, 4u, 8u, 16u, 64u})
    EXPECT_LE(level_of(simd_for(floats).name), highest_allowed_level());
}

TEST(MaxIsa, Lets8BitNumbersBeMultipliedOnlyFromVnniOn) {
  if (highest_allowed_level() >= InstructionSet::Avx512Vnni) return;
  EXPECT_FALSE(has_exact_8_bit_products());
}

TEST(IsaOf, ReadsTheNamesOfImplementations) {
  EXPECT_EQ(isa_of("brgconv:avx512_core_vnni", "int8"), "avx512_vnni");
  EXPECT_EQ(isa_of("jit_int8:avx512_core_bf16", "int8"), "avx512_vnni");
  EXPECT_EQ(isa_of("brgconv:avx512_core_bf16", "bf16"), "avx512_bf16");
  EXPECT_EQ(isa_of("brgemm:avx512_core_amx_int8", "int8"), "amx");
  EXPECT_EQ(isa_of("jit:avx512_core", "fp32"), "avx512");
  EXPECT_EQ(isa_of("jit_dw:avx2", "fp32"), "avx2");
  EXPECT_EQ(isa_of("depthwise:avx512_vnni", "int8"), "avx512_vnni");
  EXPECT_EQ(isa_of("tiles int8", "int8"), tiles() == nullptr ? "amx" : tiles()->name);
  EXPECT_EQ(isa_of("depthwise:neon_dot", "int8"), "neon_dot");
  EXPECT_EQ(isa_of("winograd 4x4", "fp32"), simd().name);
}

}  // namespace
}  // namespace assay::cpu
