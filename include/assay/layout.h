// How a report for people is laid out: how wide its tables may be, and whether they are Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

struct Layout {
  std::size_t width = 80;  // of tables; sentences are always wrapped at 80 columns
  bool markdown = false;
};

// A report whose tables are Markdown, with everything around them in code blocks. Other reports are
// returned as they are.
std::string finished(std::string_view report, const Layout& layout);

}  // namespace assay
