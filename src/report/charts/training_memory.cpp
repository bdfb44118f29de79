// What is in memory over the time of a training step, one colour for each use.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "assay/training_profile_report.h"
#include "report/charts/canvas.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"
#include "report/figures.h"
#include "report/training_rows.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr Size kSize{640, 360};
constexpr double kLeft = 62;
constexpr double kRight = 168;  // space for the legend
constexpr double kTop = 62;
constexpr double kBottom = 44;

const TextStyle kMemoryTitle{.size = 14, .is_bold = true, .colour = palette::kInk};
const TextStyle kMemorySubtitle{.size = 9, .colour = palette::kQuietInk};
const TextStyle kLabel{.size = 8.5, .colour = palette::kQuietInk};
const TextStyle kLabelEnd{.size = 8.5, .colour = palette::kQuietInk, .anchor = Anchor::End};
const TextStyle kLabelMiddle{.size = 8.5, .colour = palette::kInk, .anchor = Anchor::Middle};

Colour colour_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::Parameters:
      return palette::kBlue;
    case MemoryUse::Statistics:
      return palette::kQuietInk;
    case MemoryUse::OptimizerState:
      return palette::kPurple;
    case MemoryUse::Inputs:
      return palette::kFrame;
    case MemoryUse::KeptActivations:
      return palette::kGreen;
    case MemoryUse::Activations:
      return {0, 158, 115, 0.45};
    case MemoryUse::Gradients:
      return palette::kVermilion;
    case MemoryUse::ActivationGradients:
      return palette::kOrange;
    case MemoryUse::Workspace:
      break;
  }
  return palette::kSky;
}

class MemoryPicture {
 public:
  MemoryPicture(const TrainingProfile& profile, Canvas& canvas)
      : profile_(profile), canvas_(canvas) {
    for (const BytesByUse& bytes : profile.memory.by_step) most_ = std::max(most_, total(bytes));
    for (const ProfileStep& step : profile.step.steps) duration_ += step.time_ms;
  }

  void draw() {
    draw_headings();
    draw_scale();
    draw_areas();
    draw_phases();
    draw_legend();
  }

 private:
  double plot_width() const { return kSize.width - kLeft - kRight; }
  double plot_height() const { return kSize.height - kTop - kBottom; }
  double x_at(double ms) const {
    return kLeft + (duration_ > 0 ? plot_width() * ms / duration_ : 0);
  }
  double y_at(double bytes) const {
    return kSize.height - kBottom - plot_height() * bytes / static_cast<double>(most_);
  }

  void draw_headings() {
    canvas_.text({20, 26},
                 fmt::format("{}: memory over one training step", profile_.step.model.name),
                 kMemoryTitle);
    canvas_.text(
        {20, 42},
        fmt::format("batch {}, {}, {}; {} at most", profile_.step.batch, name(profile_.loss),
                    name(profile_.optimizer.kind), binary_text(most_)),
        kMemorySubtitle);
  }

  // About four lines at round numbers of bytes.
  void draw_scale() {
    std::int64_t step = 1;
    while (step * 6 <= most_) step *= 2;
    for (std::int64_t bytes = 0; bytes <= most_; bytes += step) {
      const double y = y_at(static_cast<double>(bytes));
      canvas_.line({kLeft, y}, {kLeft + plot_width(), y}, {palette::kGrid, 0.8});
      canvas_.text({kLeft - 6, y + 3}, binary_text(bytes), kLabelEnd);
    }
  }

  // Each slightly wider than its time, so that there is no visible gap between neighbours.
  void draw_areas() {
    constexpr double kOverlap = 0.15;
    const auto& steps = profile_.step.steps;
    double now = 0;
    for (std::size_t i = 0; i < steps.size() && i < profile_.memory.by_step.size(); ++i) {
      double base = 0;
      const double next = now + steps[i].time_ms;
      for (const MemoryUse use : kMemoryUses) {
        const auto bytes =
            static_cast<double>(profile_.memory.by_step[i][static_cast<std::size_t>(use)]);
        if (bytes <= 0) continue;
        const Point corner{x_at(now), y_at(base + bytes)};
        canvas_.rectangle(corner, {x_at(next) - x_at(now) + kOverlap, y_at(base) - corner.y},
                          colour_of(use));
        base += bytes;
      }
      now = next;
    }
  }

  void draw_phases() {
    double now = 0;
    double begin = 0;
    const auto& steps = profile_.step.steps;
    const auto is_forward = [&](std::size_t i) {
      return profile_.step_phases[i] == Phase::Forward;
    };
    const double bottom = kSize.height - kBottom;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      now += steps[i].time_ms;
      const bool is_last = i + 1 == steps.size();
      if (!is_last && is_forward(i) == is_forward(i + 1)) continue;
      const double width = x_at(now) - x_at(begin);
      const std::string label = is_forward(i) ? "forward" : "backward and update";
      const std::string shown = fitted(label, width, kLabelMiddle);
      if (width > 24)
        canvas_.text({(x_at(begin) + x_at(now)) / 2, bottom + 14}, shown, kLabelMiddle);
      if (!is_last) {
        canvas_.line({x_at(now), kTop}, {x_at(now), bottom}, {palette::kInk, 0.8});
      }
      begin = now;
    }
    canvas_.line({kLeft, bottom}, {kLeft + plot_width(), bottom}, {palette::kFrame, 0.8});
    canvas_.text({kLeft + plot_width(), bottom + 30}, duration_text(duration_), kLabelEnd);
    canvas_.text({kLeft, bottom + 30}, "0", kLabel);
  }

  void draw_legend() {
    double y = kTop + 6;
    for (auto use = kMemoryUses.rbegin(); use != kMemoryUses.rend(); ++use) {
      const auto at = static_cast<std::size_t>(*use);
      const bool is_shown = std::ranges::any_of(
          profile_.memory.by_step, [&](const BytesByUse& bytes) { return bytes[at] > 0; });
      if (!is_shown) continue;
      canvas_.rectangle({kSize.width - kRight + 14, y - 7}, {9, 9}, colour_of(*use));
      canvas_.text({kSize.width - kRight + 28, y + 1}, words_of(*use), kLabel);
      y += 17;
    }
  }

  const TrainingProfile& profile_;
  Canvas& canvas_;
  std::int64_t most_ = 1;
  double duration_ = 0;
};

std::string drawn(const TrainingProfile& profile, std::unique_ptr<Canvas> canvas) {
  canvas->rectangle({0, 0}, kSize, {255, 255, 255});
  MemoryPicture(profile, *canvas).draw();
  return canvas->finish();
}

}  // namespace

std::string training_memory_png(const TrainingProfile& profile) {
  return drawn(profile, png_canvas(kSize));
}

std::string training_memory_svg(const TrainingProfile& profile) {
  return drawn(profile, svg_canvas(kSize, "memory over one training step"));
}

}  // namespace assay
