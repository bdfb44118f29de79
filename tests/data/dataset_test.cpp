#include "assay/dataset.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "data/zip_maker.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor bytes_tensor(std::vector<std::int64_t> dims, const std::vector<std::uint8_t>& values) {
  return Tensor::of<std::uint8_t>(DataType::UInt8, std::move(dims), values);
}

// Sample i is the number i, twice, and its label is i modulo 3.
Dataset numbered(std::int64_t count) {
  std::vector<float> samples;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.insert(samples.end(), 2, static_cast<float>(i));
    labels.push_back(i % 3);
  }
  return make_dataset("numbered", Tensor::of_float({count, 2}, samples),
                      Tensor::of_int64({count}, labels), 3);
}

std::vector<std::int64_t> numbers_of(const Dataset& dataset) {
  std::vector<std::int64_t> numbers;
  const auto stored = dataset.samples.to_int64();
  for (std::size_t i = 0; i < stored.size(); i += 2) numbers.push_back(stored[i]);
  return numbers;
}

std::map<std::int64_t, int> class_counts(const Dataset& dataset) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t label : dataset.labels.to_int64()) ++counts[label];
  return counts;
}

class DatasetFiles : public TemporaryFolder {
 protected:
  void write_idx(const std::string& images, const std::string& labels, std::uint32_t count) const {
    write(images, idx(8, {count, 2, 2}, std::string(count * 4, 'x')));
    write(labels, idx(8, {count}, std::string(count, '\x02')));
  }
  std::string write_npz(const std::map<std::string, Tensor>& arrays) const {
    ZipMaker zip;
    for (const auto& [name, tensor] : arrays) {
      zip.add({.name = name + ".npy", .content = npy_of(tensor), .is_deflated = true});
    }
    return write("a.npz", zip.made());
  }
  std::string refusal(const std::string& name, const DatasetOptions& options = {}) const {
    return error_message(ErrorKind::BadInput, [&] { load_dataset(name, options); });
  }

