// Reads the output of profile_json. The file is untrusted: every field is checked.
#include "assay/stored_profile.h"

#include "store/json_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr ResultKind kProfile = {
    .name = "profile", .schema = "assay.profile/", .command = "assay profile --json"};

}  // namespace

StoredProfile parse_profile_json(std::string_view text, const std::string& described_as) {
  const StoredResult file(text, described_as, kProfile);
  const JsonReader reader = file.reader();
  StoredProfile stored;
  stored.model = reader.text("model/name");
  stored.samples_ms = reader.rates("latency/samples_ms");
  stored.median_ms = reader.rate("latency/median_ms");
  stored.batch = reader.count("options/batch");
  stored.threads = reader.small_count("options/threads");
  stored.parameters = reader.count("parameters");
  stored.flops = reader.count("flops");
  if (reader.has("estimated_total_bytes") && reader.has("estimated_total_macs")) {
    stored.estimated_total_bytes = reader.count("estimated_total_bytes");
    stored.estimated_total_macs = reader.count("estimated_total_macs");
  }
  stored.peak_memory_bytes = reader.count("memory/peak_bytes");
  stored.peak_rss_growth_bytes = reader.count_or_null("memory/peak_rss_growth_bytes");
  stored.verdict = reader.text("latency/verdict");
  return stored;
}

}  // namespace assay
