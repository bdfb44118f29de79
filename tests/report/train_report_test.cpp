#include "assay/train_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/golden.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EpochResult epoch(std::int64_t number, double loss, std::int64_t correct) {
  return {.epoch = number,
          .loss = loss,
          .accuracy = 0.75,
          .validation_loss = loss + 0.125,
          .validation_accuracy = accuracy_of(correct, 100),
          .learning_rate = 0.001,
          .samples_per_second = 12'345,
          .seconds = 2.5};
}

// Every figure is made up, so that reports of it never change by themselves.
TrainReport fixed_training_run() {
  TrainReport report;
  report.model = {.name = "tiny.onnx",
                  .opset = 17,
                  .inputs = {{"x", tensor_type(DataType::Float32, Shape{1, 1, 8, 8})}},
                  .outputs = {{"y", tensor_type(DataType::Float32, Shape{1, 3})}}};
  report.dataset = {.name = "fashion, small",
                    .source = "some folder",
                    .sha256 = "0123",
                    .train_size = 6'000,
                    .val_source = "some other folder",
                    .val_sha256 = "4567",
                    .val_size = 100};
  report.options = {.epochs = 3, .batch_size = 32, .schedule = Schedule::Cosine, .patience = 1};
  report.result.epochs = {epoch(1, 0.5, 80), epoch(2, 0.25, 90), epoch(3, 0.375, 85)};
  report.result.resumed_after = 1;
  report.result.best_epoch = 2;
  report.result.model_epoch = 2;
  report.result.stopped_early = true;
  report.result.threads = 2;
  report.result.memory = {
      .weight_bytes = 1024, .arena_bytes = 3 << 20, .planned_arena_bytes = 2 << 20};
  report.result.seconds = 5.25;
  report.result.warnings = {"a warning"};
  report.file = "trained.onnx";
  return report;
}

TrainReport judged_report() {
  TrainReport report = fixed_training_run();
  report.result = {};
  report.file = "";
  report.evaluation = {
      .accuracy = accuracy_of(5, 6), .loss = 0.5, .confusion = {{2, 0, 0}, {0, 1, 1}, {0, 0, 2}}};
  return report;
}

TEST(TrainReport, TableIsPinned) {
  expect_golden("train.txt", train_table(fixed_training_run()));
  expect_golden("train_judged.txt", train_table(judged_report()));
}

TEST(TrainReport, JsonIsPinned) {
  expect_golden("train.json", train_json(fixed_training_run()));
  expect_golden("train_judged.json", train_json(judged_report()));
}

TEST(TrainReport, CsvIsPinned) {
  expect_golden("train.csv", train_csv(fixed_training_run()));
}

TEST(TrainReport, WhatWasNotJudgedIsNullAndNotZero) {
  TrainReport report = fixed_training_run();
  for (EpochResult& one : report.result.epochs) {
    one.validation_loss.reset();
    one.validation_accuracy.reset();
  }
  EXPECT_THAT(train_json(report), HasSubstr("\"accuracy\":null,\"accuracy_ci95_low\":null"));
  EXPECT_THAT(train_csv(report), HasSubstr("1,0.5,0.75,,,,,0.001"));
  EXPECT_THAT(train_table(report), Not(HasSubstr("\naccuracy")));
}

TEST(TrainReport, WideConfusionMatricesAreLeftToPrograms) {
  TrainReport report = judged_report();
  report.evaluation->confusion.assign(50, std::vector<std::int64_t>(50, 1));
  EXPECT_THAT(train_table(report), HasSubstr("the JSON has it"));
}

}  // namespace
}  // namespace assay
