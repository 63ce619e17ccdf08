// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/shown_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

using cccl_cache::ArtifactKind;

std::string NumbersOf(std::string_view text, std::string_view separator) {
  std::string numbers;
  for (char c : text) numbers += fmt::format("{}{}", numbers.empty() ? "" : separator, int{c});
  return numbers;
}

}  // namespace

ShownText::ShownText(std::string_view text)
    : text_(text), numbers_(NumbersOf(text, ", ")), dense_numbers_(NumbersOf(text, ",")) {}

bool ShownText::InStrings(const Artifact& artifact) const {
  return std::ranges::any_of(artifact.parts, [this](const ArtifactPart& part) {
    if (part.kind != ArtifactKind::kPtx) return false;
    return part.bytes.find(numbers_) != std::string::npos ||
           part.bytes.find(dense_numbers_) != std::string::npos;
  });
}

bool ShownText::In(const Artifact& artifact) const {
  return std::ranges::any_of(artifact.parts, [this](const ArtifactPart& part) {
    const auto holds = [&](const std::string& text) {
      return part.bytes.find(text) != std::string::npos;
    };
    if (part.kind == ArtifactKind::kCubin) return holds(text_);
    if (part.kind != ArtifactKind::kPtx) return false;
    return holds(text_) || holds(numbers_) || holds(dense_numbers_);
  });
}

}  // namespace cccl_cache::daemon
