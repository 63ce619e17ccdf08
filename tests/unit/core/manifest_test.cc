// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/manifest.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cached {
namespace {

using cccl_cache::Sha256;

Closure OneFile(const std::string& text) {
  Closure closure;
  closure.entries.push_back({{1, "x.h"}, FileKind::kFile, Sha256(text), 0});
  return closure;
}

Manifest Example() {
  Manifest manifest;
  manifest.shows_paths = true;
  manifest.Add(OneFile("one"));
  Closure closure = OneFile("two");
  closure.entries.push_back({{kAbsoluteRoot, "/x"}, FileKind::kAbsent, {}, 0});
  closure.entries.push_back({{2, ""}, FileKind::kDirectory, {}, 2});
  manifest.Add(closure);
  return manifest;
}

TEST_CASE("a manifest comes back as it was written") {
  CHECK(DecodeManifest(EncodeManifest(Example())) == Example());
  CHECK(DecodeManifest(EncodeManifest({})) == Manifest{});
}

TEST_CASE("a manifest lists the newest closure first, each once, and not too many") {
  Manifest manifest;
  for (int i = 0; i < 20; ++i) manifest.Add(OneFile(std::to_string(i)));
  manifest.Add(OneFile("18"));
  REQUIRE(manifest.closures.size() == Manifest::kMostClosures);
  CHECK(manifest.closures[0] == OneFile("18"));
  CHECK(manifest.closures[1] == OneFile("19"));
}

TEST_CASE("a manifest that is cut short, longer or of another version is none") {
  const std::string bytes = EncodeManifest(Example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(DecodeManifest(bytes.substr(0, length)));
  }
  CHECK_FALSE(DecodeManifest(bytes + "x"));
  std::string other_version = bytes;
  other_version[0] = 2;
  CHECK_FALSE(DecodeManifest(other_version));
}

TEST_CASE("an inode of a manifest can't be that of a later entry") {
  Manifest manifest;
  manifest.Add(OneFile("x"));
  manifest.closures[0].entries[0].same_as = 1;
  CHECK_FALSE(DecodeManifest(EncodeManifest(manifest)));
}

}  // namespace
}  // namespace cccl_cached
