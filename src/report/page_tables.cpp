#include "report/page_tables.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace assay::report {

namespace {

constexpr std::size_t kMostItems = 20;  // of a list within a cell
constexpr int kDeepest = 6;

std::string plain_text(const Json& value) {
  if (value.is_null()) return "–";
  return value.is_string() ? value.get<std::string>() : text_of(value);
}

std::string list_text(const Json& list) {
  std::vector<std::string> parts;
  for (const Json& item : list) {
    if (parts.size() == kMostItems) {
      parts.push_back(fmt::format("… ({} in all)", list.size()));
      break;
    }
    parts.push_back(plain_text(item));
  }
  return join(parts, ", ");
}

bool is_table(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const Json& item) { return item.is_object(); });
}

std::string rows_table(const Json& rows) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  std::string text = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& key : keys) text += "<th scope=\"col\">" + html_text(key) + "</th>";
  text += "</tr></thead><tbody>\n";
  for (const Json& row : rows) {
    text += "<tr>";
    for (const std::string& key : keys) {
      const auto found = row.find(key);
      text += "<td>" + (found == row.end() ? "" : html_text(plain_text(*found))) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string object_table(const Json& object, int depth);

std::string cell(const Json& value, int depth) {
  if (is_table(value)) return rows_table(value);
  if (value.is_object() && depth < kDeepest) return object_table(value, depth + 1);
  return html_text(value.is_array() ? list_text(value) : plain_text(value));
}

std::string object_table(const Json& object, int depth) {
  std::string text = "<table class=\"facts\">";
  for (const auto& [key, value] : object.items()) {
    text += "<tr><th scope=\"row\">" + html_text(key) + "</th><td>" + cell(value, depth) +
            "</td></tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string html_tables(const Json& document) {
  return cell(document, 0);
}

}  // namespace assay::report
