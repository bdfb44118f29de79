#include "assay/loader.h"

#include <algorithm>
#include <limits>

#include "data/data_files.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample i is {i, -i} and its label is i.
Dataset numbered_images(std::int64_t count) {
  std::vector<float> samples;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.push_back(static_cast<float>(i));
    samples.push_back(static_cast<float>(-i));
    labels.push_back(i);
  }
  return make_dataset("numbered", Tensor::of_float({count, 2}, samples),
                      Tensor::of_int64({count}, labels));
}

Dataset of_bytes() {
  const std::vector<std::uint8_t> pixels = {0, 51, 255, 102};
  return make_dataset("bytes", Tensor::of<std::uint8_t>(DataType::UInt8, {1, 2, 2}, pixels),
                      Tensor::of_int64({1}, {0}));
}

// The labels of a whole epoch, in order.
std::vector<std::int64_t> epoch_of(Loader& loader, std::int64_t epoch) {
  std::vector<std::int64_t> labels;
  loader.start_epoch(epoch);
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    const auto some = loader.batch(i).labels.to_int64();
    labels.insert(labels.end(), some.begin(), some.end());
  }
  return labels;
}

TEST(Loader, GoesInOrderWithoutShuffling) {
  const Loader loader(numbered_images(5), {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(loader.batches(), 3);
  EXPECT_EQ(loader.batch(0).samples, Tensor::of_float({2, 2}, {0, 0, 1, -1}));
  EXPECT_EQ(loader.batch(1).labels, Tensor::of_int64({2}, {2, 3}));
  EXPECT_EQ(loader.batch(2).samples, Tensor::of_float({1, 2}, {4, -4}));
}

TEST(Loader, EveryEpochHasEverySampleOnceInAnOrderOfItsOwn) {
  Loader loader(numbered_images(50), {.batch_size = 8, .seed = 3});
  const auto first = epoch_of(loader, 0);
  const auto second = epoch_of(loader, 1);
  EXPECT_NE(first, second);
  for (auto labels : {first, second}) {
    std::ranges::sort(labels);
    EXPECT_EQ(labels, numbered_images(50).labels.to_int64());
  }
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    const Batch batch = loader.batch(i);
    const auto samples = batch.samples.to_double();
    const auto labels = batch.labels.to_int64();
    for (std::size_t at = 0; at < labels.size(); ++at) {
      EXPECT_EQ(samples[2 * at], static_cast<double>(labels[at]));
    }
  }
}

TEST(Loader, ResumesAtAnyEpoch) {
  Loader from_the_start(numbered_images(50), {.batch_size = 8, .seed = 3});
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) epoch_of(from_the_start, epoch);
  Loader resumed(numbered_images(50), {.batch_size = 8, .seed = 3});
  EXPECT_EQ(epoch_of(resumed, 4), epoch_of(from_the_start, 4));
  EXPECT_EQ(epoch_of(resumed, 0), epoch_of(from_the_start, 0));
  Loader other(numbered_images(50), {.batch_size = 8, .seed = 4});
  EXPECT_NE(epoch_of(other, 4), epoch_of(resumed, 4));
}

TEST(Loader, LeavesOutTheLastBatchOnlyWhereAskedTo) {
  EXPECT_EQ(Loader(numbered_images(10), {.batch_size = 4}).batches(), 3);
  EXPECT_EQ(Loader(numbered_images(10), {.batch_size = 4, .drop_last = true}).batches(), 2);
  EXPECT_EQ(Loader(numbered_images(8), {.batch_size = 4}).batches(), 2);
  EXPECT_EQ(Loader(numbered_images(8), {.batch_size = 100}).batches(), 1);
  EXPECT_EQ(Loader(numbered_images(8), {.batch_size = std::numeric_limits<std::int64_t>::max()})
                .batches(),
            1);
}

TEST(Loader, BytesBecomeFractionsOf255) {
  const Loader loader(of_bytes(), {.batch_size = 1});
  EXPECT_EQ(loader.batch(0).samples, Tensor::of_float({1, 1, 2, 2}, {0, 0.2f, 1, 0.4f}));
}

TEST(Loader, Normalises) {
  // (0.2 - 0.5) / 0.25 = -1.2
  Dataset dataset = of_bytes();
  dataset.normalisation = {.mean = 0.5, .deviation = 0.25};
  EXPECT_EQ(Loader(dataset, {}).batch(0).samples,
            Tensor::of_float({1, 1, 2, 2}, {-2, -1.2f, 2, -0.4f}));
  const LoaderOptions own = {.normalisation = Normalisation{.mean = 1, .deviation = 1}};
  EXPECT_EQ(Loader(dataset, own).batch(0).samples,
            Tensor::of_float({1, 1, 2, 2}, {-1, -0.8f, 0, -0.6f}));
  const LoaderOptions halved = {.shuffle = false,
                                .normalisation = Normalisation{.mean = 1, .deviation = 2}};
  EXPECT_EQ(Loader(numbered_images(2), halved).batch(0).samples,
            Tensor::of_float({2, 2}, {-0.5, -0.5, 0, -1}));
}

TEST(Loader, RefusesWhatCannotBeFilled) {
  const auto refusal = [](const Dataset& dataset, const LoaderOptions& options) {
    return error_message(ErrorKind::BadInput, [&] { Loader(dataset, options); });
  };
  EXPECT_THAT(refusal(numbered_images(5), {.batch_size = 0}),
              AllOf(HasSubstr("'numbered'"), HasSubstr("a batch of 0")));
  EXPECT_THAT(refusal(numbered_images(5), {.batch_size = -4}), HasSubstr("a batch of -4"));
  EXPECT_THAT(refusal(numbered_images(5), {.batch_size = 6, .drop_last = true}),
              HasSubstr("no batch of 6 can be filled from 5 samples"));
  EXPECT_THAT(refusal(Dataset{.name = "nothing"}, {}), HasSubstr("'nothing' () is empty"));
  for (const double deviation : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(refusal(numbered_images(5), {.normalisation = Normalisation{0, deviation}}),
                HasSubstr("the deviation must be above 0"));
  }
  Dataset by_hand = numbered_images(5);
  by_hand.labels = Tensor::of_int64({4}, {1, 2, 3, 4});
  EXPECT_THAT(refusal(by_hand, {}), HasSubstr("make_dataset"));
  by_hand = numbered_images(5);
  by_hand.samples = by_hand.labels;
  EXPECT_THAT(refusal(by_hand, {}), HasSubstr("samples of int64 [5]"));
}

TEST(Loader, BatchesOutOfRangeAreRefused) {
  const Loader loader(numbered_images(5), {.batch_size = 2});
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { loader.batch(3); }),
              HasSubstr("no batch 3 among 3"));
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { loader.batch(-1); }),
              HasSubstr("no batch -1"));
}

// Pinned, so that a training run can be repeated elsewhere.
TEST(Loader, OrdersAreTheSameOnEveryMachine) {
  Loader loader(numbered_images(8), {.batch_size = 8, .seed = 1});
  EXPECT_THAT(epoch_of(loader, 2), ElementsAre(3, 0, 6, 1, 7, 2, 4, 5));
}

}  // namespace
}  // namespace assay
