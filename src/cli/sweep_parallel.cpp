// Runs the shards of a plan on hosts that ssh reaches. GNU parallel decides which host takes which
// shard, one at a time; files travel with tar through the same connections.
#include <fmt/core.h>
#include <sys/utsname.h>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "cli/console.h"
#include "cli/shell.h"
#include "cli/sweep_bundle.h"
#include "cli/sweep_hosts.h"
#include "cli/sweep_scripts.h"
#include "cli/sweep_submit.h"

namespace assay::cli {

namespace {

void require_parallel() {
  if (!has_program("parallel")) {
    fail_running("there is no GNU parallel here; install it (Debian: parallel)");
  }
  if (!has_program("ssh")) fail_running("there is no ssh here; install it (openssh-client)");
}

// In the home folder, unless it is absolute; another plan has another one.
std::string remote_work(const SubmitArguments& arguments, const std::filesystem::path& folder) {
  constexpr std::size_t kDigits = 12;
  std::string path = arguments.remote_folder;
  if (path.empty()) {
    path = ".assay-sweep/" + sha256_of_file(folder / "plan.json").substr(0, kDigits);
  }
  if (path.find_first_of("'\"\\ $`") != std::string::npos) {
    fail_usage("--remote-folder {}: without blanks and quotes, please", path);
  }
  return path.starts_with('/') ? path : "$HOME/" + path;
}

std::string this_architecture() {
  utsname system = {};
  return ::uname(&system) == 0 ? system.machine : "";
}

std::string hosts_table(const std::vector<SweepHostLogin>& hosts) {
  std::string text;
  for (const SweepHostLogin& host : hosts) {
    text += fmt::format("{}\t{}\t{}\n", host.name, host.login, host.command);
  }
  return text;
}

std::filesystem::path write_drive_script(const Submission& submission,
                                         const SubmitArguments& arguments,
                                         const std::vector<SweepHostLogin>& hosts) {
  const std::filesystem::path here = submission.folder / "parallel";
  std::string left;
  for (const std::size_t shard : submission.left) left += fmt::format(" {}", shard);
  write_file(here / "hosts.tsv", hosts_table(hosts));
  write_script(
      here / "drive.sh",
      filled(kDriveHosts, {{"@HERE@", shell_quoted(here.string())},
                           {"@JOURNALS@", shell_quoted((submission.folder / "journal").string())},
                           {"@WORK@", shell_quoted(remote_work(arguments, submission.folder))},
                           {"@NEEDS@", arguments.remote_assay.empty() ? this_architecture() : ""},
                           {"@SHARDS@", std::to_string(submission.shards)},
                           {"@LEFT@", left.substr(1)}}));
  return here / "drive.sh";
}

Exit merge_what_came(const std::string& folder, bool drive_failed, bool quiet) {
  const Exit merged = merge_and_report(folder, {}, quiet);
  if (merged != Exit::Fine || !drive_failed) return merged;
  print_error("some shards were not finished; the same command goes on");
  return Exit::Failed;
}

}  // namespace

Exit submit_to_hosts(const SubmitArguments& arguments, bool quiet) {
  constexpr double kSecondsPerShard = 60;  // here; boards are slower
  constexpr std::size_t kMostShards = 100000;
  if (!arguments.no_submit) require_parallel();
  const std::vector<SweepHostLogin> hosts = read_hosts(arguments.hosts);
  const Submission submission = submission_of(
      arguments, {.seconds = kSecondsPerShard, .fewest = hosts.size(), .most = kMostShards}, true,
      quiet);
  const std::string folder = submission.folder.string();
  if (submission.left.empty()) return merge_what_came(folder, false, quiet);
  write_bundle(submission.folder, submission.plan, arguments.remote_assay, arguments.retry_errors);
  const std::filesystem::path script = write_drive_script(submission, arguments, hosts);
  print_note(fmt::format("{} of {} shards have work left, for {} hosts; wrote {}",
                         submission.left.size(), submission.shards, hosts.size(), script.string()),
             quiet);
  if (arguments.no_submit) return Exit::Fine;
  const bool failed = run_visibly({script.string()}) != 0;
  return merge_what_came(folder, failed, quiet);
}

}  // namespace assay::cli
