// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/canonical_names.h"

#include <charconv>

#include "daemon/core/plan/roots.h"
#include "daemon/core/plan/shown_text.h"

namespace cccl_cache::daemon {

std::string WithClientNames(const BuildPlan& plan, std::string_view text) {
  std::string result;
  if (plan.path_dependent) return std::string(text);
  result.reserve(text.size());
  while (true) {
    const size_t at = text.find(kCanonicalPrefix);
    if (at == text.npos) break;
    const char* const digits = text.data() + at + kCanonicalPrefix.size();
    const char* const end = text.data() + text.size();
    size_t root = 0;
    const auto number = std::from_chars(digits, end, root);
    const bool known = number.ec == std::errc() && number.ptr != end && *number.ptr == '/' &&
                       root < plan.client_prefixes.size();
    result.append(text.substr(0, at));
    if (known) {
      result += plan.client_prefixes[root];
      text.remove_prefix(number.ptr + 1 - text.data());
    } else {
      result += kCanonicalPrefix;
      text.remove_prefix(at + kCanonicalPrefix.size());
    }
  }
  result.append(text);
  return result;
}

bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact) {
  const bool nvrtc = plan.job.request->kind() == cccl_cache::BuildKind::kNvrtc;
  if (plan.path_dependent || !nvrtc) return false;
  static const ShownText kShown(kCanonicalPrefix);
  return kShown.In(artifact);
}

}  // namespace cccl_cache::daemon
