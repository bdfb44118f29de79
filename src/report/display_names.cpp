#include "report/display_names.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace assay::report {

namespace {

using Path = std::vector<std::string>;

// "features", "features.4" or "block1", "block1-0": the second repeats the first.
bool repeats(const std::string& scope, const std::string& next) {
  return next.starts_with(scope + ".") || next.starts_with(scope + "-");
}

// The parts of a name between slashes, without scopes that the next one repeats.
Path path_of(std::string_view name) {
  Path path;
  for (std::string& part : split(name, '/')) {
    if (part.empty()) continue;
    if (!path.empty() && repeats(path.back(), part)) path.pop_back();
    path.push_back(std::move(part));
  }
  return path;
}

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos;
}

bool names_an_op(const std::string& part) {
  return !part.empty() && part[0] >= 'A' && part[0] <= 'Z';
}

// Whether every layer lies in the same outermost scope, and some deeper than that.
bool share_a_scope(const std::vector<Path>& paths) {
  const Path* first = nullptr;
  bool has_inner_scopes = false;
  for (const Path& path : paths) {
    if (path.size() < 2) continue;
    if (first == nullptr) first = &path;
    if (path.front() != first->front()) return false;
    has_inner_scopes = has_inner_scopes || path.size() > 2;
  }
  return has_inner_scopes;
}

void drop_shared_scopes(std::vector<Path>& paths) {
  while (share_a_scope(paths)) {
    for (Path& path : paths) {
      if (path.size() > 1) path.erase(path.begin());
    }
  }
}

std::string without_op(const Path& path) {
  if (path.size() < 2 || !names_an_op(path.back())) return join(path, ".");
  return join(std::span(path).first(path.size() - 1), ".");
}

std::map<std::string, int> tally(const std::vector<std::string>& texts) {
  std::map<std::string, int> seen;
  for (const std::string& text : texts) ++seen[text];
  return seen;
}

// The first form of each name that no other name has too: without its op, with it, in full.
std::vector<std::string> distinct(const std::vector<std::string>& names,
                                  const std::vector<Path>& paths) {
  std::vector<std::string> short_forms;
  std::vector<std::string> long_forms;
  for (std::size_t i = 0; i < names.size(); ++i) {
    short_forms.push_back(is_path(names[i]) ? without_op(paths[i]) : names[i]);
    long_forms.push_back(is_path(names[i]) ? join(paths[i], ".") : names[i]);
  }
  std::map<std::string, int> seen = tally(short_forms);
  for (const auto& [form, count] : tally(long_forms)) seen[form] += count;
  const auto is_own = [&](std::size_t i, const std::string& form) {
    const int by_itself = (form == short_forms[i]) + (form == long_forms[i]);
    return seen[form] == by_itself;
  };
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& form = is_own(i, short_forms[i])  ? short_forms[i]
                              : is_own(i, long_forms[i]) ? long_forms[i]
                                                         : names[i];
    shown.push_back(form.empty() ? names[i] : form);
  }
  return shown;
}

constexpr std::string_view kAround = "'\"(),;:.";

}  // namespace

DisplayNames::DisplayNames(std::span<const std::string> names) {
  const std::set<std::string> unique(names.begin(), names.end());
  const std::vector<std::string> list(unique.begin(), unique.end());
  std::vector<Path> paths;
  for (const std::string& name : list) {
    paths.push_back(is_path(name) ? path_of(name) : Path{name});
  }
  drop_shared_scopes(paths);
  const auto shown = distinct(list, paths);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (shown[i] != list[i]) shown_.emplace(list[i], shown[i]);
  }
}

std::string DisplayNames::of(std::string_view name) const {
  const auto found = shown_.find(name);
  return found == shown_.end() ? std::string(name) : found->second;
}

std::string DisplayNames::in_text(std::string_view text) const {
  std::vector<std::string> words = split(text, ' ');
  for (std::string& word : words) {
    const auto first = word.find_first_not_of(kAround);
    if (first == std::string::npos) continue;
    const auto length = word.find_last_not_of(kAround) + 1 - first;
    word.replace(first, length, of(word.substr(first, length)));
  }
  return join(words, " ");
}

DisplayNames display_names(const CountResult& result) {
  std::vector<std::string> names;
  for (const LayerCost& layer : result.cost.layers) names.push_back(layer.name);
  return DisplayNames(names);
}

DisplayNames display_names(const Profile& profile) {
  std::vector<std::string> names;
  for (const ProfileLayer& layer : profile.layers) names.push_back(layer.cost.name);
  return DisplayNames(names);
}

std::vector<std::string> scopes_of(std::string_view name) {
  if (!is_path(name)) return {};
  Path path = path_of(name);
  if (!path.empty()) path.pop_back();
  return path;
}

}  // namespace assay::report
