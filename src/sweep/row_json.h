// Results of tasks as JSON, to be written to a journal and read back.
#pragma once

#include "assay/deployment.h"
#include "assay/sweep.h"
#include "report/json_parts.h"

namespace assay::sweep {

using report::Json;

Json metrics_record(const PerfMetrics& metrics);
PerfMetrics metrics_of(const Json& record);

Json host_record(const SweepHost& host);
SweepHost host_of(const Json& record);

Json deployment_record(const Deployment& deployment);
Deployment deployment_of(const Json& record);

Json task_record(const SweepTask& task);
SweepTask task_of(const Json& record);

// A figure that may be missing.
std::optional<double> number_or_nothing(const Json& record, const char* key);

}  // namespace assay::sweep
