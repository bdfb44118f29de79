#include "profile/import/alignment.h"

#include <algorithm>
#include <cstdint>

namespace assay::profile {

std::vector<std::pair<std::size_t, std::size_t>> align(
    std::size_t a_count, std::size_t b_count,
    const std::function<int(std::size_t a, std::size_t b)>& score) {
  constexpr std::size_t kMostCells = std::size_t{1} << 28;
  if (a_count == 0 || b_count == 0 || a_count > kMostCells / b_count) return {};
  enum class From : std::uint8_t { A, B, Both };
  std::vector<From> from(a_count * b_count);
  std::vector<int> last(b_count + 1);
  std::vector<int> row(b_count + 1);
  for (std::size_t a = 0; a < a_count; ++a) {
    for (std::size_t b = 0; b < b_count; ++b) {
      const int pair_score = score(a, b);
      const int both = pair_score > 0 ? last[b] + pair_score : -1;
      const int best = std::max({both, last[b + 1], row[b]});
      row[b + 1] = best;
      from[a * b_count + b] = best == both ? From::Both : best == last[b + 1] ? From::A : From::B;
    }
    std::swap(last, row);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = a_count, b = b_count; a > 0 && b > 0;) {
    const From step = from[(a - 1) * b_count + (b - 1)];
    if (step == From::Both) pairs.emplace_back(a - 1, b - 1);
    if (step != From::B) --a;
    if (step != From::A) --b;
  }
  std::ranges::reverse(pairs);
  return pairs;
}

}  // namespace assay::profile
