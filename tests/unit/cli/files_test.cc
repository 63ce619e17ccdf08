// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "tests/support/temporary_directory.h"

using namespace cccl_cache::cli;

TEST_CASE("a file is read whole, whatever bytes it has and however many") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  CHECK(*ReadFile(directory.Write("empty", "")) == "");
  const std::string bytes("a\0b\n", 4);
  CHECK(*ReadFile(directory.Write("bytes", bytes)) == bytes);
  const std::string large(200'000, 'x');
  CHECK(*ReadFile(directory.Write("large", large)) == large);
}

TEST_CASE("a pipe, which has no size, is read to its end") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const std::string large(150'000, 'y');
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    size_t done = 0;
    while (done < large.size()) {
      const ssize_t size = write(fd, large.data() + done, large.size() - done);
      if (size <= 0) break;
      done += static_cast<size_t>(size);
    }
    close(fd);
  });
  const auto contents = ReadFile(path);
  writer.join();
  REQUIRE(contents.ok());
  CHECK(*contents == large);
}

TEST_CASE("what can't be read is named with the reason") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string absent = directory / "absent";
  CHECK(ReadFile(absent).error().message == "can't read " + absent + ": No such file or directory");
  CHECK(ReadFile(directory.path()).error().message ==
        "can't read " + directory.path() + ": Is a directory");
}

TEST_CASE("what is written replaces the file, and a device that is full is named") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("out", "something longer");
  REQUIRE(WriteFile(path, "new").ok());
  CHECK(*ReadFile(path) == "new");
  CHECK(WriteFile("/dev/full", "x").error().message ==
        "can't write /dev/full: No space left on device");
  CHECK_FALSE(WriteFile(directory / "no/such/place", "x").ok());
}

TEST_CASE("a result is named after the last component without its last extension") {
  CHECK(WithExtension("dir.d/kernel.cu", "cubin") == "kernel.cubin");
  CHECK(WithExtension("a.b.cu", "ptx") == "a.b.ptx");
  CHECK(WithExtension("kernel", "ptx") == "kernel.ptx");
  CHECK(WithExtension(".hidden", "ptx") == ".hidden.ptx");
}

TEST_CASE("an extension is that of the last component") {
  CHECK(ExtensionOf("a/b.ltoir") == "ltoir");
  CHECK(ExtensionOf("a.ptx/b") == "");
  CHECK(ExtensionOf(".ptx") == "");
  CHECK(ExtensionOf("a.") == "");
}

TEST_CASE("the working directory is absolute") {
  CHECK(WorkingDirectory() == std::filesystem::current_path());
}
