// Submits the shards of a plan as a Slurm job array.
//
// A job that runs again, on whichever node, goes on in the journal of its shard.
#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/model_argument.h"
#include "cli/shell.h"
#include "cli/sweep_scripts.h"
#include "cli/sweep_submit.h"

namespace assay::cli {

namespace {

void require_sbatch() {
  if (has_program("sbatch")) return;
  fail_running(
      "there is no sbatch here: submit from a machine with Slurm's commands, or write the job "
      "script alone with --no-submit");
}

// Indices of an array are below this.
std::size_t max_array_size() {
  constexpr std::size_t kSlurmDefault = 1001;
  if (!has_program("scontrol")) return kSlurmDefault;
  std::istringstream lines(run_program({"sh", "-c", "scontrol show config 2>/dev/null"}).output);
  for (std::string key, equals, value; lines >> key;) {
    if (key != "MaxArraySize" || !(lines >> equals >> value)) continue;
    return static_cast<std::size_t>(parse_integer(value).value_or(kSlurmDefault));
  }
  return kSlurmDefault;
}

// A path within double quotes of an #SBATCH line.
std::string sbatch_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (text.find_first_of("\"\\\n") != std::string::npos) {
    fail_bad_input("{}: Slurm takes no folder with quotes or backslashes in its name", text);
  }
  return text;
}

std::string array_text(const Submission& submission, const std::string& max_jobs) {
  std::string text = range_text(submission.left);
  if (!max_jobs.empty()) text += fmt::format("%{}", parse_count("--max-jobs", max_jobs, 1));
  return text;
}

std::string job_script(const Submission& submission, const SubmitArguments& arguments) {
  const std::string program =
      arguments.remote_assay.empty() ? own_path().string() : arguments.remote_assay;
  const std::string more =
      arguments.slurm_arguments.empty() ? "" : "#SBATCH " + arguments.slurm_arguments + "\n";
  const std::string journal =
      submission.shards == 1
          ? "results.jsonl"
          : fmt::format("shard-$SLURM_ARRAY_TASK_ID-of-{}.jsonl", submission.shards);
  // Slurm replaces patterns of output's name.
  const std::string output = filled(sbatch_path(submission.folder), {{"%", "%%"}});
  return filled(kSlurmJob, {{"@ARRAY@", array_text(submission, arguments.max_jobs)},
                            {"@OUTPUT@", output},
                            {"@HERE@", sbatch_path(std::filesystem::current_path())},
                            {"@ARGUMENTS@\n", more},
                            {"@FOLDER@", shell_quoted(submission.folder.string())},
                            {"@JOURNAL@", journal},
                            {"@SHARDS@", std::to_string(submission.shards)},
                            {"@ASSAY@", shell_quoted(program)},
                            {"@RETRY@", arguments.retry_errors ? " --retry-errors" : ""}});
}

std::string submitted_job(const std::filesystem::path& script) {
  const ProgramResult result = run_program({"sbatch", "--parsable", script.string()});
  if (result.exit_code != 0) {
    fail_running("sbatch refused {}: see its message above", script.string());
  }
  // "123" or "123;cluster"
  const std::string line = split(result.output, '\n').front();
  return split(line, ';').front();
}

void note_what_follows(const std::string& job, const std::string& folder, bool quiet) {
  print_note(fmt::format("watch it:   squeue --array --job {}\n"
                         "what is left: assay sweep plan {} --missing\n"
                         "results:    assay sweep merge {}",
                         job, folder, folder),
             quiet);
}

}  // namespace

Exit submit_to_slurm(const SubmitArguments& arguments, bool quiet) {
  if (!arguments.no_submit) require_sbatch();
  const Submission submission =
      submission_of(arguments, {.most = max_array_size()}, arguments.prepare, quiet);
  if (submission.left.empty()) {
    print_note("every task is done; nothing is submitted", quiet);
    return Exit::Fine;
  }
  const std::filesystem::path script = submission.folder / "slurm" / "job.sh";
  make_folder(script.parent_path());
  write_script(script, job_script(submission, arguments));
  print_note(fmt::format("{} of {} shards have work left; wrote {}", submission.left.size(),
                         submission.shards, script.string()),
             quiet);
  if (arguments.no_submit) return Exit::Fine;
  const std::string job = submitted_job(script);
  print_data(job + "\n");
  note_what_follows(job, submission.folder.string(), quiet);
  return Exit::Fine;
}

}  // namespace assay::cli
