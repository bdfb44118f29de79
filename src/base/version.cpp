#include "assay/version.h"

namespace assay {

std::string_view version() {
  return ASSAY_VERSION;
}

}  // namespace assay
