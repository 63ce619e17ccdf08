// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/file_digest.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace file_digest_test {

using cccl_cache::ComponentIdOf;
using cccl_cache::ComponentOf;
using cccl_cache::Digest;
using cccl_cache::DigestOfFile;
using cccl_cache::Hasher;
using cccl_cache::Sha256;
using cccl_cache::StampOfFiles;
using cccl_cache::ToolchainIdByLibrary;
using cccl_cache::daemon::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A directory for digests, and one for files. Digests of files with a recent change time are not
/// kept, so tests use a file of the system.
struct Scene {
  Scene() { setenv("XDG_CACHE_HOME", directory.path().c_str(), 1); }
  ~Scene() { unsetenv("XDG_CACHE_HOME"); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] fs::path Kept() const {
    std::error_code error;
    const fs::directory_iterator first(directory / "cccl-cache/digests", error);
    return first == fs::directory_iterator() ? fs::path() : first->path();
  }

  TemporaryDirectory directory;
};

Digest IdOf(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  Hasher hasher;
  hasher.AppendValue("shape", "");
  for (const auto& [name, contents] : files) {
    hasher.AppendValue("name", name);
    hasher.AppendValue("contents", Sha256(contents).View());
  }
  return hasher.Finish();
}

constexpr const char* kOldFile = "/bin/true";

}  // namespace

TEST_CASE("the digest of a file that has not changed for long is kept for other processes") {
  const Scene scene;
  const auto digest = DigestOfFile(kOldFile);
  REQUIRE(digest);
  REQUIRE_FALSE(scene.Kept().empty());
  std::ofstream(scene.Kept()) << std::string(64, '7');
  CHECK(DigestOfFile(kOldFile)->Hex() == std::string(64, '7'));
}

TEST_CASE("a digest file that others can write is ignored") {
  const Scene scene;
  const auto digest = DigestOfFile(kOldFile);
  std::ofstream(scene.Kept()) << std::string(64, '7');
  chmod(scene.Kept().c_str(), 0666);
  CHECK(DigestOfFile(kOldFile) == digest);
}

TEST_CASE("the stamp of a list of files depends on their order and needs each file's stamp") {
  const TemporaryDirectory directory;
  const std::string young = directory.Write("young", "bytes");
  const auto stamp = [](std::vector<std::string> paths) { return StampOfFiles(paths); };
  const auto both = stamp({kOldFile, "/bin/false"});
  REQUIRE(both);
  CHECK(stamp({kOldFile, "/bin/false"}) == both);
  CHECK(stamp({"/bin/false", kOldFile}) != both);
  CHECK(stamp({kOldFile}) != both);
  CHECK_FALSE(stamp({kOldFile, young}));
  CHECK_FALSE(stamp({kOldFile, directory / "nothing"}));
}

TEST_CASE("the digest of a file that has just changed is not kept") {
  const Scene scene;
  CHECK(DigestOfFile(scene.directory.Write("young", "bytes")) == Sha256("bytes"));
  CHECK(scene.Kept().empty());
  CHECK_FALSE(DigestOfFile(scene.directory / "nothing"));
}

TEST_CASE("a toolchain id has a library's stamp, and its digest once the digest is kept") {
  const Scene scene;
  const auto stamp = StampOfFiles(std::vector<std::string>{kOldFile});
  REQUIRE(stamp);
  const std::string by_stamp = "library:" + stamp->Hex();
  const std::string young = scene.directory.Write("libnvJitLink.so.13", "bytes");
  CHECK(ToolchainIdByLibrary(ComponentOf(kOldFile)) == by_stamp + ",");
  CHECK_FALSE(fs::exists(scene.directory / "cccl-cache"));
  const auto id = ComponentIdOf(kOldFile);
  REQUIRE(id);
  CHECK(ToolchainIdByLibrary(ComponentOf(kOldFile)) == by_stamp + "," + id->Hex());
  CHECK(ToolchainIdByLibrary(ComponentOf(young)).empty());
  CHECK(ToolchainIdByLibrary(ComponentOf(scene.directory / "nothing")).empty());
}

TEST_CASE("a library has the id that the daemon computes for its files") {
  const Scene scene;
  const TemporaryDirectory& directory = scene.directory;
  CHECK(ComponentIdOf(directory.Write("libnvJitLink.so.13", "linker")) ==
        IdOf({{"library", "linker"}}));
  const std::string nvrtc = directory.Write("libnvrtc.so.13", "compiler");
  CHECK_FALSE(ComponentIdOf(nvrtc));
  directory.Write("libnvrtc-builtins.so.13.0", "builtins");
  CHECK(ComponentIdOf(nvrtc) == IdOf({{"builtins", "builtins"}, {"library", "compiler"}}));
  directory.Write("libnvrtc-builtins.so.13.1", "others");
  CHECK_FALSE(ComponentIdOf(nvrtc));
}

TEST_CASE("the id of libNVVM covers the libdevice of its installation") {
  const Scene scene;
  const TemporaryDirectory& directory = scene.directory;
  const std::string alone = directory.Write("alone/lib/libnvvm.so.4", "compiler");
  CHECK(ComponentIdOf(alone) == IdOf({{"library", "compiler"}}));
  const std::string toolkit = directory.Write("toolkit/nvvm/lib64/libnvvm.so.4", "compiler");
  directory.Write("toolkit/nvvm/libdevice/libdevice.10.bc", "device");
  const std::string wheel = directory.Write("wheel/lib/libnvvm.so.4", "compiler");
  directory.Write("wheel/nvvm/libdevice/libdevice.10.bc", "device");
  for (const std::string& library : {toolkit, wheel}) {
    CHECK(ComponentOf(library).files.size() == 2);
    CHECK(ComponentIdOf(library) == IdOf({{"libdevice", "device"}, {"library", "compiler"}}));
  }
}

TEST_CASE("the builtins of NVRTC are loaded by the shortest name of their file") {
  const TemporaryDirectory directory;
  const std::string nvrtc = directory.Write("libnvrtc.so.13", "compiler");
  CHECK(ComponentOf(nvrtc).files.empty());
  const std::string builtins = directory.Write("libnvrtc-builtins.so.13.0.88", "builtins");
  fs::create_symlink("libnvrtc-builtins.so.13.0.88", directory / "libnvrtc-builtins.so.13.0");
  CHECK(ComponentOf(nvrtc).files == std::vector{nvrtc, builtins});
  CHECK(ComponentOf(nvrtc).builtins == directory / "libnvrtc-builtins.so.13.0");
  directory.Write("libnvrtc-builtins.so.13.1", "others");
  CHECK(ComponentOf(nvrtc).files.empty());
  CHECK(ComponentOf(nvrtc).builtins.empty());
}

}  // namespace file_digest_test
