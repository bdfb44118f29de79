// Owners of cairo's objects; converts its errors to ours. Only the files that draw with cairo
// include it.
#pragma once

#include <cairo/cairo.h>

#include <memory>

#include "base/fail.h"
#include "report/charts/canvas.h"

namespace assay::report {

struct CairoRelease {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(cairo_font_options_t* options) const { cairo_font_options_destroy(options); }
};
using Surface = std::unique_ptr<cairo_surface_t, CairoRelease>;
using Context = std::unique_ptr<cairo_t, CairoRelease>;

inline void require_success(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  fail_running("a picture cannot be drawn: {}", cairo_status_to_string(status));
}

// Text is as wide when drawn as when measured, at any scale.
inline void set_font(cairo_t* context, const TextStyle& style) {
  const std::unique_ptr<cairo_font_options_t, CairoRelease> options(cairo_font_options_create());
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(context, options.get());
  cairo_select_font_face(context, "sans", CAIRO_FONT_SLANT_NORMAL,
                         style.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, style.size);
}

}  // namespace assay::report
