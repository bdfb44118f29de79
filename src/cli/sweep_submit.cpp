// assay sweep submit: a plan handed to Slurm, or to hosts that ssh reaches.
#include "cli/sweep_submit.h"

#include <fmt/core.h>

#include <memory>

#include "base/fail.h"
#include "cli/console.h"

namespace assay::cli {

namespace {

constexpr const char* kSubmitExamples = R"(Examples:
  assay sweep submit sweep.yaml -o shared/run --slurm --slurm-args '--partition=cpu --time=1:00:00'
  assay sweep submit shared/run --slurm            again: only shards with work left
  assay sweep submit sweep.yaml -o run --parallel hosts.txt
  assay sweep submit sweep.yaml -o run --slurm --no-submit   write the job script, and look at it
With --parallel, models are made here, and hosts only measure. See docs/sweep-cluster.md.)";

Exit run_submit(const SubmitArguments& arguments, bool quiet) {
  if (arguments.slurm) return submit_to_slurm(arguments, quiet);
  if (!arguments.hosts.empty()) return submit_to_hosts(arguments, quiet);
  fail_usage("submit where? --slurm, or --parallel with a file of hosts");
}

void add_submit_places(Command& submit, SubmitArguments& arguments) {
  Option* slurm = submit.add_flag("--slurm", arguments.slurm, "as a Slurm job array");
  Option* hosts = submit.add_option("--parallel FILE", arguments.hosts,
                                    "over ssh with GNU parallel; a file with a host in each line");
  slurm->excludes(hosts);
  submit
      .add_option("--slurm-args ARGS", arguments.slurm_arguments, "options for sbatch, in one word")
      ->needs(slurm);
  submit.add_option("--max-jobs N", arguments.max_jobs, "of the array, at the same time")
      ->needs(slurm);
  submit
      .add_option("--remote-folder FOLDER", arguments.remote_folder,
                  "to work in on each host; default .assay-sweep/ID in the home folder")
      ->needs(hosts);
}

}  // namespace

void add_submit(Command& sweep, CommandLine& program) {
  auto arguments = std::make_shared<SubmitArguments>();
  Command* submit = sweep.add_subcommand("submit", "Run a sweep on a cluster, or on many hosts");
  submit->add_option("CONFIG", arguments->sweep.config, "a YAML file, or the folder of a plan")
      ->required();
  submit->add_option("-o,--out FOLDER", arguments->sweep.output,
                     "the folder, instead of output_dir");
  submit->add_option("--seeds N,…", arguments->sweep.seeds, "one run for each, for example 1,2,3");
  add_submit_places(*submit, *arguments);
  submit->add_option("--shards N", arguments->shards,
                     "parts of the plan; default by estimated time");
  submit->add_option("--remote-assay FILE", arguments->remote_assay,
                     "the program on the other machines, where it is installed");
  submit->add_flag("--prepare", arguments->prepare, "make all models here first");
  submit->add_flag("--retry-errors", arguments->retry_errors, "do failed tasks again");
  submit->add_flag("--no-submit", arguments->no_submit, "write the scripts, and start nothing");
  submit->footer(kSubmitExamples);
  submit->callback([&program, arguments] {
    program.chosen = [&program, arguments] {
      return listing_problems([&] { return run_submit(*arguments, program.quiet); });
    };
  });
}

}  // namespace assay::cli
