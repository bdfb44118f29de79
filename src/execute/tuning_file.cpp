#include "execute/tuning_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "assay/error.h"
#include "base/atomic_file.h"
#include "base/fail.h"

namespace assay::execute {

namespace {

constexpr std::string_view kFirstLine = "assay tuning 1";
// Of a cache: some hundred networks, read in a few milliseconds.
constexpr std::size_t kMostAnswers = 5000;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 20;

bool is_damaged(const std::string& line) {
  return std::ranges::count(line, '\t') != 2;
}

void add_line(const std::string& line, std::map<std::string, std::string>& answers) {
  const auto tab = line.rfind('\t');
  answers[line.substr(0, tab)] = line.substr(tab + 1);
}

// Lines of machine, question and answer, with tabs between.
std::map<std::string, std::string> read_answers(const std::filesystem::path& path) {
  std::map<std::string, std::string> answers;
  if (!std::filesystem::exists(path)) return answers;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) {
    fail_bad_input("{}: not a tuning file of this version; name a file that does not exist yet",
                   path.string());
  }
  while (std::getline(file, line)) {
    if (is_damaged(line)) {
      fail_bad_input("{}: line '{}' is damaged; delete the file, it will be made again",
                     path.string(), line.substr(0, 60));
    }
    add_line(line, answers);
  }
  return answers;
}

// What can be read of a cache.
std::map<std::string, std::string> read_cached_answers(const std::filesystem::path& path) {
  std::map<std::string, std::string> answers;
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (failed || bytes > kMostBytes) return answers;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) return answers;
  while (std::getline(file, line)) {
    const bool is_complete = !file.eof();  // a line that was cut off may look like an answer
    if (is_complete && !is_damaged(line)) add_line(line, answers);
  }
  return answers;
}

std::map<std::string, std::string> read_answers(const TuningPlace& place) {
  return place.is_cache ? read_cached_answers(place.file) : read_answers(place.file);
}

// Where no file keeps them, or may fail to: equal programs of one process are compiled alike.
struct OwnAnswers {
  std::mutex mutex;
  std::map<std::string, std::string> answers;
};

OwnAnswers& own_answers() {
  static OwnAnswers own;
  return own;
}

}  // namespace

TuningPlace tuning_place(const ProgramOptions& options) {
  if (!options.tuning_file.empty()) return {.file = options.tuning_file};
  return {.file = options.tuning_cache, .is_cache = !options.tuning_cache.empty()};
}

TuningFile::TuningFile(TuningPlace place, std::string machine)
    : place_(std::move(place)), machine_(std::move(machine)) {
  const bool may_be_lost = place_.file.empty() || place_.is_cache;
  if (may_be_lost) {
    const std::lock_guard lock(own_answers().mutex);
    answers_ = own_answers().answers;
  }
  if (!place_.file.empty()) answers_.merge(read_answers(place_));
}

std::optional<std::string> TuningFile::find(const std::string& question) const {
  const auto found = answers_.find(machine_ + '\t' + question);
  if (found == answers_.end()) return {};
  return found->second;
}

void TuningFile::add(const std::string& question, const std::string& answer) {
  answers_[machine_ + '\t' + question] = answer;
  news_[machine_ + '\t' + question] = answer;
}

void TuningFile::save() {
  if (news_.empty()) return;
  if (place_.file.empty() || place_.is_cache) {
    const std::lock_guard lock(own_answers().mutex);
    for (const auto& [question, answer] : news_) own_answers().answers[question] = answer;
  }
  if (!place_.file.empty()) {
    answers_.merge(read_answers(place_));
    if (place_.is_cache) limit_size();
    try {
      if (place_.is_cache) make_folder(place_.file.parent_path());
      write_file();
    } catch (const Error&) {
      if (!place_.is_cache) throw;
    }
  }
  news_.clear();
}

void TuningFile::limit_size() {
  if (answers_.size() <= kMostAnswers) return;
  std::erase_if(answers_, [&](const auto& one) { return !one.first.starts_with(machine_ + '\t'); });
  if (answers_.size() > kMostAnswers) answers_ = news_;
}

void TuningFile::write_file() const {
  AtomicFile file(place_.file);
  file.write(fmt::format("{}\n", kFirstLine));
  for (const auto& [question, answer] : answers_) {
    file.write(fmt::format("{}\t{}\n", question, answer));
  }
  file.commit();
}

}  // namespace assay::execute
