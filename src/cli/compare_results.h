// What the arguments of `assay compare` name: a model, a stored profile or the folder of a sweep;
// and whether a stored profile's model can be run again.
#pragma once

#include <optional>
#include <string>

#include "assay/compare_report.h"
#include "cli/compared_model.h"

namespace assay::cli {

enum class ResultSource { Model, Profile, Sweep };

struct ComparedResult {
  std::string argument;
  ResultSource source = ResultSource::Model;
  std::optional<StoredProfile> profile = {};
  // How to run it: as asked for, else as the profile was made.
  ComparedModel fresh = {};
  std::string why_not_fresh = "";  // empty: it can be run

  bool can_run() const { return source != ResultSource::Sweep && why_not_fresh.empty(); }
};

// With the shapes and the engine that the command line asks for.
ComparedResult find_result(const std::string& argument, const ModelArguments& shapes,
                           const EngineArguments& engine);

// A profile's setting for a model that is compared with it, unless the command line asks for
// another.
void adopt_setting(const StoredProfile& profile, ComparedModel& model);

// Whether `now` is a stored profile's model again. Profiles do not record every option: if the work
// differs, an Error says so.
bool was_measured_again(const ComparedResult& stored, const StoredProfile& now);

// Two profiles of one file differ in how it was run, which running it again would hide.
bool are_of_one_model(const ComparedResult& a, const ComparedResult& b);

}  // namespace assay::cli
