// Windows that slide over images, in the texts of kernels.
#pragma once

#include <string>

#include "kernels/window_grid.h"

namespace assay::cuda {

// Statements that declare tap0, tap1, tap2 from `tap`, and out0, out1, out2 from `pixel`, which
// count taps and results row by row; expressions of type int or long long.
std::string taps_text(const kernels::WindowGrid& grid, const std::string& tap);
std::string pixels_text(const kernels::WindowGrid& grid, const std::string& pixel);
// Statements that declare in0, in1, in2, where a tap of a window falls, and a condition that it
// falls on an element. For transposed windows, from results to the windows that reach them.
std::string positions_text(const kernels::WindowGrid& grid);
std::string inside_text(const kernels::WindowGrid& grid);
std::string transposed_positions_text(const kernels::WindowGrid& grid);
std::string transposed_inside_text(const kernels::WindowGrid& grid);

// The coordinates of an image (n, c, spatial…), those of unused axes left out.
std::vector<std::string> image_coordinates(const kernels::WindowGrid& grid, const std::string& n,
                                           const std::string& c, const char* spatial);

}  // namespace assay::cuda
