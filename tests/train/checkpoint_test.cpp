#include "train/checkpoint.h"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>

#include "assay/npz.h"
#include "train/small_data.h"

namespace assay {

using namespace assay::train;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Checkpoints : public TrainFolder {
 protected:
  TrainOptions options(std::int64_t epochs) const {
    TrainOptions options = small_training();
    options.epochs = epochs;
    options.checkpoint = folder_ / "training.npz";
    options.resume = true;
    return options;
  }
  TrainResult train(const TrainOptions& options) const {
    return train_model(small_network(), training_, &validation_, options);
  }
  std::string complaint(const TrainOptions& options) const {
    return error_message(ErrorKind::BadInput, [&] { train(options); });
  }
  std::string content() const {
    std::ifstream stream(folder_ / "training.npz", std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void put(const std::string& content) const {
    std::filesystem::remove(folder_ / "training.npz");
    std::ofstream(folder_ / "training.npz", std::ios::binary) << content;
  }

  const Dataset training_ = small_images(Split::Train, 100);
  const Dataset validation_ = small_images(Split::Test, 30);
};

TEST_F(Checkpoints, ResumedTrainingIsTheSameToTheBit) {
  for (const int threads : {1, 2}) {
    for (const OptimizerKind kind :
         {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam}) {
      TrainOptions straight = options(4);
      straight.program.cpu.threads = threads;
      straight.optimizer.kind = kind;
      TrainOptions parts = straight;
      straight.checkpoint = "";
      straight.resume = false;
      std::filesystem::remove(parts.checkpoint);
      parts.epochs = 2;
      train(parts);
      parts.epochs = 4;
      const TrainResult resumed = train(parts);
      const TrainResult whole = train(straight);
      EXPECT_EQ(resumed.resumed_after, 2);
      EXPECT_EQ(resumed.model, whole.model) << name(kind) << " " << threads;
      ASSERT_EQ(resumed.epochs.size(), 4u);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(resumed.epochs[i].loss, whole.epochs[i].loss);
        EXPECT_EQ(resumed.epochs[i].validation_loss, whole.epochs[i].validation_loss);
      }
    }
  }
}

TEST_F(Checkpoints, FinishedTrainingIsTakenFromThem) {
  const TrainResult first = train(options(2));
  EXPECT_THAT(first.warnings, testing::ElementsAre(HasSubstr("there is no checkpoint yet")));
  const TrainResult again = train(options(2));
  EXPECT_EQ(again.resumed_after, 2);
  EXPECT_EQ(again.model, first.model);
  EXPECT_TRUE(again.warnings.empty());
}

TEST_F(Checkpoints, HoldTheBestWeightsForStoppingEarly) {
  TrainOptions patient = options(60);
  patient.patience = 2;
  patient.learning_rate = 0.2;
  const TrainResult whole = train(patient);
  ASSERT_TRUE(whole.stopped_early);
  const TrainResult again = train(patient);
  EXPECT_TRUE(again.stopped_early);
  EXPECT_EQ(again.model, whole.model);
  EXPECT_EQ(again.best_epoch, whole.best_epoch);
}

TEST_F(Checkpoints, AreNotOverwrittenUnlessResumed) {
  train(options(1));
  TrainOptions anew = options(1);
  anew.resume = false;
  EXPECT_THAT(error_message(ErrorKind::Usage, [&] { train(anew); }), HasSubstr("already exists"));
}

TEST_F(Checkpoints, OfAnotherTrainingAreRefusedNamingTheDifference) {
  train(options(1));
  const auto refused = [&](auto change) {
    TrainOptions other = options(2);
    change(other);
    return complaint(other);
  };
  EXPECT_THAT(refused([](auto& o) { o.learning_rate = 0.5; }),
              AllOf(HasSubstr("training.npz"), HasSubstr("learning rate is 0.01"),
                    HasSubstr("this one's is 0.5")));
  EXPECT_THAT(refused([](auto& o) { o.batch_size = 8; }), HasSubstr("batch size"));
  EXPECT_THAT(refused([](auto& o) { o.seed = 8; }), HasSubstr("seed"));
  EXPECT_THAT(refused([](auto& o) { o.optimizer.kind = OptimizerKind::Sgd; }),
              HasSubstr("optimizer is adam"));
  EXPECT_THAT(refused([](auto& o) { o.loss = Loss::MeanSquaredError; }), HasSubstr("loss"));
  EXPECT_THAT(refused([](auto& o) { o.schedule = Schedule::Cosine; }),
              HasSubstr("cosine over 2 epochs"));
  EXPECT_THAT(refused([](auto& o) { o.patience = 3; }), HasSubstr("patience"));
  const auto with = [&](const Graph& model, const Dataset& data, const Dataset* judged) {
    return error_message(ErrorKind::BadInput,
                         [&] { train_model(model, data, judged, options(2)); });
  };
  EXPECT_THAT(with(small_network(), validation_, &validation_), HasSubstr("training data"));
  EXPECT_THAT(with(small_network(), training_, nullptr), HasSubstr("validation data"));
  Graph renamed = small_network();
  renamed.node(NodeId{0}).set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  renamed.node(NodeId{0}).name = "other";
  EXPECT_THAT(with(renamed, training_, &validation_), HasSubstr("its model is"));
}

TEST_F(Checkpoints, EveryPrefixIsRefused) {
  const TrainingSetup setup = {{"seed", "7"}};
  const auto path = folder_ / "training.npz";
  write_checkpoint({.setup = setup,
                    .state_names = {"weight"},
                    .epochs = {{.epoch = 1, .loss = 0.5, .accuracy = 0.75}},
                    .state = {Tensor::of_float({2}, {1, 2})}},
                   path);
  const Checkpoint read = read_checkpoint(path, setup);
  EXPECT_EQ(read.state_names, std::vector<std::string>{"weight"});
  EXPECT_DOUBLE_EQ(read.epochs.at(0).accuracy, 0.75);
  EXPECT_FALSE(read.epochs.at(0).validation_loss.has_value());
  const std::string whole = content();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { read_checkpoint(path, setup); }),
                HasSubstr("training.npz"))
        << length;
  }
}

