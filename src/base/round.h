#pragma once

namespace assay {

// The next multiple of `step`, or the number itself if it is one.
template <typename Integer>
constexpr Integer rounded_up(Integer number, Integer step) {
  return (number + step - 1) / step * step;
}

}  // namespace assay