  const Tensor x_ = Tensor::of_float({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor y_ = Tensor::of_int64({3}, {0, 1, 4});
};

TEST_F(DatasetFiles, FoldersOfIdxFilesAreLoaded) {
  write_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 5);
  write_idx("t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte", 3);
  const Dataset train = load_dataset(folder_.string());
  EXPECT_EQ(train.size(), 5);
  EXPECT_EQ(train.samples.type(), DataType::UInt8);
  EXPECT_THAT(train.sample_dims(), ElementsAre(1, 2, 2));
  EXPECT_EQ(train.labels, Tensor::of_int64({5}, {2, 2, 2, 2, 2}));
  EXPECT_EQ(train.classes, 3);
  EXPECT_THAT(train.source, HasSubstr("train-images-idx3-ubyte"));
  EXPECT_EQ(load_dataset(folder_.string(), {.split = Split::Test}).size(), 3);
}

TEST_F(DatasetFiles, CompressedIdxFilesAreLoadedUnderTheNameOfTheirDataSet) {
  write("train-images-idx3-ubyte.gz", gzipped(idx(8, {2, 2, 2}, "abcdefgh")));
  write("train-labels.idx1-ubyte.gz", gzipped(idx(8, {2}, "\x01\x09")));
  for (const std::string name : {"mnist", "fashion-mnist"}) {
    const Dataset dataset = load_dataset(name, {.folder = folder_});
    EXPECT_EQ(dataset.name, name);
    EXPECT_EQ(dataset.classes, 10);
    EXPECT_THAT(dataset.samples.to_int64(), ElementsAre(97, 98, 99, 100, 101, 102, 103, 104));
  }
}

TEST_F(DatasetFiles, MissingFilesAreNamedWithWhatToDo) {
  EXPECT_THAT(refusal(folder_), AllOf(HasSubstr(folder_), HasSubstr("train-images-idx3-ubyte.gz")));
  write("train-images-idx3-ubyte", idx(8, {1, 2, 2}, "abcd"));
  EXPECT_THAT(refusal(folder_), HasSubstr("train-labels.idx1-ubyte"));
  const std::string nowhere = folder_ / "nowhere";
  EXPECT_THAT(refusal("fashion-mnist", {.folder = nowhere}),
              AllOf(HasSubstr(nowhere), HasSubstr("package dataset-fashion-mnist")));
  EXPECT_THAT(refusal("mnist", {.folder = nowhere}), HasSubstr("name the folder"));
  EXPECT_THROW(load_dataset((folder_ / "none.npz").string()), Error);
  EXPECT_THROW(load_dataset("none-x.npy,none-y.npy"), Error);
}

TEST_F(DatasetFiles, UnknownNamesGetTheNearest) {
  EXPECT_THAT(refusal("fashion_mnist"), HasSubstr("did you mean 'fashion-mnist'?"));
  EXPECT_THAT(refusal("sintetic"), HasSubstr("did you mean 'synthetic'?"));
  EXPECT_THAT(refusal("photographs"), HasSubstr("known are synthetic, fashion-mnist, mnist"));
  EXPECT_THAT(refusal(""), HasSubstr("there is no data set ''"));
}

TEST_F(DatasetFiles, NpzArraysAreFoundByTheirNames) {
  for (const auto& [x, y] : std::map<std::string, std::string>{{"x", "y"},
                                                               {"X", "y"},
                                                               {"images", "labels"},
                                                               {"data", "targets"},
                                                               {"x_train", "y_train"},
                                                               {"train_images", "train_labels"}}) {
    const Dataset dataset = load_dataset(write_npz({{x, x_}, {y, y_}, {"else", y_}}));
    EXPECT_EQ(dataset.samples, x_) << x;
    EXPECT_EQ(dataset.labels, y_) << y;
    EXPECT_EQ(dataset.classes, 5);
    EXPECT_THAT(dataset.source, HasSubstr("a.npz, '" + x + "'"));
  }
}

TEST_F(DatasetFiles, NpzPartsAreKeptApart) {
  const Tensor x_test = Tensor::of_float({1, 2}, {7, 8});
  const auto file = write_npz({{"x_train", x_},
                               {"y_train", y_},
                               {"x_test", x_test},
                               {"y_test", Tensor::of_int64({1}, {2})}});
  EXPECT_EQ(load_dataset(file).samples, x_);
  EXPECT_EQ(load_dataset(file, {.split = Split::Test}).samples, x_test);
}

TEST_F(DatasetFiles, TellWhetherTheyHaveATestPart) {
  EXPECT_TRUE(has_test_part("synthetic"));
  EXPECT_TRUE(has_test_part(folder_.string()));
  EXPECT_FALSE(has_test_part("x.npy,y.npy"));
  EXPECT_FALSE(has_test_part(write_npz({{"x", x_}, {"y", y_}})));
  EXPECT_TRUE(has_test_part(write_npz({{"x", x_}, {"y", y_}, {"x_test", x_}, {"y_test", y_}})));
}

TEST_F(DatasetFiles, WithoutATestPartNothingIsTestedOn) {
  EXPECT_THAT(refusal(write_npz({{"x", x_}, {"y", y_}}), {.split = Split::Test}),
              AllOf(HasSubstr("no test part"), HasSubstr("a.npz")));
  EXPECT_THAT(refusal(write_npz({{"x_train", x_}, {"y_train", y_}}), {.split = Split::Test}),
              AllOf(HasSubstr("(x_train, y_train)"), HasSubstr("x_test and y_test")));
  EXPECT_THAT(refusal("x.npy,y.npy", {.split = Split::Test}), HasSubstr("no test part"));
}

TEST_F(DatasetFiles, OtherNamesInNpzAreListed) {
  EXPECT_THAT(refusal(write_npz({{"a", x_}, {"b", y_}})), HasSubstr("(a, b)"));
  EXPECT_THAT(refusal(write_npz({})), HasSubstr("(none)"));
}

TEST_F(DatasetFiles, PairsOfNpyAreLoaded) {
  const std::string x = write("x.npy", npy_of(x_));
  const std::string y = write("y.npy", npy_of(y_));
  const Dataset dataset = load_dataset(x + "," + y);
  EXPECT_EQ(dataset.samples, x_);
  EXPECT_EQ(dataset.labels, y_);
  EXPECT_THAT(refusal(x), HasSubstr("two files"));
  EXPECT_THAT(refusal(x + "," + y + "," + y), HasSubstr("two files"));
  EXPECT_THAT(refusal(y + "," + x), HasSubstr("y.npy: shape [3] is not that of samples"));
}

TEST_F(DatasetFiles, ErrorsNameTheFile) {
  write_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 5);
  write("train-labels-idx1-ubyte", idx(8, {4}, "\x01\x02\x03\x04"));
  EXPECT_THAT(refusal(folder_), AllOf(HasSubstr("5 samples in"), HasSubstr("but 4 labels in"),
                                      HasSubstr("train-labels-idx1-ubyte")));
  write("train-labels-idx1-ubyte", idx(8, {5}, "\x01\x02\x0a\x04\x01"));
  EXPECT_THAT(refusal("mnist", {.folder = folder_}),
              HasSubstr("train-labels-idx1-ubyte: label 2 is 10, expected 0 to 9"));
  EXPECT_EQ(refusal(folder_), "");
  write("train-images-idx3-ubyte", idx(8, {0, 2, 2}, ""));
  EXPECT_THAT(refusal(folder_),
              HasSubstr("train-images-idx3-ubyte: the data set is empty, its shape is 0x2x2"));
  write("train-images-idx3-ubyte", idx(8, {5, 0, 2}, ""));
  EXPECT_THAT(refusal(folder_), HasSubstr("its 5 samples have no elements"));
}

