// What the options of `assay profile` say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/decode.h"
#include "assay/profile_report.h"
#include "cli/engine_options.h"
#include "cli/model_options.h"
#include "cli/output_format.h"
#include "cli/profile_training.h"

namespace assay::cli {

struct ProfileArguments {
  std::vector<std::string> models;
  ModelArguments model;  // with several models, batches or threads, one after the other
  EngineArguments engine;
  std::string min_time;
  std::string max_time;
  std::string target;
  std::string warmup;
  std::string runs;
  std::string sort;
  std::string columns;
  std::string top;
  std::string trace;
  std::string folder;
  std::string html;
  bool ops = false;
  bool steps = false;
  bool explain = false;
  bool strict = false;
  bool no_ceilings = false;
  bool roofline = false;
  bool hardware = false;
  bool counters = false;
  bool energy = false;
  std::string memory_bandwidth_gbps;
  std::string peak_compute_gmacs;
  std::string power_watts;
  std::string turns;
  std::string decode;
  std::string capacity;
  std::string import_file;
  std::string node_data;
  std::string benchmark_json;
  std::string annotate;
  TrainingArguments training;
  OutputFormat format;
};

void add_profile_options(Command& command, ProfileArguments& arguments);

TimingOptions timing_options(const ProfileArguments& arguments);
// The step that --decode asks for; nothing without it.
std::optional<DecodingStep> decoding_step(const ProfileArguments& arguments);
ProfileReportOptions report_options(const ProfileArguments& arguments);

}  // namespace assay::cli
