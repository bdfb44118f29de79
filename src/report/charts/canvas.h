// A picture under construction. Lengths are in points of 1/72 inch from the upper left corner; the
// same drawing becomes a PNG at 180 DPI or an SVG. Bytes that are not UTF-8 and control
// characters are replaced in text, so that no name can break a picture.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace assay::report {

constexpr double kDotsPerInch = 180;

struct Point {
  double x = 0;
  double y = 0;
};

struct Size {
  double width = 0;
  double height = 0;
};

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
  double opacity = 1;
};

inline Colour see_through(Colour colour, double opacity) {
  colour.opacity = opacity;
  return colour;
}

struct Stroke {
  Colour colour;
  double width = 1;
};

enum class Anchor { Start, Middle, End };

struct TextStyle {
  double size = 9;
  bool is_bold = false;
  Colour colour = {};
  Anchor anchor = Anchor::Start;
  double rotation = 0;  // degrees counterclockwise around its anchor point
};

inline TextStyle anchored(TextStyle style, Anchor anchor) {
  style.anchor = anchor;
  return style;
}

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void rectangle(Point corner, Size size, Colour fill) = 0;
  virtual void line(Point from, Point to, const Stroke& stroke) = 0;
  // `hint` is a tooltip, in formats that have them.
  virtual void circle(Point centre, double radius, Colour fill, const Stroke& edge,
                      std::string_view hint) = 0;
  virtual void text(Point baseline, std::string_view text, const TextStyle& style) = 0;
  virtual std::string finish() = 0;  // the file's bytes
};

std::unique_ptr<Canvas> png_canvas(Size size);
std::unique_ptr<Canvas> svg_canvas(Size size, std::string_view title);

}  // namespace assay::report
