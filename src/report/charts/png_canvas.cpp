#include <cmath>
#include <numbers>

#include "report/charts/cairo_parts.h"
#include "report/charts/lettering.h"
#include "report/charts/png_file.h"

namespace assay::report {

namespace {

constexpr double kPointsPerInch = 72;
constexpr double kPixelsPerPoint = kDotsPerInch / kPointsPerInch;

int pixels(double points) {
  return static_cast<int>(std::ceil(points * kPixelsPerPoint));
}

double start_of(Anchor anchor, double width) {
  return anchor == Anchor::Start ? 0 : anchor == Anchor::Middle ? -width / 2 : -width;
}

class PngCanvas : public Canvas {
 public:
  explicit PngCanvas(Size size)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(size.width),
                                            pixels(size.height))),
        context_(cairo_create(surface_.get())) {
    require_success(cairo_status(context_.get()));
    set_colour({255, 255, 255});
    cairo_paint(context_.get());
    cairo_scale(context_.get(), kPixelsPerPoint, kPixelsPerPoint);
  }

  void rectangle(Point corner, Size size, Colour fill) override {
    cairo_rectangle(context_.get(), corner.x, corner.y, size.width, size.height);
    set_colour(fill);
    cairo_fill(context_.get());
  }

  void line(Point from, Point to, const Stroke& stroke) override {
    cairo_move_to(context_.get(), from.x, from.y);
    cairo_line_to(context_.get(), to.x, to.y);
    draw_outline(stroke);
  }

  void circle(Point centre, double radius, Colour fill, const Stroke& edge,
              std::string_view) override {
    cairo_new_path(context_.get());
    cairo_arc(context_.get(), centre.x, centre.y, radius, 0, 2 * std::numbers::pi);
    set_colour(fill);
    cairo_fill_preserve(context_.get());
    draw_outline(edge);
  }

  void text(Point baseline, std::string_view text, const TextStyle& style) override {
    cairo_save(context_.get());
    cairo_translate(context_.get(), baseline.x, baseline.y);
    cairo_rotate(context_.get(), -style.rotation * std::numbers::pi / 180);
    cairo_move_to(context_.get(), start_of(style.anchor, text_width(text, style)), 0);
    set_font(context_.get(), style);
    set_colour(style.colour);
    cairo_show_text(context_.get(), drawable(text).c_str());
    cairo_new_path(context_.get());
    cairo_restore(context_.get());
  }

  std::string finish() override {
    require_success(cairo_status(context_.get()));
    cairo_surface_t* surface = surface_.get();
    cairo_surface_flush(surface);
    const auto width = static_cast<std::uint32_t>(cairo_image_surface_get_width(surface));
    const auto height = static_cast<std::uint32_t>(cairo_image_surface_get_height(surface));
    const std::size_t words_per_row =
        static_cast<std::size_t>(cairo_image_surface_get_stride(surface)) / sizeof(std::uint32_t);
    const auto* words =
        reinterpret_cast<const std::uint32_t*>(cairo_image_surface_get_data(surface));
    return png_file({{words, words_per_row * height}, width, height, words_per_row}, kDotsPerInch);
  }

 private:
  void set_colour(Colour colour) {
    cairo_set_source_rgba(context_.get(), colour.red / 255.0, colour.green / 255.0,
                          colour.blue / 255.0, colour.opacity);
  }

  void draw_outline(const Stroke& stroke) {
    set_colour(stroke.colour);
    cairo_set_line_width(context_.get(), stroke.width);
    cairo_stroke(context_.get());
  }

  Surface surface_;
  Context context_;
};

}  // namespace

std::unique_ptr<Canvas> png_canvas(Size size) {
  return std::make_unique<PngCanvas>(size);
}

}  // namespace assay::report
