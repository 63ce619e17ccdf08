// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/releases/known_releases.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace known_releases_test {

using namespace cccl_cache::daemon;
using cccl_cache::Digest;

TEST_CASE("each release in the table has a different place, and files of a plausible size") {
  std::set<std::string> directories;
  std::set<Digest> components;
  for (const KnownRelease& release : KnownReleases()) {
    INFO(release.directory());
    CHECK(directories.insert(release.directory()).second);
    CHECK(components.insert(release.component()).second);
    CHECK(release.names().size() == release.files().size());
    CHECK(release.library.bytes > 40u << 20);
    CHECK(release.bytes() < 160u << 20);
    for (const KnownRelease::File& file : release.files()) {
      CHECK(file.bytes > 1u << 20);
      CHECK(file.sha256 != Digest{});
    }
  }
  CHECK(directories.size() > 60);
}

TEST_CASE("file names have the version for the toolchain search") {
  const KnownRelease nvrtc{"13.0.88", {}, KnownRelease::File{}};
  CHECK(nvrtc.names() ==
        std::vector<std::string>{"libnvrtc.so.13.0.88", "libnvrtc-builtins.so.13.0"});
  const KnownRelease linker{"12.9.86", {}, std::nullopt};
  CHECK(linker.names() == std::vector<std::string>{"libnvJitLink.so.12.9.86"});
}

}  // namespace known_releases_test
