// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/canonical_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "daemon/core/roots.h"

namespace cccl_cached {
namespace {

using cccl_cache::ArtifactKind;

std::string NumbersOf(std::string_view text, std::string_view separator) {
  std::string numbers;
  for (char c : text) numbers += fmt::format("{}{}", numbers.empty() ? "" : separator, int{c});
  return numbers;
}

}  // namespace

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
  // PTX writes the characters of a string constant as numbers.
  static const std::string kAsNumbers = NumbersOf(kCanonicalPrefix, ", ");
  static const std::string kAsDenseNumbers = NumbersOf(kCanonicalPrefix, ",");
  return std::any_of(artifact.parts.begin(), artifact.parts.end(), [](const ArtifactPart& part) {
    const auto holds = [&](std::string_view text) {
      return part.bytes.find(text) != std::string::npos;
    };
    if (part.kind == ArtifactKind::kCubin) return holds(kCanonicalPrefix);
    if (part.kind != ArtifactKind::kPtx) return false;
    return holds(kCanonicalPrefix) || holds(kAsNumbers) || holds(kAsDenseNumbers);
  });
}

}  // namespace cccl_cached
