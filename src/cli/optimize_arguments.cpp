#include "cli/optimize_arguments.h"

#include "cli/page.h"

namespace assay::cli {

namespace {

void add_version_options(Command& command, OptimizeArguments& arguments) {
  command.heading("Versions");
  command.add_option("--precision TYPE", arguments.engine.precision,
                     "fp32, fp16, bf16, int8 (calibrated) or dynamic; default: searched if there "
                     "is a target, else unchanged");
  command.add_flag("--allow-bf16", arguments.allow_bf16,
                   "search bf16 too, which ONNX Runtime does not run on processors");
  command.add_option("--prune SHARE", arguments.prune,
                     "remove this share of the channels, from 0 to below 1");
  command.add_option("--criterion NAME", arguments.criterion,
                     "what makes a channel important: l1 (default), l2, batch-norm or activation");
  command.add_option("--ranking NAME", arguments.ranking,
                     "uniform (default): every group loses the same share; or global");
  command.add_option("--round-to N", arguments.round_to,
                     "keep multiples of N channels; default 16 in a search, 8 or 4 in narrow "
                     "layers, else 1");
  command.add_flag("--measured-widths", arguments.measured_widths,
                   "keep widths that this machine rewards: each group is timed at several");
  command.add_option("--low-rank SHARE", arguments.low_rank,
                     "write large matrices of linear layers as two thinner ones with this share "
                     "of the weights, from 0 (none) to below 1, where that is faster");
  Option* tidy =
      command.add_flag("--tidy", arguments.tidy,
                       "only remove what changes no result: unused and repeated nodes, constants, "
                       "repeated weights; part of every version");
  command.add_flag("--no-tidy", arguments.no_tidy, "keep these")->excludes(tidy);
  command.heading("Quantisation");
  command.add_option("--calibration NAME", arguments.calibration_method,
                     "how ranges follow from the data: minmax (default), percentile, mse or "
                     "entropy");
  command.add_option("--percentile PERCENT", arguments.percentile,
                     "share of the numbers that a range holds, for --calibration percentile; "
                     "default 99.99");
  command.add_flag("--per-tensor", arguments.per_tensor,
                   "one scale for a whole weight instead of one for each channel");
  command.add_flag("--equalize", arguments.equalize,
                   "equalise the ranges of neighbouring layers before quantising");
  command.heading("Fine-tuning");
  command.add_option("--finetune EPOCHS", arguments.finetune,
                     "train a pruned or low-rank version for N epochs on --dataset");
  command.add_option("--finetune-lr X", arguments.finetune_rate,
                     "learning rate that fine-tuning starts with; default: found by short trials");
}

void add_goal_options(Command& command, OptimizeArguments& arguments) {
  command.heading("Target");
  command.add_option("--target-ms MS", arguments.target_ms,
                     "search for a version with this latency: 12.5, or 50% of the original's");
  command.add_option("--target-mb MB", arguments.target_mb,
                     "search for a version with stored tensors of at most this size, in MB or %");
  command.add_option("--max-loss POINTS", arguments.max_loss,
                     "lose at most this many percentage points of accuracy, or without labels of "
                     "agreement with the original");
  command.add_option("--device ID", arguments.device,
                     "--target-ms is for this device, as 'assay fit' predicts it");
  add_device_options(command, arguments.devices);
}

}  // namespace

void add_optimize_options(Command& command, OptimizeArguments& arguments) {
  add_model_options(command, arguments.model);
  command.heading("Output");
  command.add_option("-o,--output FILE", arguments.output, "write the version to FILE.onnx")
      ->required();
  add_version_options(command, arguments);
  add_goal_options(command, arguments);
  add_optimize_data_options(command, arguments.data);
  add_engine_options(command, arguments.engine);
  command.heading("Measurement");
  command.add_option("--power-watts WATTS", arguments.power_watts,
                     "energy_proxy_j is this power × latency; default 5");
  command.add_option("--max-time SECONDS", arguments.max_time,
                     "stop the last comparison with the original after N seconds, and time each "
                     "version tried for a twentieth of that; default 60");
  command.heading("Output");
  command.add_flag("--sensitivity", arguments.sensitivity,
                   "show what int8 in each layer alone loses, as a table and a picture beside "
                   "the model");
  command.add_option("--out FOLDER", arguments.out, "write tables and pictures into this folder");
  add_output_format(command, arguments.format, "print the versions tried as CSV");
  add_page_option(command, arguments.html);
}

}  // namespace assay::cli
