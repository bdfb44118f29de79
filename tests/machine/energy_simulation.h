// A clock that only simulated work advances, and files whose content is a function of its time.
#pragma once

#include <cerrno>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "assay/energy.h"
#include "machine/energy/sources.h"

namespace assay::testing {

// Ticks happen while time passes, in order, on the calling thread.
class FakePace : public Pace {
 public:
  std::int64_t nanoseconds() override { return now_; }
  double seconds() const { return static_cast<double>(now_) * 1e-9; }
  void wait(double seconds) override { pass(seconds); }
  void pass(double seconds) {
    const std::int64_t until = now_ + std::llround(seconds * 1e9);
    while (const auto ticking = ticking_.lock()) {
      if (ticking->next > until) break;
      now_ = ticking->next;
      ticking->next += ticking->period;
      ticking->tick();
    }
    now_ = until;
  }
  // Time passes without readings: the process was stopped.
  void stand_still(double seconds) {
    now_ += std::llround(seconds * 1e9);
    if (const auto ticking = ticking_.lock()) ticking->next = now_ + ticking->period;
  }
  std::shared_ptr<void> every(double seconds, std::function<void()> tick) override {
    const std::int64_t period = std::llround(seconds * 1e9);
    auto ticking = std::make_shared<Ticking>(period, now_ + period, std::move(tick));
    ticking_ = ticking;
    return ticking;
  }

 private:
  struct Ticking {
    Ticking(std::int64_t the_period, std::int64_t first, std::function<void()> the_tick)
        : period(the_period), next(first), tick(std::move(the_tick)) {}
    std::int64_t period = 0;
    std::int64_t next = 0;
    std::function<void()> tick;
  };
  std::int64_t now_ = 1'000'000'000;
  std::weak_ptr<Ticking> ticking_;
};

class FakeFiles : public machine::SystemFiles {
 public:
  void put(const std::string& path, std::string text) {
    put(path, [text = std::move(text)] { return machine::FileText{.text = text}; });
  }
  void put(const std::string& path, std::function<machine::FileText()> content) {
    contents_[path] = std::move(content);
  }
  void deny(const std::string& path) {
    put(path, [] { return machine::FileText{.error = EACCES}; });
  }
  void remove(const std::string& path) { contents_.erase(path); }

  machine::FileText read(const std::string& path) const override {
    const auto file = contents_.find(path);
    return file == contents_.end() ? machine::FileText{.error = ENOENT} : file->second();
  }
  std::vector<std::string> names(const std::string& folder) const override {
    std::vector<std::string> found;
    for (const auto& [path, content] : contents_) {
      if (!path.starts_with(folder + "/")) continue;
      const std::string rest = path.substr(folder.size() + 1);
      const std::string first = rest.substr(0, rest.find('/'));
      if (found.empty() || found.back() != first) found.push_back(first);
    }
    return found;
  }

 private:
  std::map<std::string, std::function<machine::FileText()>> contents_;
};

// A meter of one channel, whose value is whatever a function says.
class TraceMeter : public EnergyMeter {
 public:
  TraceMeter(MeterInfo info, std::function<MeterValue()> value)
      : EnergyMeter(std::move(info)), value_(std::move(value)) {}
  std::vector<MeterValue> read() override { return {value_()}; }

 private:
  std::function<MeterValue()> value_;
};

inline const EnergyFlag* find_flag(const EnergyReading& reading, std::string_view name) {
  for (const EnergyFlag& flag : reading.flags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

}  // namespace assay::testing
