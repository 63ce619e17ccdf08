// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/file_traits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>

namespace cccl_cache::daemon::file_traits_test {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;

const Peer kAlice{.uid = 1000, .gid = 1000};
const Peer kBob{.uid = 1001, .gid = 1001};

/// Both texts are passed with the digest kDigest, so the result shows which of them was scanned.
/// kShows names a path.
constexpr std::string_view kShows = "int n = sizeof(__FILE__);";
constexpr std::string_view kPlain = "int n;";
const Digest kDigest = Sha256("the same");

struct Scene {
  std::atomic<std::chrono::hours> later{std::chrono::hours(0)};
  KnownFileTraits known{[this] { return std::chrono::steady_clock::now() + later.load(); }};

  /// Returns whether the file shows a path, for this user's builds.
  bool Shows(const Peer& peer, std::string_view text, const std::string& below = "a.h") {
    return known.Of(peer, below, kDigest, text).uses.as_number;
  }
};

TEST_CASE("all traits of a text are found") {
  const FileTraits traits = FileTraitsOf(
      "a.h", "__TIME__ __DATE__ __BASE_FILE__\nconst char* f = __PRETTY_FUNCTION__; LE__");
  CHECK(traits.time_token == "__TIME__");
  CHECK(traits.base_name_token);
  CHECK(traits.function_token_in_code);
  CHECK(traits.uses.as_number);
  NameParts parts;
  parts.Add("LE__");
  CHECK(FileTraitsOf("a.h", "LE__").uses.parts == parts);
  CHECK(FileTraitsOf("a.h", "const char* n = \"/cccl-root-0/x\";").uses.as_number);
  CHECK_FALSE(FileTraitsOf("a.h", kPlain).uses.as_number);
}

TEST_CASE("a text is scanned once a day, whatever the file's name") {
  Scene scene;
  CHECK(scene.Shows(kAlice, kShows));
  CHECK(scene.Shows(kAlice, kPlain));
  CHECK(scene.Shows(kAlice, kPlain, "copy/of/a.h"));
  scene.later = std::chrono::hours(24);
  CHECK_FALSE(scene.Shows(kAlice, kPlain));
}

TEST_CASE("the same text under one of CCCL's names has other traits") {
  Scene scene;
  constexpr std::string_view kLine =
      "#define _CCCL_BUILTIN_FILE() __FILE__\n";  // CCCL's own files have this line
  CHECK(scene.Shows(kAlice, kLine, "a.h"));
  CHECK_FALSE(scene.Shows(kAlice, kLine, "cuda/std/__internal/a.h"));
  CHECK(scene.Shows(kAlice, kLine, "a.h"));
}

TEST_CASE("known traits are not shared between users, and not kept for the overflow uid") {
  Scene scene;
  CHECK(scene.Shows(kAlice, kShows));
  CHECK_FALSE(scene.Shows(kBob, kPlain));
  const Peer many{.uid = kOverflowUid, .gid = kOverflowUid};
  CHECK(scene.Shows(many, kShows));
  CHECK_FALSE(scene.Shows(many, kPlain));
}

}  // namespace
}  // namespace cccl_cache::daemon::file_traits_test
