// Trains a small network on synthetic samples and writes it: example_train [OUT.onnx]
#include <exception>
#include <iostream>

#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/train.h"
#include "assay/training_data.h"
#include "assay/zoo.h"

int main(int count, char** words) {
  try {
    const assay::TrainingData data = assay::load_training_data(
        "synthetic", {.training_samples = 640, .validation_samples = 100, .seed = 7});
    assay::TrainOptions options;
    options.epochs = 2;
    options.program.cpu.threads = 1;
    const assay::TrainResult result =
        assay::train_model(assay::zoo_model("small_cnn"), data.training, &data.validation, options);
    for (const assay::EpochResult& epoch : result.epochs) {
      std::cout << "epoch " << epoch.epoch << ": loss " << epoch.loss << ", validation accuracy "
                << epoch.validation_accuracy->value << "\n";
    }
    if (count > 1) assay::write_onnx(assay::infer_shapes(result.model).graph, words[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
