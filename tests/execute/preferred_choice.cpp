#include "preferred_choice.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace assay {

namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(separator, from)) != std::string::npos;
       from = at + separator.size()) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

// A line of machine, question and answer. A question ends with the names of the candidates, an
// answer is the position of one and its name.
std::string with_preferred(const std::string& line, const std::string& algorithm) {
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string::npos) return line;
  const auto candidates = split(line.substr(0, tab), "; ");
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (!candidates[i].starts_with(algorithm)) continue;
    const std::string name = candidates[i].substr(0, candidates[i].find(" +"));
    return line.substr(0, tab + 1) + std::to_string(i - 1) + " " + name;
  }
  return line;
}

// Whether an answer was changed. A changed answer may lead to layouts, and so to questions, that
// nobody asked before.
bool prefer(const std::filesystem::path& path, const std::string& algorithm) {
  if (!std::filesystem::exists(path)) return false;
  std::ifstream file(path);
  std::ostringstream after;
  bool is_changed = false;
  for (std::string line; std::getline(file, line);) {
    const std::string changed = with_preferred(line, algorithm);
    is_changed = is_changed || changed != line;
    after << changed << '\n';
  }
  std::ofstream(path) << after.str();
  return is_changed;
}

}  // namespace

std::unique_ptr<Program> compile_preferring(const std::string& algorithm, const Inferred& model,
                                            ProgramOptions options) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("assay_preferred_" + std::to_string(getpid()) + ".tuning");
  std::filesystem::remove(path);
  options.tuning_file = path.string();
  auto program = compile(model, options);
  while (prefer(path, algorithm)) program = compile(model, options);
  std::filesystem::remove(path);
  return program;
}

}  // namespace assay