TEST_F(Checkpoints, DamageIsNamedByItsByte) {
  train(options(1));
  std::string damaged = content();
  damaged[damaged.size() / 2] ^= 1;
  put(damaged);
  EXPECT_THAT(complaint(options(2)), AllOf(HasSubstr("byte"), HasSubstr("damaged")));
}

// A forged checkpoint may lack what training relies on.
TEST_F(Checkpoints, WithInconsistentContentAreRefused) {
  TrainOptions patient = options(3);
  patient.patience = 2;
  train(patient);
  const auto made_up = [&](auto change) {
    auto arrays = read_npz(patient.checkpoint);
    change(arrays);
    write_npz(arrays, patient.checkpoint);
    const std::string message = complaint(patient);
    return message;
  };
  const std::string whole = content();
  EXPECT_THAT(made_up([](auto& arrays) { arrays.erase("best_0"); }), HasSubstr("does not fit"));
  put(whole);
  EXPECT_THAT(made_up([](auto& arrays) { arrays["state_1"] = Tensor::of_float({1}, {0}); }),
              HasSubstr("does not fit"));
  put(whole);
  EXPECT_THAT(made_up([](auto& arrays) {
                auto numbers = arrays.at("epochs").template to_vector<double>();
                numbers[2] = std::numeric_limits<double>::quiet_NaN();  // a validation loss
                arrays["epochs"] =
                    Tensor::of<double>(DataType::Float64, arrays.at("epochs").dims(), numbers);
              }),
              HasSubstr("does not fit"));
  put(whole);
  EXPECT_THAT(made_up([](auto& arrays) { arrays.erase("epochs"); }),
              HasSubstr("no array 'epochs'"));
}

TEST_F(Checkpoints, OtherArchivesAreRefused) {
  put("not a checkpoint");
  EXPECT_THAT(complaint(options(2)), HasSubstr("not a NumPy .npz file"));
}

// Limits the size of files during its lifetime, as on a disk that is nearly full.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  void (*handler_)(int) = nullptr;
  rlimit before_ = {};
};

TEST_F(Checkpoints, ThatDoNotFitTheDiskLeaveTheOldOneIntact) {
  train(options(1));
  const std::string before = content();
  {
    const SmallDisk disk(1000);
    EXPECT_THAT(error_message(ErrorKind::Failed, [&] { train(options(2)); }),
                AllOf(HasSubstr("training.npz"), HasSubstr("cannot be written")));
  }
  EXPECT_EQ(content(), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(train(options(2)).resumed_after, 1);
}

}  // namespace
}  // namespace assay
