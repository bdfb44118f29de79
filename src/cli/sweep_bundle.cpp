#include "cli/sweep_bundle.h"

#include <sstream>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/shell.h"
#include "cli/sweep_scripts.h"
#include "cli/sweep_submit.h"

namespace assay::cli {

namespace {

namespace fs = std::filesystem;

// With its own loader and C library, so that it does not matter which ones a host has.
constexpr const char* kBundledAssay = "./lib/ld.so --library-path ./lib ./assay";

void link_to(const fs::path& target, const fs::path& link) {
  make_folder(link.parent_path());
  fs::create_symlink(fs::absolute(target), link);
}

// Lines are "libfmt.so.9 => /lib/libfmt.so.9 (0x…)" and "/lib64/ld-linux-x86-64.so.2 (0x…)".
void link_libraries(const fs::path& program, const fs::path& bundle) {
  std::istringstream lines(run_program({"ldd", program.string()}).output);
  bool has_loader = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string arrow;
    std::string path;
    words >> name >> arrow >> path;
    if (arrow == "=>" && path == "not")
      fail_running("{}: library {} is not there", program.string(), name);
    if (arrow == "=>") link_to(path, bundle / "lib" / name);
    if (arrow != "=>" && name.starts_with('/')) {
      link_to(name, bundle / "lib" / "ld.so");
      has_loader = true;
    }
  }
  if (!has_loader) {
    fail_running(
        "{}: ldd does not tell which libraries it needs; install assay on the hosts and pass "
        "--remote-assay",
        program.string());
  }
}

// The file, and those beside it that may hold its tensors.
std::string link_model(const fs::path& model, const fs::path& bundle) {
  const std::string stem = model.stem().string();
  for (const auto& entry : fs::directory_iterator(fs::absolute(model).parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(stem) && entry.is_regular_file()) {
      link_to(entry.path(), bundle / "inputs/model" / name);
    }
  }
  return "inputs/model/" + model.filename().string();
}

// "x.npy,y.npy" are two files.
std::string link_data_files(const std::string& dataset, const fs::path& bundle) {
  std::vector<std::string> linked;
  for (const std::string& part : split(dataset, ',')) {
    if (!fs::exists(part)) return dataset;
    const std::string name = "inputs/" + std::to_string(linked.size()) + "/" +
                             fs::absolute(part).lexically_normal().filename().string();
    link_to(part, bundle / name);
    linked.push_back(name);
  }
  return join(linked, ",");
}

void link_data(SweepConfig& config, const fs::path& bundle) {
  const fs::path known = fs::path("/usr/share/datasets") / config.dataset;
  const fs::path folder = config.dataset_folder.empty() ? known : fs::path(config.dataset_folder);
  const bool is_word = config.dataset.find('/') == std::string::npos;
  if (is_word && fs::is_directory(folder)) {
    link_to(folder, bundle / "inputs/data");
    config.dataset_folder = "inputs/data";
  } else {
    config.dataset = link_data_files(config.dataset, bundle);
  }
}

// The plan with paths as they are on a host. Tasks do not depend on paths.
void write_plan_for_hosts(SweepPlan plan, const fs::path& folder, const fs::path& bundle) {
  if (fs::is_regular_file(plan.config.model)) {
    plan.config.model = link_model(plan.config.model, bundle);
  }
  link_data(plan.config, bundle);
  write_plan(bundle / "plan", plan);
  make_folder(bundle / "plan/journal");
  link_to(folder / "models", bundle / "plan/models");
}

}  // namespace

fs::path bundle_folder(const fs::path& folder) {
  return folder / "parallel" / "bundle";
}

void write_bundle(const fs::path& folder, const SweepPlan& plan, const std::string& remote_assay,
                  bool retry_errors) {
  const fs::path bundle = bundle_folder(folder);
  fs::remove_all(bundle);
  make_folder(bundle);
  write_plan_for_hosts(plan, folder, bundle);
  if (remote_assay.empty()) {
    link_to(own_path(), bundle / "assay");
    link_libraries(own_path(), bundle);
  }
  write_script(bundle / "run_shard",
               filled(kRunShard, {{"@ASSAY@", remote_assay.empty() ? kBundledAssay
                                                                   : shell_quoted(remote_assay)},
                                  {"@RETRY@", retry_errors ? " --retry-errors" : ""}}));
}

}  // namespace assay::cli
