#include <algorithm>

#include "assay/quantize.h"
#include "base/fail.h"
#include "optimize/quantize/layer_times.h"
#include "optimize/quantize/sensitivity.h"

namespace assay {

namespace {

using optimize::CalibratedModel;

class MixedSearch {
 public:
  MixedSearch(const Graph& model, const CalibrationData& data, const ModelScore& score,
              const MixedOptions& options, Progress* progress)
      : data_(data),
        score_(score),
        options_(options),
        progress_(progress),
        calibrated_(model, data, options.quantize, progress) {
    result_.float_score = score(model);
  }

  MixedResult run() && {
    if (options_.keep_faster_float) find_faster_float();
    take(result_.faster_float);
    if (!result_.met) search_sensitive();
    return std::move(result_);
  }

 private:
  bool take(std::vector<std::string> kept) {
    result_.quantized = calibrated_.quantized({.keep_float = kept});
    result_.score = score_(result_.quantized.graph);
    result_.kept_float = std::move(kept);
    result_.met = result_.float_score - result_.score <= options_.max_loss;
    return result_.met;
  }

  // Only if the whole model gains: each change between float and 8 bits costs time as well.
  void find_faster_float() {
    const Graph quantized = calibrated_.quantized({}).graph;
    const auto batch = data_.batch(0);
    const auto& program = options_.quantize.program;
    const auto slower =
        optimize::slower_layers(calibrated_.float_graph(), quantized, batch, program);
    if (slower.empty()) return;
    const Graph mixed = calibrated_.quantized({.keep_float = slower}).graph;
    if (optimize::is_faster(mixed, quantized, batch, program)) result_.faster_float = slower;
  }

  // The fewest of the most sensitive layers, by bisection: more layers in float lose less.
  void search_sensitive() {
    result_.sensitivities =
        optimize::sensitivities_of(calibrated_, data_, options_.quantize, progress_);
    std::vector<LayerSensitivity> worst = result_.sensitivities;
    std::ranges::stable_sort(worst, {}, &LayerSensitivity::snr_db);
    std::size_t too_few = 0;
    std::size_t enough = worst.size();
    while (enough - too_few > 1) {
      const std::size_t middle = (enough + too_few) / 2;
      if (progress_ != nullptr && progress_->cancelled()) break;
      (take(with_worst(worst, middle)) ? enough : too_few) = middle;
    }
    take(with_worst(worst, enough));
  }

  std::vector<std::string> with_worst(const std::vector<LayerSensitivity>& worst,
                                      std::size_t count) const {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < count; ++i) kept.push_back(worst[i].layer);
    for (const std::string& name : result_.faster_float) {
      if (std::ranges::find(kept, name) == kept.end()) kept.push_back(name);
    }
    return kept;
  }

  const CalibrationData& data_;
  const ModelScore& score_;
  const MixedOptions& options_;
  Progress* progress_ = nullptr;
  CalibratedModel calibrated_;
  MixedResult result_;
};

}  // namespace

std::vector<LayerSensitivity> measure_sensitivity(const Graph& model, const CalibrationData& data,
                                                  const QuantizeOptions& options,
                                                  Progress* progress) {
  const CalibratedModel calibrated(model, data, options, progress);
  return optimize::sensitivities_of(calibrated, data, options, progress);
}

MixedResult quantize_mixed(const Graph& model, const CalibrationData& data, const ModelScore& score,
                           const MixedOptions& options, Progress* progress) {
  if (!(options.max_loss >= 0))
    fail_usage("a loss of {} points is not possible; choose 0 or more", options.max_loss);
  return MixedSearch(model, data, score, options, progress).run();
}

}  // namespace assay
