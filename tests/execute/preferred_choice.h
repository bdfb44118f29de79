// Compiles as if one of the algorithms had been the fastest wherever it is a candidate, so that
// tests do not depend on time: the answers in a tuning file are changed.
#pragma once

#include <memory>
#include <string>

#include "assay/program.h"

namespace assay {

// `algorithm`: how its name begins.
std::unique_ptr<Program> compile_preferring(const std::string& algorithm, const Inferred& model,
                                            ProgramOptions options);

}  // namespace assay
