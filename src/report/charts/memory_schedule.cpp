// What the arena holds while a model runs, step by step; the tensors of the peak have colours.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "assay/profile_report.h"
#include "report/charts/axis.h"
#include "report/charts/canvas.h"
#include "report/charts/chart_title.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"
#include "report/display_names.h"
#include "report/figures.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr double kScheduleMargin = 28;
constexpr Point kSchedulePlot{88, 84};
constexpr Size kSchedulePlotSize{480, 300};
constexpr double kScheduleBottom = kSchedulePlot.y + kSchedulePlotSize.height;
constexpr double kScheduleLegend = kSchedulePlot.x + kSchedulePlotSize.width + 26;
constexpr double kScheduleLegendWidth = 240;
constexpr Size kSchedulePicture{kScheduleLegend + kScheduleLegendWidth + kScheduleMargin,
                                kScheduleBottom + 62};
constexpr std::size_t kMostColumns = 480;  // steps beyond are drawn several in one

const TextStyle kScheduleTitle{.size = 15, .is_bold = true, .colour = palette::kInk};
const TextStyle kScheduleSubtitle{.size = 9.5, .colour = palette::kQuietInk};
const TextStyle kScheduleTick{.size = 8.5, .colour = palette::kQuietInk, .anchor = Anchor::Middle};
const TextStyle kScheduleAxis{.size = 9.5, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kScheduleText{.size = 8.5, .colour = palette::kInk};
const TextStyle kScheduleHead{.size = 9, .is_bold = true, .colour = palette::kInk};
const TextStyle kScheduleNote{.size = 8, .colour = palette::kQuietInk};

constexpr std::array kTensorColours = {palette::kBlue,      palette::kOrange, palette::kGreen,
                                       palette::kVermilion, palette::kSky,    palette::kPurple};
constexpr Colour kOtherTensors{205, 205, 211};

// What is alive at every step, and who makes up the largest sum.
struct Schedule {
  std::vector<std::int64_t> live;  // by step
  std::size_t peak = 0;
  std::vector<const NamedBuffer*> at_peak;  // the largest first
  std::vector<std::size_t> stacked;         // positions of those with a colour, oldest first
  std::int64_t most() const { return live.empty() ? 0 : live[peak]; }
};

Schedule schedule_of(const std::vector<NamedBuffer>& buffers, std::size_t steps) {
  Schedule schedule;
  std::vector<std::int64_t> change(steps + 1, 0);
  for (const NamedBuffer& buffer : buffers) {
    if (buffer.first_step >= steps) continue;
    change[buffer.first_step] += buffer.bytes;
    change[std::min(buffer.last_step + 1, steps)] -= buffer.bytes;
  }
  std::int64_t now = 0;
  for (std::size_t i = 0; i < steps; ++i) schedule.live.push_back(now += change[i]);
  schedule.peak =
      static_cast<std::size_t>(std::ranges::max_element(schedule.live) - schedule.live.begin());
  for (const NamedBuffer& buffer : buffers) {
    const bool is_alive = buffer.first_step <= schedule.peak && schedule.peak <= buffer.last_step;
    if (is_alive && buffer.bytes > 0) schedule.at_peak.push_back(&buffer);
  }
  std::ranges::stable_sort(schedule.at_peak, std::greater<>{}, &NamedBuffer::bytes);
  schedule.stacked.resize(std::min(schedule.at_peak.size(), kTensorColours.size()));
  std::iota(schedule.stacked.begin(), schedule.stacked.end(), std::size_t{0});
  std::ranges::stable_sort(schedule.stacked, {},
                           [&](std::size_t i) { return schedule.at_peak[i]->first_step; });
  return schedule;
}

// Exporters name a tensor after the layer that writes it: "/conv1/Conv_output_0".
std::string buffer_text(const NamedBuffer& buffer, const DisplayNames& names) {
  constexpr std::string_view kFirstOutput = "_output_0";
  std::string_view name = buffer.name;
  if (name.empty()) return "(workspace)";
  if (name.ends_with(kFirstOutput)) name.remove_suffix(kFirstOutput.size());
  return names.of(name);
}

// 1, 2, 4 … bytes, at most `most` of which make up the range.
std::int64_t byte_step(std::int64_t range, std::int64_t most) {
  std::int64_t step = 1;
  while (step * most < range) step *= 2;
  return step;
}

class SchedulePicture {
 public:
  SchedulePicture(const Profile& profile, Canvas& canvas)
      : profile_(profile),
        canvas_(canvas),
        names_(display_names(profile)),
        schedule_(schedule_of(profile.memory.buffers, profile.steps.size())),
        top_(std::max<std::int64_t>(1, schedule_.most()) * 108 / 100) {}

  void draw() {
    draw_headings();
    draw_axes();
    draw_columns();
    mark_peak();
    draw_legend();
  }

 private:
  // At whole pixels of a PNG: neighbours meet without a seam.
  double x_of(std::size_t step) const {
    constexpr double kPixels = kDotsPerInch / 72;
    const double x = kSchedulePlot.x + kSchedulePlotSize.width * static_cast<double>(step) /
                                           static_cast<double>(schedule_.live.size());
    return std::round(x * kPixels) / kPixels;
  }
  double y_of(std::int64_t bytes) const {
    return kScheduleBottom -
           kSchedulePlotSize.height * static_cast<double>(bytes) / static_cast<double>(top_);
  }

  void draw_headings() {
    const double width = kSchedulePicture.width - 2 * kScheduleMargin;
    canvas_.text({kScheduleMargin, kScheduleMargin + 12},
                 fitted(chart_title(profile_.model.name, "memory over one inference"), width,
                        kScheduleTitle),
                 kScheduleTitle);
    const std::string subtitle = fmt::format(
        "batch {}; at most {} alive at once, {} allocated; weights take {} more", profile_.batch,
        binary_text(schedule_.most()), binary_text(profile_.memory.program.arena_bytes),
        binary_text(profile_.memory.program.weight_bytes));
    canvas_.text({kScheduleMargin, kScheduleMargin + 29},
                 fitted(subtitle, width, kScheduleSubtitle), kScheduleSubtitle);
  }

  void draw_axes() {
    const double right = kSchedulePlot.x + kSchedulePlotSize.width;
    const std::int64_t step = byte_step(top_, 6);
    for (std::int64_t bytes = 0; bytes <= top_; bytes += step) {
      canvas_.line({kSchedulePlot.x, y_of(bytes)}, {right, y_of(bytes)}, {palette::kGrid, 0.8});
      canvas_.text({kSchedulePlot.x - 7, y_of(bytes) + 3}, bytes == 0 ? "0" : binary_text(bytes),
                   anchored(kScheduleTick, Anchor::End));
    }
    const LinearRange steps{0, static_cast<double>(schedule_.live.size())};
    for (const Tick& tick : ticks_of(steps, 8)) {
      if (tick.number != static_cast<double>(static_cast<std::int64_t>(tick.number))) continue;
      canvas_.text({kSchedulePlot.x + kSchedulePlotSize.width * steps.place(tick.number),
                    kScheduleBottom + 15},
                   tick.text, kScheduleTick);
    }
    canvas_.text({kSchedulePlot.x + kSchedulePlotSize.width / 2, kScheduleBottom + 34},
                 "step, in the order of execution", kScheduleAxis);
  }

  // The tensors of the peak from below, the oldest first; whatever else is alive above them.
  void draw_column(std::size_t step, double left, double width) {
    std::int64_t base = 0;
    const auto stack = [&](std::int64_t bytes, Colour colour) {
      if (bytes <= 0) return;
      canvas_.rectangle({left, y_of(base + bytes)}, {width, y_of(base) - y_of(base + bytes)},
                        colour);
      base += bytes;
    };
    for (const std::size_t i : schedule_.stacked) {
      const NamedBuffer& buffer = *schedule_.at_peak[i];
      const bool is_alive = buffer.first_step <= step && step <= buffer.last_step;
      stack(is_alive ? buffer.bytes : 0, kTensorColours[i]);
    }
    stack(schedule_.live[step] - base, kOtherTensors);
  }

  // Of many steps that share a column, the one with the most alive.
  void draw_columns() {
    const std::size_t steps = schedule_.live.size();
    const std::size_t per_column = (steps + kMostColumns - 1) / kMostColumns;
    for (std::size_t first = 0; first < steps; first += per_column) {
      const std::size_t end = std::min(first + per_column, steps);
      const auto begin = schedule_.live.begin();
      const auto most = std::max_element(begin + static_cast<std::ptrdiff_t>(first),
                                         begin + static_cast<std::ptrdiff_t>(end));
      const double width = x_of(end) - x_of(first);
      draw_column(static_cast<std::size_t>(most - begin), x_of(first), width);
    }
    const double right = kSchedulePlot.x + kSchedulePlotSize.width;
    canvas_.line({kSchedulePlot.x, kScheduleBottom}, {right, kScheduleBottom},
                 {palette::kFrame, 1});
    canvas_.line(kSchedulePlot, {kSchedulePlot.x, kScheduleBottom}, {palette::kFrame, 1});
  }

  void mark_peak() {
    const double x = (x_of(schedule_.peak) + x_of(schedule_.peak + 1)) / 2;
    const double y = y_of(schedule_.most());
    canvas_.line({x, kSchedulePlot.y + 4}, {x, y}, {palette::kInk, 0.9});
    const double middle = kSchedulePlot.x + kSchedulePlotSize.width / 2;
    canvas_.text({x + (x < middle ? 5 : -5), kSchedulePlot.y + 9},
                 fitted("peak: " + names_.of(profile_.steps[schedule_.peak].info.name),
                        kSchedulePlotSize.width / 2, kScheduleText),
                 anchored(kScheduleText, x < middle ? Anchor::Start : Anchor::End));
  }

  void legend_row(double& baseline, Colour colour, const std::string& name, std::int64_t bytes) {
    canvas_.rectangle({kScheduleLegend, baseline - 8}, {9, 9}, colour);
    canvas_.text({kScheduleLegend + 16, baseline},
                 fitted(name, kScheduleLegendWidth - 86, kScheduleText), kScheduleText);
    canvas_.text({kScheduleLegend + kScheduleLegendWidth, baseline}, binary_text(bytes),
                 anchored(kScheduleText, Anchor::End));
    baseline += 15;
  }

  void draw_legend() {
    double baseline = kSchedulePlot.y + 8;
    canvas_.text({kScheduleLegend, baseline}, "Alive at the peak", kScheduleHead);
    baseline += 17;
    std::int64_t others = schedule_.most();
    const std::size_t coloured = schedule_.stacked.size();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < coloured; ++i) {
      names.push_back(buffer_text(*schedule_.at_peak[i], names_));
    }
    names = fitted_apart(names, kScheduleLegendWidth - 86, kScheduleText);
    for (std::size_t i = 0; i < coloured; ++i) {
      const NamedBuffer& buffer = *schedule_.at_peak[i];
      legend_row(baseline, kTensorColours[i], names[i], buffer.bytes);
      others -= buffer.bytes;
    }
    if (const std::size_t more = schedule_.at_peak.size() - coloured; more > 0) {
      legend_row(baseline, kOtherTensors, fmt::format("{} more", more), others);
    }
    baseline += 6;
    canvas_.rectangle({kScheduleLegend, baseline - 8}, {9, 9}, kOtherTensors);
    canvas_.text({kScheduleLegend + 16, baseline}, "other tensors, before and after",
                 kScheduleNote);
  }

  const Profile& profile_;
  Canvas& canvas_;
  DisplayNames names_;
  Schedule schedule_;
  std::int64_t top_ = 1;
};

bool has_schedule(const Profile& profile) {
  return !profile.memory.buffers.empty() && !profile.steps.empty();
}

std::string drawn_schedule(const Profile& profile, std::unique_ptr<Canvas> canvas) {
  SchedulePicture(profile, *canvas).draw();
  return canvas->finish();
}

}  // namespace

std::optional<std::string> memory_schedule_png(const Profile& profile) {
  if (!has_schedule(profile)) return {};
  return drawn_schedule(profile, png_canvas(kSchedulePicture));
}

std::optional<std::string> memory_schedule_svg(const Profile& profile) {
  if (!has_schedule(profile)) return {};
  return drawn_schedule(profile, svg_canvas(kSchedulePicture, "memory over one inference"));
}

}  // namespace assay
