// Everything assay does with a model, in one process: inference, counting, planning, both engines,
// differentiation and steps of training.
#pragma once

#include <atomic>
#include <string_view>

#include "assay/graph.h"
#include "base/random_numbers.h"

namespace assay::fuzz {

enum class Stage { Infer, Count, Reference, Fast, Gradient, Training };
std::string_view name(Stage stage);

enum class Outcome { Refused, TooLarge, Ran };

// An Error at any stage is an answer: before the model ran it is `Refused`, later ones only end
// their stage. Any other exception leaves this function, and is a bug. `stage` tells how far it
// came.
Outcome attempt(const Graph& graph, RandomNumbers& random, std::atomic<Stage>& stage);

}  // namespace assay::fuzz
