// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/shared_library.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::shared_library_test {
namespace {

const std::string kLibraries = std::string(FAKE_TOOLCHAINS) + "/fake_cuda13/lib/";
const LibraryFiles kNvrtc = {.path = kLibraries + "libnvrtc.so.13"};

using Function = int(int*, int*);

TEST_CASE("a function that not every release has may be missing") {
  auto library = SharedLibrary::Open(kNvrtc);
  REQUIRE(library.ok());
  Function* version = nullptr;
  Function* later = nullptr;
  library->Need("nvrtcVersion", version);
  library->Find("nvrtcOfALaterRelease", later);
  REQUIRE(version != nullptr);
  CHECK(later == nullptr);
  CHECK(library->Complete().ok());
  int major = 0;
  int minor = 0;
  CHECK(version(&major, &minor) == 0);
  CHECK(major == 13);
}

TEST_CASE("the error names the first missing function that every release has") {
  auto library = SharedLibrary::Open(kNvrtc);
  REQUIRE(library.ok());
  Function* function = nullptr;
  library->Need("nvrtcNoSuch", function);
  library->Need("nvrtcNeither", function);
  const Status complete = library->Complete();
  REQUIRE_FALSE(complete.ok());
  CHECK(complete.error().message == kNvrtc.path + " has no function nvrtcNoSuch");
}

TEST_CASE("a library's dependencies are loaded before it; the error names a missing one") {
  LibraryFiles files = kNvrtc;
  files.preload = {kLibraries + "libnvrtc-builtins.so.13.0"};
  CHECK(SharedLibrary::Open(files).ok());
  files.preload = {kLibraries + "absent.so"};
  const auto refused = SharedLibrary::Open(files);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.starts_with("loading " + kLibraries + "absent.so: "));
}

}  // namespace
}  // namespace cccl_cache::daemon::shared_library_test