TEST(Dataset, LabelsAreWholeNumbersFromZeroToTheClasses) {
  const Tensor x = Tensor::of_float({2, 1}, {1, 2});
  const auto refusal = [&](const Tensor& y, std::int64_t classes = 0) {
    return error_message(ErrorKind::BadInput, [&] { make_dataset("own", x, y, classes); });
  };
  EXPECT_THAT(refusal(Tensor::of_float({2}, {0, 1})),
              HasSubstr("'own', labels: labels of float32 are not supported"));
  EXPECT_THAT(refusal(Tensor::of_int64({2}, {0, -1})), HasSubstr("label 1 is -1"));
  EXPECT_THAT(refusal(Tensor::of_int64({2}, {3, 0}), 3),
              HasSubstr("label 0 is 3, expected 0 to 2"));
  EXPECT_THAT(refusal(Tensor::of_int64({2}, {3, std::int64_t{1} << 40})),
              HasSubstr("label 1 is 1099511627776"));
  EXPECT_THAT(refusal(Tensor::of_int64({1, 2}, {0, 1})), HasSubstr("shape [1x2]"));
  EXPECT_THAT(refusal(Tensor::of_int64({}, {0})), HasSubstr("is not that of labels"));
  EXPECT_THAT(refusal(Tensor::of_int64({3}, {0, 1, 2})), HasSubstr("2 samples in"));
  EXPECT_THAT(refusal(Tensor::of_int64({2}, {0, 1}), -1), HasSubstr("-1 classes"));
  EXPECT_EQ(refusal(Tensor::of_int64({2}, {0, 1}), 7), "");
}

TEST(Dataset, OtherNumberTypesAreConverted) {
  const Tensor wide = Tensor::of<double>(DataType::Float64, {2, 1}, std::vector<double>{0.5, -2});
  const Tensor y = bytes_tensor({2, 1}, {1, 0});
  const Dataset dataset = make_dataset("own", wide, y);
  EXPECT_EQ(dataset.samples, Tensor::of_float({2, 1}, {0.5, -2}));
  EXPECT_EQ(dataset.labels, Tensor::of_int64({2}, {1, 0}));
  EXPECT_EQ(dataset.classes, 2);
}

TEST(Dataset, ImagesOfBytesGetAChannelAndNothingElseDoes) {
  const Tensor y = Tensor::of_int64({1}, {0});
  EXPECT_THAT(make_dataset("own", bytes_tensor({1, 2, 2}, {1, 2, 3, 4}), y).sample_dims(),
              ElementsAre(1, 2, 2));
  EXPECT_THAT(make_dataset("own", bytes_tensor({1, 2, 1, 2}, {1, 2, 3, 4}), y).sample_dims(),
              ElementsAre(2, 1, 2));
  EXPECT_THAT(make_dataset("own", Tensor::of_float({1, 2, 2}, {1, 2, 3, 4}), y).sample_dims(),
              ElementsAre(2, 2));
}

TEST(Dataset, SamplesAreFiniteNumbers) {
  const Tensor y = Tensor::of_int64({2}, {0, 1});
  const auto refusal = [&](const Tensor& x) {
    return error_message(ErrorKind::BadInput, [&] { make_dataset("own", x, y); });
  };
  const float infinite = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(Tensor::of_float({2, 3}, {1, 2, 3, 4, 5, nan})),
              HasSubstr("sample 1 has nan as its element 2"));
  EXPECT_THAT(refusal(Tensor::of_float({2, 3}, {1, -infinite, 3, 4, 5, 6})),
              HasSubstr("sample 0 has -inf as its element 1"));
  const Tensor huge = Tensor::of<double>(DataType::Float64, {2, 1}, std::vector<double>{0, 1e300});
  EXPECT_THAT(refusal(huge), HasSubstr("sample 1 has inf as its element 0"));
  EXPECT_THAT(refusal(Tensor({2, 1}, std::vector<std::string>{"a", "b"})),
              HasSubstr("samples of string"));
}

