// The models that studies are about.
#pragma once

#include "assay/study.h"
#include "cli/model_options.h"
#include "cli/study_arguments.h"

namespace assay::cli {

// "dense" of "zoo:dense"; an error for a file, which has no parameters to vary.
std::string zoo_spec(const std::string& model);

// The one with a cache: as asked for, or of the same family of the zoo.
std::string cached_model(const StudyArguments& arguments);

// fp32, bf16, fp16 by casting; int8 by quantising, calibrated on random inputs. A precision that
// the model cannot have is left out, and `warnings` says why.
std::vector<PrecisionVariant> precision_variants(const RequestedModel& model,
                                                 const std::vector<std::string>& precisions,
                                                 const StudyOptions& options,
                                                 std::vector<std::string>& warnings);

}  // namespace assay::cli
