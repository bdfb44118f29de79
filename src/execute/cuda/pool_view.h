// The windows of a pool and of its gradient, in the texts of kernels of one thread for each window,
// whose coordinates are i0, i1, … of the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/cuda/lowering.h"
#include "kernels/window_grid.h"

namespace assay::cuda {

struct PoolView {
  kernels::WindowGrid grid;
  Dims image;  // batch, channels, spatial
  bool counts_padding = false;
  // Which coordinate of the result is the channel, and which is the first spatial one.
  std::size_t channel_axis = 1;
  std::size_t first_axis = 2;

  void set_channels_last();
  // Statements that declare out0, out1, out2.
  std::string pixels_text() const;
  // Taps that count for an average: on elements, or on the padding too.
  std::string counted_text() const;
  // Statements that declare `count`, how many taps count of the window at out0, out1, out2.
  std::string count_text(const char* window = "out") const;
  // The coordinates of the tap's element, those of the window.
  std::vector<std::string> image_at() const;
  std::vector<std::string> result_at() const;
  // `place`, which counts the elements of a plane row by row, among those of the whole image.
  std::string place_text(bool by_columns) const;
};

// For images of these dimensions; nothing if there are none, or of too many axes.
std::optional<PoolView> pool_view_of(const Lowering& lowering, const Node& node, const Dims& image);

// Statements that declare `best`, the first greatest number of the window and `place`, its place in
// the plane, which is -1 if the window has only padding.
std::string greatest_text(const PoolView& view, const std::string& type, const std::string& least,
                          const std::string& element);

// The attribute `p` of a norm, an int or, in old versions, a float.
double power_of(const Node& node);

}  // namespace assay::cuda
