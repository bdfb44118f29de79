#include "train/checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "assay/npz.h"
#include "assay/text_form.h"
#include "base/fail.h"
#include "base/number_cast.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay::train {

namespace {

constexpr std::string_view kFormat = "assay training, version 1";
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kColumns = 9;
using Row = std::array<double, kColumns>;

Tensor text_tensor(const std::string& text) {
  const std::span letters(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return Tensor::of(DataType::UInt8, {static_cast<std::int64_t>(text.size())}, letters);
}

std::string text_in(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string model_fingerprint(const Graph& model) {
  const std::string text = to_text(model);
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(text))};
  for (const auto& initializer : model.initializers()) {
    if (initializer.tensor.type() == DataType::String) continue;
    parts.push_back(initializer.tensor.bytes());
  }
  return sha256_of(parts);
}

std::string described(const Dataset* data) {
  if (data == nullptr) return "none";
  return fmt::format("{}, less {}, over {}", fingerprint(*data), data->normalisation.mean,
                     data->normalisation.deviation);
}

std::string described(const Optimizer& optimizer) {
  return fmt::format("{}, momentum {}, beta1 {}, beta2 {}, epsilon {}, weight decay {}",
                     name(optimizer.kind), optimizer.momentum, optimizer.beta1, optimizer.beta2,
                     optimizer.epsilon, optimizer.weight_decay);
}

// A falling rate depends on where it ends.
std::string described_schedule(const TrainOptions& options) {
  if (options.schedule == Schedule::Constant) return "constant";
  return fmt::format("{} over {} epochs", name(options.schedule), options.epochs);
}

std::string setup_text(const TrainingSetup& setup) {
  std::string text = std::string(kFormat) + "\n";
  for (const auto& [what, value] : setup) text += what + ": " + value + "\n";
  return text;
}

TrainingSetup parsed_setup(const std::string& text) {
  TrainingSetup setup;
  for (const std::string& line : split(text, '\n')) {
    const auto colon = line.find(": ");
    if (colon != std::string::npos)
      setup.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return setup;
}

Row row_of(const EpochResult& epoch) {
  const auto& accuracy = epoch.validation_accuracy;
  return {epoch.loss,
          epoch.accuracy,
          epoch.validation_loss.value_or(kMissing),
          accuracy ? static_cast<double>(accuracy->correct) : kMissing,
          accuracy ? static_cast<double>(accuracy->total) : kMissing,
          epoch.learning_rate,
          epoch.samples_per_second,
          epoch.seconds,
          static_cast<double>(epoch.epoch)};
}

EpochResult epoch_of(std::span<const double> row) {
  EpochResult epoch = {.epoch = number_cast<std::int64_t>(row[8]),
                       .loss = row[0],
                       .accuracy = row[1],
                       .learning_rate = row[5],
                       .samples_per_second = row[6],
                       .seconds = row[7]};
  if (std::isnan(row[2])) return epoch;
  epoch.validation_loss = row[2];
  epoch.validation_accuracy =
      accuracy_of(number_cast<std::int64_t>(row[3]), number_cast<std::int64_t>(row[4]));
  return epoch;
}

Tensor epochs_tensor(const std::vector<EpochResult>& epochs) {
  std::vector<double> numbers;
  for (const EpochResult& epoch : epochs) {
    const Row row = row_of(epoch);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return Tensor::of<double>(DataType::Float64, {static_cast<std::int64_t>(epochs.size()), kColumns},
                            numbers);
}

// The arrays of the file, each of which must be there.
class Arrays {
 public:
  explicit Arrays(const std::filesystem::path& path) : file_(path.string()), all_(read_npz(path)) {}

  Tensor take(const std::string& name, DataType type, std::size_t rank) const {
    const auto found = all_.find(name);
    if (found == all_.end()) refuse(fmt::format("has no array '{}'", name));
    const Tensor& tensor = found->second;
    if (tensor.type() == type && tensor.dims().size() == rank) return tensor;
    refuse(fmt::format("array '{}' is {}[{}]", name, assay::name(tensor.type()),
                       join_dims(tensor.dims())));
  }

  std::vector<Tensor> take_list(const std::string& prefix) const {
    std::vector<Tensor> list;
    for (;;) {
      const auto found = all_.find(fmt::format("{}_{}", prefix, list.size()));
      if (found == all_.end()) return list;
      list.push_back(found->second);
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail_bad_input("{}: not a checkpoint of training: {}", file_, why);
  }

 private:
  std::string file_;
  std::map<std::string, Tensor> all_;
};

std::vector<EpochResult> epochs_in(const Arrays& arrays) {
  const Tensor table = arrays.take("epochs", DataType::Float64, 2);
  if (table.dims()[0] < 1 || table.dims()[1] != kColumns) {
    arrays.refuse(fmt::format("its epochs are a table of {}", join_dims(table.dims())));
  }
  const auto numbers = table.to_vector<double>();
  std::vector<EpochResult> epochs;
  for (std::size_t at = 0; at < numbers.size(); at += kColumns) {
    epochs.push_back(epoch_of(std::span(numbers).subspan(at, kColumns)));
    if (epochs.back().epoch != static_cast<std::int64_t>(epochs.size())) {
      arrays.refuse(fmt::format("epoch {} is at position {}", epochs.back().epoch, epochs.size()));
    }
  }
  return epochs;
}

void check_same(const std::filesystem::path& path, const TrainingSetup& found,
                const TrainingSetup& wanted) {
  for (const auto& [what, value] : wanted) {
    const auto same = std::ranges::find(found, what, &std::pair<std::string, std::string>::first);
    const std::string there =
        same == found.end() ? "not known" : without_control_characters(same->second);
    if (there == value) continue;
    fail_bad_input(
        "{}: is a checkpoint of another training: its {} is {}, this one's is {}; name another "
        "file, or use the same settings",
        path.string(), what, there, value);
  }
}

}  // namespace

TrainingSetup setup_of(const Graph& model, const Dataset& training, const Dataset* validation,
                       const TrainOptions& options) {
  return {{"model", model_fingerprint(model)},
          {"training data", described(&training)},
          {"validation data", described(validation)},
          {"batch size", fmt::format("{}", options.batch_size)},
          {"parts of a batch", fmt::format("{}", options.accumulate)},
          {"learning rate", fmt::format("{}", options.learning_rate)},
          {"schedule", described_schedule(options)},
          {"optimizer", described(options.optimizer)},
          {"loss", std::string(name(options.loss))},
          {"seed", fmt::format("{}", options.seed)},
          {"order of samples", options.shuffle ? "shuffled" : "as stored"},
          {"patience", fmt::format("{}", options.patience)}};
}

void write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  std::map<std::string, Tensor> arrays;
  arrays["setup"] = text_tensor(setup_text(checkpoint.setup));
  arrays["state_names"] = text_tensor(join(checkpoint.state_names, "\n"));
  arrays["epochs"] = epochs_tensor(checkpoint.epochs);
  const auto add = [&](const char* prefix, const std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      arrays[fmt::format("{}_{}", prefix, i)] = tensors[i];
    }
  };
  add("state", checkpoint.state);
  add("best", checkpoint.best);
  write_npz(arrays, path);
}

Checkpoint read_checkpoint(const std::filesystem::path& path, const TrainingSetup& setup) {
  const Arrays arrays(path);
  const std::string text = text_in(arrays.take("setup", DataType::UInt8, 1));
  if (!text.starts_with(std::string(kFormat) + "\n")) {
    arrays.refuse(fmt::format("its setup does not begin with '{}'", kFormat));
  }
  check_same(path, parsed_setup(text), setup);
  return {.setup = setup,
          .state_names = split(text_in(arrays.take("state_names", DataType::UInt8, 1)), '\n'),
          .epochs = epochs_in(arrays),
          .state = arrays.take_list("state"),
          .best = arrays.take_list("best")};
}

}  // namespace assay::train
