// How Python calls long work: without the global lock, with progress, and so that Ctrl-C stops it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include "assay/error.h"
#include "assay/train.h"
#include "python/src/bindings.h"

namespace assay::python {

// Reports to a Python function of (fraction, text), and is cancelled by Python's signals or by an
// exception of that function. In a copy of the process (fork) it does nothing.
class CallProgress : public TrainProgress {
 public:
  explicit CallProgress(py::object listener);
  void report(double fraction, std::string_view what) override;
  void stepped(const TrainMoment& moment) override;
  bool cancelled() const override;
  // Raises what stopped the work. The caller has the global lock.
  void raise_if_stopped();

 private:
  using Moment = std::chrono::steady_clock::time_point;

  bool is_on_own_thread() const;
  void remember_exception() const;

  py::object listener_;
  std::thread::id thread_ = std::this_thread::get_id();
  int process_ = 0;
  std::string last_text_;
  Moment last_report_ = {};
  mutable Moment last_check_ = {};
  mutable std::unique_ptr<py::error_already_set> stopped_by_;
};

// Programs set how many threads OpenMP takes; other libraries of the process share that number.
class SameThreadCount {
 public:
  SameThreadCount();
  ~SameThreadCount();
  SameThreadCount(const SameThreadCount&) = delete;
  SameThreadCount& operator=(const SameThreadCount&) = delete;

 private:
  int threads_ = 0;
};

// Returns `work(progress)`, which must not touch Python's objects.
template <typename Work>
auto call(const py::object& listener, const Work& work) {
  CallProgress progress(listener);
  std::optional<std::invoke_result_t<Work, CallProgress&>> result;
  try {
    const py::gil_scoped_release released;
    const SameThreadCount unchanged;
    result.emplace(work(progress));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) progress.raise_if_stopped();
    throw;
  }
  progress.raise_if_stopped();
  return std::move(*result);
}

}  // namespace assay::python
