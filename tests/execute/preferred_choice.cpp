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

}  // namespace

std::unique_ptr<Program> compile_preferring(const std::string& algorithm, const Inferred& model,
                                            ProgramOptions options) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("assay_preferred_" + std::to_string(getpid()) + ".tuning");
  std::filesystem::remove(path);
  options.tuning_file = path.string();
  auto program = compile(model, options);
  if (!std::filesystem::exists(path)) return program;
  std::ifstream before(path);
  std::ostringstream after;
  for (std::string line; std::getline(before, line);)
    after << with_preferred(line, algorithm) << '\n';
  std::ofstream(path) << after.str();
  program = compile(model, options);
  std::filesystem::remove(path);
  return program;
}

}  // namespace assay
