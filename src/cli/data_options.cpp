#include "cli/data_options.h"

#include "assay/training_data.h"
#include "base/fail.h"
#include "cli/model_argument.h"

namespace assay::cli {

Option* add_data_options(Command& command, DataArguments& arguments) {
  command.heading("Data");
  Option* dataset = command.add_option(
      "--dataset DATA", arguments.dataset,
      "fashion-mnist, mnist, synthetic, a folder of IDX files, a .npz file, or x.npy,y.npy");
  command.add_option("--dataset-folder FOLDER", arguments.folder,
                     "folder with the files of fashion-mnist or mnist");
  command.add_option("--val-subset N", arguments.val_subset,
                     "validate on N samples drawn at random");
  return dataset;
}

std::int64_t validation_count(const DataArguments& arguments) {
  return arguments.val_subset.empty() ? 0 : parse_count("--val-subset", arguments.val_subset, 1);
}

DatasetOptions dataset_options(const DataArguments& arguments, const Graph& graph,
                               std::uint64_t seed) {
  DatasetOptions options = {.folder = arguments.folder, .seed = seed};
  options.sample_dims = sample_dims_of(graph, options.sample_dims);
  return options;
}

Dataset limited(const Dataset& dataset, std::int64_t count, std::uint64_t seed) {
  const bool is_whole = count == 0 || count == dataset.size();
  return is_whole ? dataset : subset(dataset, count, seed);
}

Dataset test_data(const DataArguments& arguments, const Graph& graph, std::uint64_t seed,
                  std::vector<std::string>& warnings) {
  const std::int64_t count = validation_count(arguments);
  DatasetOptions options = dataset_options(arguments, graph, seed);
  if (has_test_part(arguments.dataset)) {
    options.split = Split::Test;
  } else {
    warnings.push_back(fmt::format(
        "data set '{}' has no test part: all samples are used, including those the model "
        "may have been trained on",
        arguments.dataset));
  }
  options.size = count;  // generate no more synthetic samples than needed
  return limited(load_dataset(arguments.dataset, options), count, seed);
}

}  // namespace assay::cli
