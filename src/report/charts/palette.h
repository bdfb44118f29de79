// Colours that people with any colour vision can tell apart (Okabe and Ito, 2008), and greys.
#pragma once

#include "report/charts/canvas.h"

namespace assay::report::palette {

constexpr Colour kBlue{0, 114, 178};
constexpr Colour kOrange{230, 159, 0};
constexpr Colour kGreen{0, 158, 115};
constexpr Colour kVermilion{213, 94, 0};
constexpr Colour kSky{86, 180, 233};
constexpr Colour kPurple{204, 121, 167};

constexpr Colour kInk{38, 38, 42};
constexpr Colour kQuietInk{105, 105, 112};
constexpr Colour kFrame{170, 170, 176};
constexpr Colour kGrid{232, 232, 236};

}  // namespace assay::report::palette
