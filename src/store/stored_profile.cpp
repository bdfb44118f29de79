// Reads the output of profile_json. The file is untrusted: every field is checked.
#include "assay/stored_profile.h"

#include "store/json_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr ResultKind kProfile = {
    .name = "profile", .schema = "assay.profile/", .command = "assay profile --json"};

// Only those whose every dimension is known.
std::vector<StoredInput> inputs_of(const JsonReader& reader) {
  std::vector<StoredInput> inputs;
  reader.each("model/inputs", [&](const JsonReader& input) {
    StoredInput stored{.name = input.text("name")};
    const report::Json& shape = input.at("shape");
    if (!shape.is_array()) return;
    for (const report::Json& dim : shape) {
      if (!dim.is_number_integer() || dim.get<std::int64_t>() < 1) return;
      stored.dims.push_back(dim.get<std::int64_t>());
    }
    inputs.push_back(std::move(stored));
  });
  return inputs;
}

// Measured if there is a meter, else power × latency if a power was given.
std::optional<double> energy_of(const JsonReader& reader) {
  if (!reader.has("energy") || reader.at("energy").is_null()) return {};
  for (const char* path : {"energy/gross_j_per_run", "energy/energy_proxy_j"}) {
    if (!reader.at(path).is_null()) return reader.at_least_zero(path);
  }
  return {};
}

void read_setting(const JsonReader& reader, StoredProfile& stored) {
  stored.batch = reader.count("options/batch");
  stored.threads = reader.small_count("options/threads");
  stored.engine = reader.text("options/engine");
  stored.optimize_for = reader.text("options/optimize_for");
  stored.pinned = reader.flag("options/pinned");
  const JsonReader options(reader.at("options"), reader.file());
  if (options.has("precision")) stored.precision = options.text("precision");
}

void read_counts(const JsonReader& reader, StoredProfile& stored) {
  stored.parameters = reader.count("parameters");
  stored.macs = reader.count("totals/macs");
  stored.flops = reader.count("flops");
  stored.stored_bytes = reader.count("totals/stored_bytes");
  stored.peak_activation_bytes = reader.count("totals/peak_activation_bytes");
  if (reader.has("estimated_total_bytes") && reader.has("estimated_total_macs")) {
    stored.estimated_total_bytes = reader.count("estimated_total_bytes");
    stored.estimated_total_macs = reader.count("estimated_total_macs");
  }
}

}  // namespace

StoredProfile parse_profile_json(std::string_view text, const std::string& described_as) {
  const StoredResult file(text, described_as, kProfile);
  const JsonReader reader = file.reader();
  StoredProfile stored;
  stored.model = reader.text("model/name");
  const JsonReader model(reader.at("model"), reader.file());
  if (model.has("sha256")) stored.sha256 = model.text("sha256");
  stored.inputs = inputs_of(reader);
  stored.samples_ms = reader.rates("latency/samples_ms");
  stored.median_ms = reader.rate("latency/median_ms");
  read_setting(reader, stored);
  read_counts(reader, stored);
  stored.peak_memory_bytes = reader.count("memory/peak_bytes");
  stored.peak_rss_growth_bytes = reader.count_or_null("memory/peak_rss_growth_bytes");
  stored.energy_j = energy_of(reader);
  stored.verdict = reader.text("latency/verdict");
  if (reader.has("machine") && !reader.at("machine").is_null()) {
    stored.processor = reader.text("machine/processor");
  }
  return stored;
}

}  // namespace assay