TEST(Dataset, SubsetsAreTheSameForASeedAndRepeatNothing) {
  const Dataset whole = numbered(100);
  const Dataset some = subset(whole, 30, 5);
  EXPECT_EQ(some.size(), 30);
  EXPECT_EQ(some.classes, 3);
  EXPECT_EQ(numbers_of(some), numbers_of(subset(whole, 30, 5)));
  EXPECT_NE(numbers_of(some), numbers_of(subset(whole, 30, 6)));
  const auto numbers = numbers_of(some);
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 30u);
  EXPECT_EQ(class_counts(some).size(), 3u);
  const auto labels = some.labels.to_int64();
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(labels[i], numbers[i] % 3);
  EXPECT_THAT(some.source, HasSubstr("30 of 100 samples, seed 5"));
}

// Pinned, so that results of one machine can be repeated on another, today and later.
TEST(Dataset, SubsetsAreTheSameOnEveryMachine) {
  EXPECT_THAT(numbers_of(subset(numbered(1000), 5, 1)), ElementsAre(558, 70, 567, 994, 228));
}

TEST(Dataset, PartsSplitOffAreDisjointAndComplete) {
  const auto [part, rest] = split_off(numbered(100), 20, 3);
  EXPECT_EQ(part.size(), 20);
  EXPECT_EQ(rest.size(), 80);
  auto all = numbers_of(part);
  const auto others = numbers_of(rest);
  all.insert(all.end(), others.begin(), others.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, numbers_of(numbered(100)));
  EXPECT_EQ(numbers_of(split_off(numbered(100), 20, 3).first), numbers_of(part));
}

TEST(Dataset, SizesThatDoNotExistAreRefusedWithBothNumbers) {
  const Dataset whole = numbered(10);
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { subset(whole, 11, 0); }),
              AllOf(HasSubstr("'numbered' has 10 samples"), HasSubstr("a subset of 11")));
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { subset(whole, 0, 0); }),
              HasSubstr("1 to 10"));
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { subset(whole, -1, 0); }),
              HasSubstr("of -1"));
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { split_off(whole, 10, 0); }),
              HasSubstr("1 to 9"));
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { split_off(whole, 0, 0); }),
              HasSubstr("part of 0"));
  EXPECT_EQ(subset(whole, 10, 0).size(), 10);
  EXPECT_THAT(
      error_message(ErrorKind::BadInput, [&] { load_dataset("synthetic", {.subset = 7000}); }),
      HasSubstr("'synthetic' has 6000 samples"));
}

TEST(Dataset, FingerprintsTellContentTypeAndShapeApart) {
  const Tensor y = Tensor::of_int64({2}, {0, 1});
  const Dataset one = make_dataset("one", bytes_tensor({2, 2}, {1, 2, 3, 4}), y);
  const Dataset same = make_dataset("same", bytes_tensor({2, 2}, {1, 2, 3, 4}), y);
  EXPECT_EQ(fingerprint(one), fingerprint(same));
  EXPECT_EQ(fingerprint(one).size(), 64u);
  const Dataset other = make_dataset("one", bytes_tensor({2, 2}, {1, 2, 3, 5}), y);
  const Dataset reshaped = make_dataset("one", bytes_tensor({2, 2, 1}, {1, 2, 3, 4}), y);
  const Dataset relabelled = make_dataset("one", one.samples, Tensor::of_int64({2}, {1, 0}));
  const std::set<std::string> all = {fingerprint(one), fingerprint(other), fingerprint(reshaped),
                                     fingerprint(relabelled)};
  EXPECT_EQ(all.size(), 4u);
}

TEST(Synthetic, IsTheSameForASeedOnEveryMachine) {
  const Dataset one = load_dataset("synthetic", {.seed = 1});
  EXPECT_EQ(fingerprint(one), fingerprint(load_dataset("synthetic", {.seed = 1})));
  EXPECT_NE(fingerprint(one), fingerprint(load_dataset("synthetic", {.seed = 2})));
  EXPECT_NE(fingerprint(one), fingerprint(load_dataset(
                                  "synthetic", {.split = Split::Test, .seed = 1, .size = 6000})));
  EXPECT_EQ(fingerprint(one), "ccd1867aa0d8af9c462c99fc913f6c1834774623c881383c5e5efd961ddffd9f");
}

