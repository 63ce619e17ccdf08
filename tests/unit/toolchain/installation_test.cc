// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/installation.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "daemon/toolchain/finder.h"
#include "daemon/toolchain/survey.h"
#include "tests/support/root.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace installation_test {

using namespace cccl_cache::daemon;

namespace {

/// A toolkit behind symlinks, watched as after a survey.
class WatchedToolkit {
 public:
  WatchedToolkit() {
    tree.Toolkit("real/cuda", 13, 0);
    tree.Rename("real/cuda/lib/libnvrtc.so.13", "real/cuda/lib/libnvrtc.so.13.0.88");
    tree.Link("real/cuda/lib/libnvrtc.so.13", "libnvrtc.so.13.0.88");
    tree.Link("named", "real/cuda");
    tree.Write("outside/extra.h", "");
    tree.Link("real/cuda/include/extra.h", tree.Path("outside/extra.h"));
    const FoundInstallations found = FindInstallations(Roots({tree.Path("named")}));
    REQUIRE(found.installations.size() == 1);
    REQUIRE(TakeSurvey(found.installations.front(), geteuid(), &watch).ok());
    REQUIRE(watch.complete());
    REQUIRE_FALSE(watch.Changed());
  }

  TempTree tree;
  InstallationWatch watch;
};

}  // namespace

TEST_CASE("a change in an installation is noticed at once") {
  WatchedToolkit toolkit;
  const TempTree& tree = toolkit.tree;
  SECTION("a header written in place") { tree.Write("real/cuda/include/cuda_runtime.h", "!"); }
  SECTION("a library written in place") { tree.Write("real/cuda/lib/libnvJitLink.so.13", "!"); }
  SECTION("a library replaced by renaming") {
    tree.Write("new", "!");
    tree.Rename("new", "real/cuda/lib/libnvrtc.so.13.0.88");
  }
  SECTION("a new header") { tree.Write("real/cuda/include/cccl/cub/new.cuh", ""); }
  SECTION("a new directory of headers") { tree.Directory("real/cuda/include/thrust"); }
  SECTION("a header removed") { tree.Remove("real/cuda/include/cccl/cub/cub.cuh"); }
  SECTION("another mode of a file") { tree.Mode("real/cuda/include/cuda_runtime.h", 0666); }
  SECTION("another mode of a directory") { tree.Mode("real/cuda/lib", 0777); }
  SECTION("a link of a library moved") {
    tree.Link("real/cuda/lib/libnvrtc.so.13", "libnvJitLink.so.13");
  }
  SECTION("another name of the installation leads elsewhere") { tree.Link("named", "elsewhere"); }
  SECTION("a directory above was exchanged") {
    tree.Rename("real", "former");
    tree.Directory("real");
  }
  SECTION("the target of a header that is a link") { tree.Write("outside/extra.h", "!"); }
  SECTION("everything removed") { tree.Remove("real"); }
  CHECK(toolkit.watch.Changed());
  CHECK(toolkit.watch.Changed());
}

TEST_CASE("a change of files outside the installation is ignored") {
  WatchedToolkit toolkit;
  const TempTree& tree = toolkit.tree;
  tree.Write("real/cuda/lib/libcublas.so.13", "a stray file beside the libraries");
  tree.Write("real/cuda/nvvm/bin/cicc", "");
  tree.Write("real/other/file", "");
  tree.Write("outside/other.h", "");
  tree.Write("new", "");
  tree.Directory("real/cuda/include/__pycache__");
  CHECK_FALSE(toolkit.watch.Changed());
}

TEST_CASE("a mount on top of an installation is a change; one beside it is not", "[root]") {
  RequireRoot();
  bool mounted = false;
  // In a private mount namespace, which ends with the thread.
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return;
    }
    WatchedToolkit toolkit;
    TempTree other;
    other.Write("file", "!");
    other.Directory("a place");
    const auto bind = [](const std::string& from, const std::string& to) {
      return mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
    };
    toolkit.tree.Directory("real/other");
    if (!bind(other.Path("a place"), toolkit.tree.Path("real/other"))) return;
    CHECK_FALSE(toolkit.watch.Changed());
    umount2(toolkit.tree.Path("real/other").c_str(), MNT_DETACH);
    CHECK_FALSE(toolkit.watch.Changed());
    for (const char* name : {"real", "real/cuda/include", "real/cuda/include/cccl"}) {
      WatchedToolkit again;
      const std::string place = again.tree.Path(name);
      mounted = bind(other.Path("a place"), place);
      if (!mounted) return;
      INFO(name);
      CHECK(again.watch.Changed());
      umount2(place.c_str(), MNT_DETACH);
      CHECK(again.watch.Changed());
    }
    for (const char* name :
         {"real/cuda/include/cuda_runtime.h", "real/cuda/lib/libnvrtc.so.13.0.88"}) {
      WatchedToolkit again;
      mounted = bind(other.Path("file"), again.tree.Path(name));
      if (!mounted) return;
      INFO(name);
      CHECK(again.watch.Changed());
      umount2(again.tree.Path(name).c_str(), MNT_DETACH);
    }
  }).join();
  REQUIRE(mounted);
}

TEST_CASE("an installation counts as changed when a mount over it goes away", "[root]") {
  RequireRoot();
  bool hidden = false;
  std::thread([&] {
    TempTree tree;
    tree.Toolkit("cuda", 13, 0);
    tree.Toolkit("with space", 13, 0);
    const std::string place = tree.Path("with space");
    hidden = unshare(CLONE_NEWNS) == 0 &&
             mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             mount(tree.Path("cuda").c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!hidden) return;
    const FoundInstallations found = FindInstallations(Roots({place}));
    REQUIRE(found.installations.size() == 1);
    InstallationWatch watch;
    REQUIRE(TakeSurvey(found.installations.front(), geteuid(), &watch).ok());
    CHECK_FALSE(watch.Changed());
    umount2(place.c_str(), MNT_DETACH);
    CHECK(watch.Changed());
  }).join();
  REQUIRE(hidden);
}

TEST_CASE("reading an installation is no change") {
  WatchedToolkit toolkit;
  const FoundInstallations found = FindInstallations(Roots({toolkit.tree.Path("named")}));
  REQUIRE(TakeSurvey(found.installations.front(), geteuid(), nullptr).ok());
  CHECK_FALSE(toolkit.watch.Changed());
}

}  // namespace installation_test
