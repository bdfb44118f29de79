#include "execute/cpu/onednn/tuning_file.h"

#include <fmt/core.h>

#include <fstream>
#include <mutex>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

namespace {

constexpr std::string_view kFirstLine = "assay tuning 1";

std::string processor_name() {
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string this_machine_and_library() {
  return fmt::format("{}, {}, {}", processor_name(), simd().name, library_version());
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
    const auto tab = line.rfind('\t');
    if (tab == std::string::npos || line.find('\t') == tab) {
      fail_bad_input("{}: line '{}' is damaged; delete the file, it will be made again",
                     path.string(), line.substr(0, 60));
    }
    answers[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return answers;
}

// Where no file keeps them: equal programs of one process are compiled alike.
struct OwnAnswers {
  std::mutex mutex;
  std::map<std::string, std::string> answers;
};

OwnAnswers& own_answers() {
  static OwnAnswers own;
  return own;
}

}  // namespace

TuningFile::TuningFile(std::filesystem::path path)
    : path_(std::move(path)), machine_(this_machine_and_library()) {
  if (!path_.empty()) {
    answers_ = read_answers(path_);
    return;
  }
  const std::lock_guard lock(own_answers().mutex);
  answers_ = own_answers().answers;
}

std::optional<std::string> TuningFile::find(const std::string& question) const {
  const auto found = answers_.find(machine_ + '\t' + question);
  if (found == answers_.end()) return {};
  return found->second;
}

void TuningFile::add(const std::string& question, const std::string& answer) {
  answers_[machine_ + '\t' + question] = answer;
  has_news_ = true;
}

void TuningFile::save() {
  if (!has_news_) return;
  has_news_ = false;
  if (path_.empty()) {
    const std::lock_guard lock(own_answers().mutex);
    own_answers().answers = answers_;
    return;
  }
  answers_.merge(read_answers(path_));
  AtomicFile file(path_);
  file.write(fmt::format("{}\n", kFirstLine));
  for (const auto& [question, answer] : answers_) {
    file.write(fmt::format("{}\t{}\n", question, answer));
  }
  file.commit();
}

}  // namespace assay::cpu
