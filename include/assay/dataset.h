// Labelled samples to train and evaluate networks with.
//
// Samples are kept as they are stored, so that images of bytes stay bytes; a Loader (loader.h)
// makes batches of floats. Every Dataset that a function here gives has at least one sample, as
// many labels as samples, only finite numbers, and only labels from 0 to `classes` - 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/tensor.h"

namespace assay {

// (x - mean) / deviation, where bytes are divided by 255 first.
struct Normalisation {
  double mean = 0;
  double deviation = 1;
};

struct Dataset {
  std::string name = {};
  std::string source = {};  // where the samples came from, in words
  Tensor samples = {};      // uint8 or float32 [N, ...]
  Tensor labels = {};       // int64 [N]
  std::int64_t classes = 0;
  Normalisation normalisation = {};

  std::int64_t size() const;
  std::vector<std::int64_t> sample_dims() const;  // {1, 28, 28}
};

enum class Split { Train, Test };

struct DatasetOptions {
  std::string folder = {};  // with the files of a known data set; empty: where Debian puts them
  Split split = Split::Train;
  std::int64_t subset = 0;   // N samples drawn at random; 0: all
  std::uint64_t seed = 0;    // of the subset, and of synthetic samples
  std::int64_t classes = 0;  // 0: as many as is known, or one more than the largest label
  Normalisation normalisation = {};
  // Of synthetic samples only.
  std::vector<std::int64_t> sample_dims = {1, 28, 28};
  std::int64_t size = 0;  // 0: 6,000 to train, 1,000 to test
};

// `name` is one of these; docs/data.md has the details:
//   fashion-mnist, mnist    four IDX files, plain or compressed with gzip
//   synthetic               made up, and learnable; needs no file
//   a folder                with four IDX files under MNIST's names
//   a .npz file             with arrays x and y, x_train and y_train, …
//   x.npy,y.npy             two files with a comma between
Dataset load_dataset(std::string_view name, const DatasetOptions& options = {});

// Whether it comes with samples to test on. A pair of .npy files and a .npz file with x and y alone
// do not: split a part off.
bool has_test_part(std::string_view name);

// From tensors at hand. Samples of other number types become float32, whole labels of other widths
// int64; images of bytes [N, height, width] get an axis for their one channel.
Dataset make_dataset(std::string name, Tensor samples, Tensor labels, std::int64_t classes = 0);

// `count` samples drawn at random; which ones depends only on size and seed.
Dataset subset(const Dataset& dataset, std::int64_t count, std::uint64_t seed);
// `count` samples drawn at random, and all others.
std::pair<Dataset, Dataset> split_off(const Dataset& dataset, std::int64_t count,
                                      std::uint64_t seed);

// SHA-256 of type, dimensions and content of samples and labels.
std::string fingerprint(const Dataset& dataset);

}  // namespace assay
