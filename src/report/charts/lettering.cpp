#include "report/charts/lettering.h"

#include <algorithm>

#include "report/charts/cairo_parts.h"
#include "report/text_table.h"

namespace assay::report {

namespace {

// Far more than a line of any picture; the rest of a longer name need not be measured.
constexpr std::size_t kLongestMeasured = 300;

class Ruler {
 public:
  Ruler()
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1)),
        context_(cairo_create(surface_.get())) {}

  double width(const std::string& text, const TextStyle& style) {
    set_font(context_.get(), style);
    cairo_text_extents_t extents{};
    cairo_text_extents(context_.get(), text.c_str(), &extents);
    require_success(cairo_status(context_.get()));
    return std::max(extents.x_advance, extents.x_bearing + extents.width);
  }

 private:
  Surface surface_;
  Context context_;
};

}  // namespace

double text_width(std::string_view text, const TextStyle& style) {
  thread_local Ruler ruler;
  return ruler.width(drawable(text), style);
}

std::string fitted(std::string_view text, double width, const TextStyle& style) {
  std::string whole = shortened(drawable(text), kLongestMeasured);
  if (text_width(whole, style) <= width) return whole;
  std::size_t fits = 0;
  std::size_t too_long = display_width(whole);
  while (fits + 1 < too_long) {
    const std::size_t middle = (fits + too_long) / 2;
    (text_width(shortened(whole, middle), style) <= width ? fits : too_long) = middle;
  }
  return shortened(whole, fits);
}

std::vector<std::string> fitted_apart(std::span<const std::string> texts, double width,
                                      const TextStyle& style) {
  std::vector<std::string> whole;
  std::size_t too_long = 1;
  for (const std::string& text : texts) {
    whole.push_back(drawable(text));
    too_long = std::max(too_long, std::min(display_width(whole.back()), kLongestMeasured) + 1);
  }
  const auto fit = [&](const std::vector<std::string>& shown) {
    return std::ranges::all_of(
        shown, [&](const std::string& text) { return text_width(text, style) <= width; });
  };
  std::size_t fits = 1;
  while (fits + 1 < too_long) {
    const std::size_t middle = (fits + too_long) / 2;
    (fit(shortened_apart(whole, middle)) ? fits : too_long) = middle;
  }
  return shortened_apart(whole, fits);
}

}  // namespace assay::report
