// Aligns two sequences: the pairs, in order, with the largest total score.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace assay::profile {

// `score(a, b)` of 0 or less: they do not pair. Nothing is aligned if the sequences are too long
// for their product to be tried.
std::vector<std::pair<std::size_t, std::size_t>> align(
    std::size_t a_count, std::size_t b_count,
    const std::function<int(std::size_t a, std::size_t b)>& score);

}  // namespace assay::profile
