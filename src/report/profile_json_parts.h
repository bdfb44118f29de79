// Parts that the JSON of every kind of profile shares.
#pragma once

#include "assay/profile.h"
#include "report/json_parts.h"

namespace assay::report {

Json options_json(const Profile& profile);
Json start_up_json(const StartUp& start_up);
Json latency_json(const Measurement& measured);
Json machine_json(const std::optional<Roofline>& roofline);
Json gpu_state_json(const GpuState& state);
// Only of a GPU: its state, copies to and from it, how its steps were timed.
void put_gpu(const Profile& profile, JsonWriter& json);
Json step_json(const ProfileStep& step);
Json fell_back_json(const std::vector<ProfileStep>& steps);

}  // namespace assay::report
