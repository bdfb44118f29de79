// Random numbers that are the same on every machine for the same seed and name; the standard
// library's own distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace assay {

class RandomNumbers {
 public:
  RandomNumbers(std::uint64_t seed, std::string_view name) {
    std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(seed),
                                        static_cast<std::uint32_t>(seed >> 32)};
    for (const char letter : name) words.push_back(static_cast<unsigned char>(letter));
    std::seed_seq sequence(words.begin(), words.end());
    generator_.seed(sequence);
  }

  std::uint64_t bits() { return generator_(); }                        // 64 of them
  std::uint64_t below(std::uint64_t limit) { return bits() % limit; }  // for small limits
  double uniform() {                                                   // in (0, 1)
    return (static_cast<double>(generator_() >> 11) + 0.5) * 0x1.0p-53;
  }
  double normal() {  // mean 0, standard deviation 1
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace assay
