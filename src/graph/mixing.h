// How random numbers are derived from a seed and a position, everywhere in assay.
#pragma once

namespace assay::graph {

// splitmix64's finaliser: a bijection whose output bits all depend on all input bits. `Bits` is
// std::uint64_t, or a vector of them. Always inlined: code compiled for one instruction set must
// not be linked into another's.
template <typename Bits>
[[gnu::always_inline]] inline Bits mixed(Bits x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace assay::graph
