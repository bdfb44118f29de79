#include "sweep/records.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sweep/journal.h"

namespace assay::sweep {

namespace {

std::vector<std::filesystem::path> journals_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(journal_folder(folder), none)) {
    if (entry.path().extension() == ".jsonl" && entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// Every record has these, or it is not one of ours.
bool is_readable(const report::Json& record) {
  const auto is_text = [&](const char* key) {
    return record.contains(key) && record[key].is_string();
  };
  return record.is_object() && is_text("task") && is_text("error") && is_text("measured_at") &&
         record.contains("result") && record.contains("host");
}

bool is_better(const report::Json& one, const report::Json& other) {
  const auto rank = [](const report::Json& record) {
    return std::tuple(is_error(record), record["measured_at"].get<std::string>(), record.dump());
  };
  return rank(one) < rank(other);
}

void take_record(report::Json record, const std::set<std::string>& wanted, Records& records) {
  ++records.read;
  const std::string task = record["task"].get<std::string>();
  if (!wanted.contains(task)) {
    ++records.foreign;
    return;
  }
  const auto known = records.by_task.find(task);
  if (known == records.by_task.end()) {
    records.by_task.emplace(task, std::move(record));
    return;
  }
  ++records.duplicates;
  if (is_better(record, known->second)) known->second = std::move(record);
}

}  // namespace

std::filesystem::path journal_folder(const std::filesystem::path& folder) {
  return folder / "journal";
}

bool is_error(const report::Json& record) {
  return !record["error"].get<std::string>().empty();
}

Records read_records(const std::filesystem::path& folder, const SweepPlan& plan) {
  std::set<std::string> wanted;
  for (const SweepTask& task : plan.tasks) {
    if (!task.makes_model()) wanted.insert(task.id);
  }
  Records records;
  for (const auto& file : journals_of(folder)) {
    JournalContent content = read_journal(file);
    records.damaged_lines += content.damaged_lines;
    for (report::Json& record : content.records) {
      if (is_readable(record)) {
        take_record(std::move(record), wanted, records);
      } else {
        ++records.damaged_lines;
      }
    }
  }
  return records;
}

}  // namespace assay::sweep
