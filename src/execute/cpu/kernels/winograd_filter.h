// Winograd's G: filters of three taps as the four numbers that give two neighbouring results.
#pragma once

namespace assay::cpu {

constexpr double kFilterOfTwo[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

}  // namespace assay::cpu
