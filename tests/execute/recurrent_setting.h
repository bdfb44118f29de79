// RNN, GRU and LSTM in the forms that tests try.
#pragma once

#include "gradient_check.h"

namespace assay {

struct RecurrentSetting {
  std::string op = "LSTM";
  std::string direction = "forward";
  bool has_bias = true;
  bool has_states = true;
  bool has_peepholes = false;
  bool has_lengths = false;
  std::vector<std::size_t> results = {0, 1, 2};  // of those that the loss reads
  std::vector<Attribute> attributes = {};
  std::int64_t steps = 4;
  std::int64_t batch = 2;
  std::int64_t features = 3;
  std::int64_t hidden = 2;
};

// The op with its weights and states as inputs, and the results joined to one.
GradientCase recurrent_case(const RecurrentSetting& setting);

}  // namespace assay
