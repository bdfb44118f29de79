#include "python/src/call.h"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>

namespace assay::python {

namespace {

constexpr std::chrono::milliseconds kBetweenChecks{20};
constexpr std::chrono::milliseconds kBetweenReports{100};

}  // namespace

CallProgress::CallProgress(py::object listener)
    : listener_(std::move(listener)), process_(::getpid()) {}

bool CallProgress::is_on_own_thread() const {
  return std::this_thread::get_id() == thread_ && ::getpid() == process_;
}

void CallProgress::remember_exception() const {
  if (!stopped_by_) stopped_by_ = std::make_unique<py::error_already_set>();
}

bool CallProgress::cancelled() const {
  if (!is_on_own_thread()) return false;
  if (stopped_by_) return true;
  const Moment now = std::chrono::steady_clock::now();
  if (now - last_check_ < kBetweenChecks) return false;
  last_check_ = now;
  const py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) remember_exception();
  return stopped_by_ != nullptr;
}

void CallProgress::report(double fraction, std::string_view what) {
  if (listener_.is_none() || !is_on_own_thread() || stopped_by_) return;
  const Moment now = std::chrono::steady_clock::now();
  if (now - last_report_ < kBetweenReports && what == last_text_) return;
  last_report_ = now;
  last_text_ = what;
  const py::gil_scoped_acquire locked;
  try {
    listener_(fraction, last_text_);
  } catch (py::error_already_set& raised) {
    stopped_by_ = std::make_unique<py::error_already_set>(std::move(raised));
  }
}

void CallProgress::stepped(const TrainMoment& moment) {
  const double steps = static_cast<double>(std::max<std::int64_t>(1, moment.steps));
  const double epochs =
      static_cast<double>(moment.epoch - 1) + static_cast<double>(moment.step) / steps;
  report(epochs / static_cast<double>(std::max<std::int64_t>(1, moment.epochs)),
         fmt::format("epoch {}/{}", moment.epoch, moment.epochs));
}

void CallProgress::raise_if_stopped() {
  if (stopped_by_) throw py::error_already_set(std::move(*std::exchange(stopped_by_, nullptr)));
}

SameThreadCount::SameThreadCount() : threads_(omp_get_max_threads()) {}

SameThreadCount::~SameThreadCount() {
  omp_set_num_threads(threads_);
}

}  // namespace assay::python
