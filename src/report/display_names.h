// Names of layers as people read them. Exporters write paths that repeat themselves:
// "/features/features.4/block/block.0/block.0.0/Conv" is shown as "features.4.block.0.0".
//
// Different layers of a model always have different display names. JSON and CSV keep full names.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/count.h"
#include "assay/profile.h"

namespace assay::report {

class DisplayNames {
 public:
  DisplayNames() = default;
  explicit DisplayNames(std::span<const std::string> names);  // of all layers of a model

  // A name that is not one of these is returned as it is.
  std::string of(std::string_view name) const;
  // A sentence in which full names are replaced: "between /conv1/Conv and '/fc/Gemm'".
  std::string in_text(std::string_view text) const;

 private:
  std::map<std::string, std::string, std::less<>> shown_;
};

DisplayNames display_names(const CountResult& result);
DisplayNames display_names(const Profile& profile);

// The scopes of a layer, outermost first, without its op: {"features.4", "block.0.0"}. A name that
// is no path has none.
std::vector<std::string> scopes_of(std::string_view name);

}  // namespace assay::report
