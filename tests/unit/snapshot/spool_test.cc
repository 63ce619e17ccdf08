// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/spool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::spool_test {
namespace {

using Catch::Matchers::Contains;

SpoolFile Create(const TemporaryDirectory& directory) {
  auto file = SpoolFile::Create(directory.path());
  REQUIRE(file.ok());
  return *std::move(file);
}

/// While the object exists, no file of this process grows beyond this many bytes.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

TEST_CASE("a spool file has the appended bytes in order") {
  const TemporaryDirectory directory;
  SpoolFile file = Create(directory);
  const std::string large(3 << 20, 'x');
  REQUIRE(file.Append("begin "));
  REQUIRE(file.Append(""));
  REQUIRE(file.Append(large));
  REQUIRE(file.Append(" end"));
  const std::string expected = "begin " + large + " end";
  std::string found(expected.size() + 1, '\0');
  REQUIRE(pread(file.fd(), found.data(), found.size(), 0) == static_cast<ssize_t>(expected.size()));
  found.pop_back();
  CHECK((found == expected));
}

TEST_CASE("a spool file has no name, is private to the daemon, and is not inherited") {
  const TemporaryDirectory directory;
  const SpoolFile file = Create(directory);
  CHECK(std::filesystem::is_empty(directory.path()));
  struct stat status {};
  REQUIRE(fstat(file.fd(), &status) == 0);
  CHECK(status.st_nlink == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK((fcntl(file.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a spool file that can't be made is an error that names the cause") {
  const TemporaryDirectory directory;
  const auto file = SpoolFile::Create(directory / "none");
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(file.error().message,
             Contains("state directory can't be written (No such file or directory)"));
}

TEST_CASE("a partial write is an error, not a short file") {
  const TemporaryDirectory directory;
  SpoolFile file = Create(directory);
  REQUIRE(file.Append("begin"));
  const SmallFiles limit(8);
  const Status appended = file.Append("more than there is room for");
  REQUIRE_FALSE(appended.ok());
  CHECK(appended.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(appended.error().message,
             Contains("state directory can't be written (File too large)"));
}

}  // namespace
}  // namespace cccl_cache::daemon::spool_test
