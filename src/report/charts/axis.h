// The ranges of a chart's axes and their ticks.
#pragma once

#include <string>
#include <vector>

namespace assay::report {

// A range of positive numbers on a logarithmic scale.
struct LogRange {
  double low = 1;
  double high = 10;
  double place(double number) const;  // 0 at the low end, 1 at the high end
  double number(double place) const;
};

struct Tick {
  double number = 1;
  std::string text;  // empty for minor ticks
};

// At most `most` labelled ones, at powers of ten; between them, unless decades are skipped, small
// ones at 2 to 9, labelled at 2 and 5 where the range is short.
std::vector<Tick> ticks_of(const LogRange& range, std::size_t most);

// A range of numbers; `low` is below `high`.
struct LinearRange {
  double low = 0;
  double high = 1;
  double place(double number) const { return (number - low) / (high - low); }
};

// At most `most`, at multiples of 1, 2 or 5 times a power of ten.
std::vector<Tick> ticks_of(const LinearRange& range, std::size_t most);

}  // namespace assay::report
