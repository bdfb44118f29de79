// Small data sets and folders for the tests of src/train.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "assay/dataset.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/train.h"
#include "assay/zoo.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {

// 8×8 images of four classes, which a linear layer tells apart.
inline Dataset small_images(Split split, std::int64_t size) {
  return load_dataset("synthetic",
                      {.split = split, .classes = 4, .sample_dims = {1, 8, 8}, .size = size});
}

// A small network for them, with a batch norm.
inline Graph small_network() {
  GraphBuilder builder("small");
  const ValueId input = builder.input("input", DataType::Float32, Shape{1, 1, 8, 8});
  const Layer layers =
      Sequential({Conv2d(1, 8, 3, {.padding = 1, .name = "conv"}), BatchNorm2d(8, "norm"),
                  Relu("relu"), MaxPool2d(2, {.name = "pool"}), Flatten("flatten"),
                  Linear(8 * 4 * 4, 4, {.name = "classifier"})});
  builder.output(layers(builder, input), "output");
  return builder.finish();
}

inline TrainOptions small_training() {
  return {.epochs = 2,
          .batch_size = 16,
          .learning_rate = 0.01,
          .program = {.optimize_for = OptimizeFor::Memory, .cpu = {.threads = 1}}};
}

using TrainFolder = InScratchFolder;

}  // namespace assay
