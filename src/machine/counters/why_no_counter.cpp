#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "machine/counters/perf_system.h"

namespace assay::machine {

namespace {

constexpr int kUserSpaceAllowed = 2;  // the highest level at which a user may count their own code

std::string why_forbidden(std::optional<int> paranoid) {
  if (paranoid && *paranoid > kUserSpaceAllowed) {
    return fmt::format(
        "the kernel forbids it (perf_event_paranoid is {}): sudo sysctl "
        "kernel.perf_event_paranoid=2",
        *paranoid);
  }
  return fmt::format(
      "the kernel or a sandbox forbids it (perf_event_paranoid is {}): in a container allow "
      "perf_event_open (--cap-add PERFMON), elsewhere run as root or lower the level",
      paranoid ? std::to_string(*paranoid) : "unknown");
}

}  // namespace

std::string why_no_counter(int error, std::optional<int> paranoid) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "not in this processor, as in most virtual machines: give it a PMU, or run outside";
    case EACCES:
    case EPERM:
      return why_forbidden(paranoid);
    case ENOSYS:
      return "there is no perf_event_open here: the kernel was built without it or a sandbox hides "
             "it; run outside the sandbox";
    case EMFILE:
      return "too many files are open: raise the limit with ulimit -n, or use fewer threads";
    default:
      return fmt::format("perf_event_open says '{}'",
                         std::error_code(error, std::generic_category()).message());
  }
}

}  // namespace assay::machine
