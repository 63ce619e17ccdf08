// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::ArtifactKind;

Artifact Of(ArtifactKind kind, const std::string& bytes) {
  Artifact artifact;
  artifact.parts.push_back({kind, bytes, {}});
  return artifact;
}

TEST_CASE("a text shows in code where it stands in it") {
  const ShownText text("/a");
  for (const ArtifactKind kind : {ArtifactKind::kPtx, ArtifactKind::kCubin}) {
    CHECK(text.In(Of(kind, "x /a y")));
    CHECK_FALSE(text.In(Of(kind, "x / a y")));
  }
}

TEST_CASE("a text shows in PTX by its numbers, as string constants are written there") {
  const ShownText text("/a");
  CHECK(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47, 97};")));
  CHECK(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47,97};")));
  CHECK_FALSE(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47, 98};")));
  // The numbers of a cubin are bytes.
  CHECK_FALSE(text.In(Of(ArtifactKind::kCubin, "47, 97")));
}

TEST_CASE("what stands in a string of PTX is told from what stands in its text") {
  const ShownText text("/a");
  CHECK(text.InStrings(Of(ArtifactKind::kPtx, "{47, 97}")));
  CHECK(text.InStrings(Of(ArtifactKind::kPtx, "{47,97}")));
  CHECK_FALSE(text.InStrings(Of(ArtifactKind::kPtx, "/a")));
  CHECK_FALSE(text.InStrings(Of(ArtifactKind::kCubin, "47, 97 /a")));
}

TEST_CASE("LTO-IR and OptiX-IR hold names always, so that a text in them shows nothing") {
  const ShownText text("/a");
  CHECK_FALSE(text.In(Of(ArtifactKind::kLtoIr, "/a")));
  CHECK_FALSE(text.In(Of(ArtifactKind::kOptixIr, "/a")));
}

TEST_CASE("one part that shows a text is enough") {
  Artifact artifact = Of(ArtifactKind::kLtoIr, "/a");
  CHECK_FALSE(ShownText("/a").In(artifact));
  artifact.parts.push_back({ArtifactKind::kCubin, "/a", {}});
  CHECK(ShownText("/a").In(artifact));
  CHECK_FALSE(ShownText("/a").In(Artifact()));
}

}  // namespace
}  // namespace cccl_cache::daemon
