// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/artifact.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::artifact_test {
namespace {

TEST_CASE("an artifact's footprint includes all its texts") {
  constexpr size_t kBytes = 10'000;
  const std::string text(kBytes, 'x');
  Artifact artifact;
  const size_t before = artifact.Footprint();
  CHECK(before >= sizeof(Artifact));
  SECTION("parts") { artifact.parts.push_back({cccl_cache::ArtifactKind::kPtx, text, {}}); }
  SECTION("log") { artifact.log = text; }
  SECTION("expressions") { artifact.lowered_names.emplace_back(text, ""); }
  SECTION("lowered names") { artifact.lowered_names.emplace_back("", text); }
  // A short text is stored inside the string object.
  CHECK(artifact.Footprint() >= before + kBytes - std::string().capacity());
}

TEST_CASE("an artifact's footprint includes the reserved capacity of a text") {
  Artifact artifact;
  artifact.log.reserve(10'000);
  CHECK(artifact.Footprint() >= 10'000);
}

}  // namespace
}  // namespace cccl_cache::daemon::artifact_test
