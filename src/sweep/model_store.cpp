#include "sweep/model_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/system_error.h"
#include "sweep/isolated.h"
#include "sweep/limits.h"
#include "sweep/tasks.h"

namespace assay::sweep {

namespace {

using report::Json;

std::filesystem::path beside_model(const std::filesystem::path& folder, const std::string& task,
                                   const char* ending) {
  return folder / "models" / (task + ending);
}

std::optional<Json> record_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("error") || !json.contains("about")) return std::nullopt;
  return json;
}

bool is_as_written(const std::filesystem::path& model, const Json& about) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(model, none)) return false;
  return about.value("sha256", "") == sha256_of_file(model);
}

// Held by the one worker that makes a model.
class MakerLock {
 public:
  explicit MakerLock(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) {
      fail_bad_input("{}: cannot be written: {}", path.string(), last_system_error());
    }
  }
  MakerLock(const MakerLock&) = delete;
  MakerLock& operator=(const MakerLock&) = delete;
  ~MakerLock() { ::close(descriptor_); }

  // False if `progress` cancelled while another worker had it.
  bool acquire(Progress* progress) {
    constexpr auto kPause = std::chrono::milliseconds(50);
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        fail_running("models cannot be locked in this folder: {}", last_system_error());
      }
      if (progress != nullptr && progress->cancelled()) return false;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace

std::optional<ModelRecord> find_model(const std::filesystem::path& folder,
                                      const std::string& task) {
  const std::optional<Json> json = record_in(beside_model(folder, task, ".json"));
  if (!json) return std::nullopt;
  ModelRecord record{.error = json->value("error", ""),
                     .seconds = json->value("seconds", 0.0),
                     .about = json->at("about")};
  if (record.error.empty() && !is_as_written(model_path(folder, task), record.about)) {
    return std::nullopt;
  }
  return record;
}

ModelStore::ModelStore(std::filesystem::path folder, Materials& materials)
    : folder_(std::move(folder)), materials_(materials) {
  make_folder(folder_ / "models");
}

std::filesystem::path ModelStore::record_path(const std::string& task) const {
  return beside_model(folder_, task, ".json");
}

std::optional<ModelRecord> ModelStore::find(const std::string& task) const {
  auto record = find_model(folder_, task);
  if (record && retries_errors_ && !record->error.empty()) record.reset();
  return record;
}

std::optional<ModelRecord> ModelStore::ensure(const SweepTask& task, Progress* progress) {
  if (auto record = find(task.id)) return record;
  MakerLock lock(beside_model(folder_, task.id, ".lock"));
  if (!lock.acquire(progress)) return std::nullopt;
  if (auto record = find(task.id)) return record;
  return make(task, progress);
}

std::optional<ModelRecord> ModelStore::make(const SweepTask& task, Progress* progress) {
  materials_.data(task.seed);  // drawn here, once, and seen by the process
  const auto start = std::chrono::steady_clock::now();
  const IsolatedEnd end =
      run_isolated([&](Progress& inner) { return make_model(task, folder_, materials_, inner); },
                   limits_of(materials_.config()), progress, true);
  if (end.kind == IsolatedEnd::Kind::Stopped) return std::nullopt;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const bool is_made = end.kind == IsolatedEnd::Kind::Finished;
  ModelRecord record{.error = is_made ? "" : end.text,
                     .seconds = seconds.count(),
                     .about = is_made ? Json::parse(end.text) : Json::object()};
  write_file(record_path(task.id), report::text_of({{"schema", "assay.sweep-model/1"},
                                                    {"task", task.id},
                                                    {"kind", name(task.kind)},
                                                    {"error", record.error},
                                                    {"seconds", record.seconds},
                                                    {"about", record.about}}));
  return record;
}

}  // namespace assay::sweep
