// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>

#include "daemon/worker/files/paths.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::trusted_directories_test {
namespace {

using Verdict = TrustedDirectories::Verdict;
namespace fs = std::filesystem;

struct Scene {
  Scene() {
    fs::create_directories(directory / "cuda/include/sub");
    fs::create_directories(directory / "cuda/other");
    fs::create_directories(directory / "elsewhere/deep/er");
  }

  TemporaryDirectory directory;
  TrustedDirectories trusted{{directory / "cuda/./include/"}};
};

TEST_CASE("a path is compared lexically, by complete names of directories") {
  const TrustedDirectories trusted({"/cuda/include", "/cuda/nvvm"});
  CHECK(trusted.Contain("/cuda/include"));
  CHECK(trusted.Contain("/cuda/include/a/b.h"));
  CHECK(trusted.Contain("/cuda/nvvm/x"));
  CHECK_FALSE(trusted.Contain("/cuda/include2/a.h"));
  CHECK_FALSE(trusted.Contain("/cuda"));
}

TEST_CASE("a directory that the survey leaves out is not trusted") {
  const TrustedDirectories trusted({"/cuda/include"});
  CHECK_FALSE(trusted.Contain("/cuda/include/__pycache__/a.h"));
  CHECK_FALSE(trusted.Contain("/cuda/include/a/__pycache__"));
  CHECK(trusted.Contain("/cuda/include/__pycache__2/a.h"));
}

TEST_CASE("a path that leaves the directories counts as outside, even if it leads back") {
  const TrustedDirectories trusted({"/cuda/include"});
  CHECK(trusted.ContainAllTheWay("/cuda/include/a/../b.h"));
  CHECK(trusted.ContainAllTheWay("/cuda/include/a/b/../../c.h"));
  CHECK(trusted.ContainAllTheWay("/cuda/include/..hidden/a.h"));
  CHECK_FALSE(trusted.ContainAllTheWay("/cuda/include/../include/b.h"));
  CHECK_FALSE(trusted.ContainAllTheWay("/home/../cuda/include/b.h"));
  CHECK_FALSE(trusted.ContainAllTheWay("/cuda/include/.."));
  CHECK(trusted.ContainAllTheWay("/cuda/include/a/.."));
}

TEST_CASE("a present directory is trusted, a missing one is absent") {
  Scene scene;
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/sub") == Verdict::kTrusted);
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/absent") == Verdict::kAbsent);
  // The directory is looked up only once.
  fs::create_directories(scene.directory / "cuda/include/absent");
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/absent") == Verdict::kAbsent);
}

TEST_CASE("the target of a link in the toolchain is trusted, with all below it") {
  Scene scene;
  fs::create_directory_symlink(scene.directory / "elsewhere/deep",
                               scene.directory / "cuda/include/link");
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/link") == Verdict::kTrusted);
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/link/er") == Verdict::kTrusted);
}

TEST_CASE("a '..' from the target of a link is not trusted") {
  Scene scene;
  fs::create_directory_symlink(scene.directory / "elsewhere/deep/er",
                               scene.directory / "cuda/include/link");
  // The text of the path means cuda/include, but the kernel finds elsewhere/deep.
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/link/..") == Verdict::kElsewhere);
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/sub/..") == Verdict::kTrusted);
}

TEST_CASE("a '..' after a link that stays below its target is still trusted") {
  Scene scene;
  fs::create_directory_symlink(scene.directory / "elsewhere/deep",
                               scene.directory / "cuda/include/link");
  CHECK(scene.trusted.Judge(scene.directory / "cuda/include/link/er/..") == Verdict::kTrusted);
}

}  // namespace
}  // namespace cccl_cache::daemon::trusted_directories_test