TEST(Synthetic, HasTheSizesAskedFor) {
  const Dataset usual = load_dataset("synthetic");
  EXPECT_EQ(usual.size(), 6'000);
  EXPECT_EQ(load_dataset("synthetic", {.split = Split::Test}).size(), 1'000);
  EXPECT_THAT(usual.sample_dims(), ElementsAre(1, 28, 28));
  EXPECT_EQ(class_counts(usual).size(), 10u);
  for (const auto& dims :
       std::vector<std::vector<std::int64_t>>{{16}, {1}, {3, 32, 20}, {28, 28}}) {
    const Dataset dataset =
        load_dataset("synthetic", {.classes = 4, .sample_dims = dims, .size = 10});
    EXPECT_EQ(dataset.sample_dims(), dims);
    EXPECT_EQ(dataset.classes, 4);
    EXPECT_THAT(class_counts(dataset),
                ElementsAre(std::pair{0, 3}, std::pair{1, 3}, std::pair{2, 2}, std::pair{3, 2}));
  }
}

TEST(Synthetic, RefusesImpossibleOptions) {
  const auto refusal = [&](const DatasetOptions& options) {
    return error_message(ErrorKind::BadInput, [&] { load_dataset("synthetic", options); });
  };
  EXPECT_THAT(refusal({.sample_dims = {1, 0}}), HasSubstr("samples of [1x0]"));
  EXPECT_THAT(refusal({.sample_dims = {1, -3}}), HasSubstr("samples of [1x-3]"));
  EXPECT_THAT(refusal({.sample_dims = {}}), HasSubstr("samples of []"));
  EXPECT_THAT(refusal({.classes = -2}), HasSubstr("-2 classes"));
  EXPECT_THAT(refusal({.size = -5}), HasSubstr("-5 samples"));
  EXPECT_THAT(refusal({.sample_dims = {1 << 30, 1 << 30}, .size = 10}),
              HasSubstr("more than can be counted"));
  EXPECT_THAT(refusal({.sample_dims = {1 << 30, 1 << 10}, .size = 10}), HasSubstr("memory"));
}

// The mean of every class's samples.
std::vector<std::vector<double>> centres_of(const Dataset& dataset) {
  const auto counts = class_counts(dataset);
  const auto labels = dataset.labels.to_int64();
  const auto values = dataset.samples.to_double();
  const std::size_t in_one = values.size() / labels.size();
  std::vector<std::vector<double>> centres(counts.size(), std::vector<double>(in_one));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t label = labels[i / in_one];
    centres[static_cast<std::size_t>(label)][i % in_one] += values[i] / counts.at(label);
  }
  return centres;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double share_nearest_to_own(const Dataset& dataset,
                            const std::vector<std::vector<double>>& centres) {
  const auto labels = dataset.labels.to_int64();
  const auto values = dataset.samples.to_double();
  const std::size_t in_one = centres[0].size();
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto sample = std::span(values).subspan(i * in_one, in_one);
    const auto nearest = std::ranges::min_element(
        centres, {}, [&](const auto& centre) { return distance(sample, centre); });
    right += nearest - centres.begin() == labels[i];
  }
  return right / static_cast<double>(labels.size());
}

TEST(Synthetic, WhatIsLearntOnOnePartGeneralisesToTheOther) {
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{1, 28, 28}, {32}}) {
    const Dataset train = load_dataset("synthetic", {.sample_dims = dims, .size = 500});
    const Dataset test =
        load_dataset("synthetic", {.split = Split::Test, .sample_dims = dims, .size = 300});
    EXPECT_GT(share_nearest_to_own(test, centres_of(train)), 0.9) << dims.size();
  }
}

class FashionMnist : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
      GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
    }
  }
};

TEST_F(FashionMnist, HasAsManyImagesOfEveryClassAsItsAuthorsSay) {
  const Dataset train = load_dataset("fashion-mnist");
  EXPECT_EQ(train.size(), 60'000);
  EXPECT_THAT(train.sample_dims(), ElementsAre(1, 28, 28));
  EXPECT_EQ(train.samples.type(), DataType::UInt8);
  EXPECT_EQ(train.classes, 10);
  const Dataset test = load_dataset("fashion-mnist", {.split = Split::Test});
  EXPECT_EQ(test.size(), 10'000);
  for (std::int64_t label = 0; label < 10; ++label) {
    EXPECT_EQ(class_counts(train)[label], 6'000);
    EXPECT_EQ(class_counts(test)[label], 1'000);
  }
  // The first image is an ankle boot.
  EXPECT_EQ(train.labels.rows(0, 1).to_int64()[0], 9);
}

TEST_F(FashionMnist, SubsetsHaveEveryClass) {
  const Dataset some =
      load_dataset("fashion-mnist", {.split = Split::Test, .subset = 200, .seed = 4});
  EXPECT_EQ(some.size(), 200);
  EXPECT_EQ(class_counts(some).size(), 10u);
}

}  // namespace
}  // namespace assay
