// Results as one self-contained HTML page: no network, no other file. Stored results (the JSON of
// any command) become a page as they are, so one page serves every kind of result.
//
// Whatever a model or a layer is called appears as text. A build without npm has no charts: its
// page shows the same figures as plain tables and says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct PageDocument {
  std::string name;         // of the file, for people
  std::string json;         // a whole document with a `schema` of "assay.…"
  std::string record = "";  // what was written down about its origin, as JSON; empty: nothing
};

// A file that a result was made from.
struct PageSource {
  std::string path;
  std::string sha256;
};

struct Page {
  std::vector<PageDocument> documents;
  std::string command = "";              // that made it; for the record
  std::vector<PageSource> sources = {};  // for the record
};

// Throws an Error that names a document that is not a result of this program.
std::string page_html(const Page& page);

// Whether pages of this build have charts.
bool has_page_charts();

// "assay.profile/1" of a stored result; empty if the text is JSON but no result. Throws an Error if
// it is not JSON.
std::string result_schema(std::string_view json, const std::string& described_as);

}  // namespace assay
