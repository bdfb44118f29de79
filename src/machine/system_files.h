// Small system files of sysfs and procfs: one value, read at once, or an errno with the reason.
// Replaced in tests by a trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/energy_meter.h"

namespace assay::machine {

struct FileText {
  std::optional<std::string> text = {};
  int error = 0;  // errno, where there is no text
};

class SystemFiles {
 public:
  virtual ~SystemFiles() = default;
  virtual FileText read(const std::string& path) const = 0;
  virtual std::vector<std::string> names(const std::string& folder) const = 0;  // sorted
};

class RealFiles : public SystemFiles {
 public:
  explicit RealFiles(std::string root) : root_(std::move(root)) {}
  FileText read(const std::string& path) const override;
  std::vector<std::string> names(const std::string& folder) const override;

 private:
  std::string root_;
};

std::optional<std::string> first_line(const SystemFiles& files, const std::string& path);
// A whole number; otherwise a reason, as below.
MeterValue read_whole(const SystemFiles& files, const std::string& path,
                      const std::string& all_such = "");
// A whole number that is not negative; otherwise a reason that names the file and what to try.
// `all_such` is the pattern of the files that belong together, for a permission to be given at
// once.
MeterValue read_count(const SystemFiles& files, const std::string& path,
                      const std::string& all_such = "");

}  // namespace assay::machine
