// What the ways to submit a sweep share: a folder with a plan, cut into shards.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "assay/sweep.h"
#include "cli/exit.h"
#include "cli/sweep_parts.h"

namespace assay::cli {

struct SubmitArguments {
  SweepArguments sweep;  // its `config` may be the folder of a plan
  bool slurm = false;
  std::string hosts;  // a file, for GNU parallel
  std::string shards;
  std::string max_jobs;
  std::string slurm_arguments;
  std::string remote_assay;
  std::string remote_folder;
  bool prepare = false;
  bool retry_errors = false;
  bool no_submit = false;
};

struct Submission {
  std::filesystem::path folder = {};  // absolute
  SweepPlan plan = {};
  std::size_t shards = 1;
  std::vector<std::size_t> left = {};  // shards with tasks that are not done
};

// How a plan is cut where nobody says: a shard takes about so long on this machine.
struct ShardLimits {
  double seconds = 300;
  std::size_t fewest = 1;
  std::size_t most = 1000;
};
Submission submission_of(const SubmitArguments& arguments, const ShardLimits& limits, bool prepares,
                         bool quiet);

// The shards that have tasks in `missing`, in order.
std::vector<std::size_t> shards_with(const SweepPlan& plan, const std::vector<SweepTask>& missing,
                                     std::size_t shards);
// What an earlier submission in this folder was cut into; 0: there was none.
std::size_t remembered_shards(const std::filesystem::path& folder);
std::string range_text(const std::vector<std::size_t>& numbers);  // "0-3,7,9-10"

std::filesystem::path own_path();  // of this program
// Each name within the text is replaced, for example @FOLDER@.
std::string filled(std::string text,
                   const std::vector<std::pair<std::string, std::string>>& values);
void write_script(const std::filesystem::path& file, const std::string& text);  // executable

Exit submit_to_slurm(const SubmitArguments& arguments, bool quiet);
Exit submit_to_hosts(const SubmitArguments& arguments, bool quiet);

void add_submit(Command& sweep, CommandLine& program);

}  // namespace assay::cli
