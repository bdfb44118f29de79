// Written by hand because cairo's own SVG turns letters into outlines: here names can be searched
// and selected, and a point shows its figures under the pointer.
#include <fmt/core.h>

#include "report/charts/canvas.h"
#include "report/charts/lettering.h"
#include "report/page_tables.h"

namespace assay::report {

namespace {

std::string escaped(std::string_view text) {
  return html_text(drawable(text));
}

// At most two decimals, without trailing zeros: "12.5", "3".
std::string number(double length) {
  std::string text = fmt::format("{:.2f}", length);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string painted(std::string_view what, Colour colour) {
  std::string text =
      fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", what, colour.red, colour.green, colour.blue);
  if (colour.opacity < 1) text += fmt::format(" {}-opacity=\"{}\"", what, number(colour.opacity));
  return text;
}

std::string outlined(const Stroke& stroke) {
  return painted("stroke", stroke.colour) +
         fmt::format(" stroke-width=\"{}\"", number(stroke.width));
}

std::string_view name(Anchor anchor) {
  return anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
}

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(Size size, std::string_view title) {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" role=\"img\">\n"
        "<title>{2}</title>\n",
        number(size.width), number(size.height), escaped(title));
    rectangle({0, 0}, size, {255, 255, 255});
  }

  void rectangle(Point corner, Size size, Colour fill) override {
    text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n",
                         number(corner.x), number(corner.y), number(size.width),
                         number(size.height), painted("fill", fill));
  }

  void line(Point from, Point to, const Stroke& stroke) override {
    text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n", number(from.x),
                         number(from.y), number(to.x), number(to.y), outlined(stroke));
  }

  void circle(Point centre, double radius, Colour fill, const Stroke& edge,
              std::string_view hint) override {
    text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}><title>{}</title></circle>\n",
                         number(centre.x), number(centre.y), number(radius), painted("fill", fill),
                         outlined(edge), escaped(hint));
  }

  void text(Point baseline, std::string_view text, const TextStyle& style) override {
    text_ +=
        fmt::format("<text x=\"{0}\" y=\"{1}\" font-size=\"{2}\" text-anchor=\"{3}\"",
                    number(baseline.x), number(baseline.y), number(style.size), name(style.anchor));
    // Keeps the width that the layout assumed, whatever font the viewer has.
    const double width = text_width(text, style);
    if (width > 0) {
      text_ += fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", number(width));
    }
    if (style.is_bold) text_ += " font-weight=\"bold\"";
    if (style.rotation != 0) {
      text_ += fmt::format(" transform=\"rotate({} {} {})\"", number(-style.rotation),
                           number(baseline.x), number(baseline.y));
    }
    text_ += painted("fill", style.colour) + ">" + escaped(text) + "</text>\n";
  }

  std::string finish() override { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Canvas> svg_canvas(Size size, std::string_view title) {
  return std::make_unique<SvgCanvas>(size, title);
}

}  // namespace assay::report
