#include "report/charts/roofline_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "report/figures.h"

namespace assay::report {

namespace {

bool has_a_place(double number) {
  // Far beyond any machine; further out the ranges would overflow.
  return std::isfinite(number) && number >= 1e-30 && number <= 1e30;
}

double share_of(const RooflinePoint& point) {
  return std::isfinite(point.time_share) ? std::clamp(point.time_share, 0.0, 1.0) : 0.0;
}

std::vector<RooflinePoint> drawable_points(const RooflineChart& chart) {
  std::vector<RooflinePoint> points;
  for (RooflinePoint point : chart.points) {
    if (!has_a_place(point.intensity) || !has_a_place(point.gflops)) continue;
    point.time_share = share_of(point);
    points.push_back(std::move(point));
  }
  std::ranges::stable_sort(points, std::greater<>{}, &RooflinePoint::time_share);
  return points;
}

std::vector<Roof> drawable_roofs(const RooflineChart& chart) {
  std::vector<Roof> roofs;
  for (const ComputeCeiling& peak : chart.peaks) {
    if (!has_a_place(peak.gflops)) continue;
    roofs.push_back({fmt::format("{} {} GFLOP/s", peak.name, rate_text(peak.gflops)), false,
                     peak.gflops, 0, 0});
  }
  for (const BandwidthCeiling& one : chart.bandwidths) {
    if (!has_a_place(one.gbps)) continue;
    roofs.push_back(
        {fmt::format("{} {} GB/s", one.name, rate_text(one.gbps)), true, one.gbps, 0, 0});
  }
  return roofs;
}

std::optional<double> highest(const std::vector<Roof>& roofs, bool is_bandwidth) {
  std::optional<double> rate;
  for (const Roof& roof : roofs) {
    if (roof.is_bandwidth == is_bandwidth) rate = std::max(rate.value_or(roof.rate), roof.rate);
  }
  return rate;
}

// Where each bandwidth meets the highest peak: the knees of the roofline.
std::vector<double> knees(const std::vector<Roof>& roofs) {
  std::vector<double> intensities;
  const auto peak = highest(roofs, false);
  for (const Roof& roof : roofs) {
    if (peak && roof.is_bandwidth) intensities.push_back(*peak / roof.rate);
  }
  return intensities;
}

LogRange range_around(const std::vector<double>& numbers, double space, LogRange otherwise) {
  if (numbers.empty()) return otherwise;
  const auto [least, most] = std::ranges::minmax(numbers);
  // Over many decades the same factor would be too little to see.
  const double factor = std::max(space, std::pow(most / least, 0.06));
  const LogRange range{least / factor, most * factor};
  // At least two decades, so that the axis has ticks and slopes are visible.
  const double missing = 2 - std::log10(range.high / range.low);
  if (missing <= 0) return range;
  return {range.low * std::pow(10, -missing / 2), range.high * std::pow(10, missing / 2)};
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Axes fit the points that make up nearly all of the time: a layer of a few nanoseconds must not
// push the others together.
constexpr double kTimeThatMatters = 0.97;

double time_of(const std::vector<RooflinePoint>& points) {
  double sum = 0;
  for (const RooflinePoint& point : points) sum += point.time_share;
  return sum;
}

void drop_what_hardly_matters(RooflineLayout& layout) {
  const double whole = time_of(layout.points);
  if (whole <= 0) return;
  double sum = 0;
  std::size_t kept = 0;
  while (kept < layout.points.size() && sum < kTimeThatMatters * whole) {
    sum += layout.points[kept++].time_share;
  }
  const std::span<const RooflinePoint> main(layout.points.data(), kept);
  const auto slowest = std::ranges::min(main, {}, &RooflinePoint::gflops);
  const std::size_t before = layout.points.size();
  const auto [least, most] = std::ranges::minmax(main, {}, &RooflinePoint::intensity);
  std::erase_if(layout.points, [&](const RooflinePoint& point) {
    return point.gflops < slowest.gflops / 2 || point.intensity < least.intensity / 2 ||
           point.intensity > most.intensity * 2;
  });
  const std::size_t dropped = before - layout.points.size();
  if (dropped == 0) return;
  layout.note += fmt::format("{}{} outside of the axes: {} of the time",
                             layout.note.empty() ? "" : "; ", plural(dropped, "point"),
                             share_text(std::max(0.0, whole - time_of(layout.points))));
}

LogRange intensity_range(const RooflineLayout& layout) {
  std::vector<double> numbers = knees(layout.roofs);
  for (const RooflinePoint& point : layout.points) numbers.push_back(point.intensity);
  LogRange range = range_around(numbers, 2.5, {0.1, 1000});
  range.high *= std::pow(range.high / range.low, 0.2);  // space for labels of horizontal lines
  return range;
}

LogRange gflops_range(const RooflineLayout& layout) {
  std::vector<double> numbers;
  for (const RooflinePoint& point : layout.points) numbers.push_back(point.gflops);
  for (const Roof& roof : layout.roofs) {
    if (!roof.is_bandwidth) numbers.push_back(roof.rate);
  }
  if (layout.points.empty() && !numbers.empty()) {
    numbers.push_back(std::ranges::max(numbers) / 300);  // space for the slopes
  }
  return range_around(numbers, 2, {1, 1000});
}

// A bandwidth ends at the highest peak, a peak begins at the highest bandwidth; both at the frame.
void trim_roofs(RooflineLayout& layout) {
  const auto peak = highest(layout.roofs, false);
  const auto bandwidth = highest(layout.roofs, true);
  for (Roof& roof : layout.roofs) {
    roof.from = layout.intensity.low;
    roof.to = layout.intensity.high;
    if (roof.is_bandwidth) {
      roof.from = std::max(roof.from, layout.gflops.low / roof.rate);
      roof.to = std::min(roof.to, peak.value_or(layout.gflops.high) / roof.rate);
    } else if (bandwidth) {
      roof.from = std::max(roof.from, roof.rate / *bandwidth);
    }
  }
  std::erase_if(layout.roofs, [](const Roof& roof) { return roof.from >= roof.to; });
}

std::string note_on(std::size_t points, std::size_t ceilings) {
  std::string text;
  if (points > 0) {
    text = plural(points, "point") + " left out: no finite intensity or rate above 0";
  }
  if (ceilings > 0) {
    text += (text.empty() ? "" : "; ") + plural(ceilings, "ceiling") + " left out";
  }
  return text;
}

}  // namespace

RooflineLayout layout_of(const RooflineChart& chart) {
  RooflineLayout layout;
  layout.points = drawable_points(chart);
  layout.roofs = drawable_roofs(chart);
  layout.note = note_on(chart.points.size() - layout.points.size(),
                        chart.peaks.size() + chart.bandwidths.size() - layout.roofs.size());
  drop_what_hardly_matters(layout);
  layout.intensity = intensity_range(layout);
  layout.gflops = gflops_range(layout);
  trim_roofs(layout);
  return layout;
}

std::string letter(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : "";
}

std::vector<std::string> bounds_of(const std::vector<RooflinePoint>& points) {
  std::vector<std::string> bounds = {"compute", "memory", "overhead"};
  for (const RooflinePoint& point : points) {
    if (std::ranges::find(bounds, point.bound) == bounds.end()) bounds.push_back(point.bound);
  }
  return bounds;
}

std::string share_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

}  // namespace assay::report
