// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/files/file_descriptor.h"
#include "daemon/files/contents.h"
#include "tests/unit/files/file_tree.h"

namespace contents_reader_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::ContentStamp;
using cccl_cache::FileDescriptor;
using cccl_cache::FileTimeNow;
using cccl_cache::Sha256;

namespace fs = std::filesystem;

namespace {

/// Sets the mtime. Only the kernel can set the ctime.
void SetContentTime(const std::string& path, const struct timespec& time) {
  const struct timespec times[2] = {time, time};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("an unchanged file is not read twice for its digest") {
  FileTree tree;
  tree.Write("include/a.h", "true");
  tree.Settle("include/a.h");
  tree.memory->digests.Remember(tree.Stamp("include/a.h"), {Sha256("remembered"), false});
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("remembered"));
}

TEST_CASE("reading always gives the present contents, and corrects the remembered digest") {
  FileTree tree;
  tree.Write("include/a.h", "true");
  tree.Settle("include/a.h");
  tree.memory->digests.Remember(tree.Stamp("include/a.h"), {Sha256("remembered"), false});
  const auto files = tree.Own({"include"});
  CHECK(files->Read({0, "a.h"})->seen.digest == Sha256("true"));
  CHECK(files->Look({0, "a.h"})->digest == Sha256("true"));
}

TEST_CASE("a digest is remembered once the file's stamp can be trusted") {
  FileTree tree;
  tree.Write("include/a.h", "true");
  tree.Settle("include/a.h");
  REQUIRE(tree.Own({"include"})->Look({0, "a.h"}).ok());
  const auto known = tree.memory->digests.Find(tree.Stamp("include/a.h"));
  REQUIRE(known);
  CHECK(known->digest == Sha256("true"));
  CHECK_FALSE(known->has_access_list);
}

TEST_CASE("a digest is not remembered while a change could go unnoticed") {
  FileTree tree;
  bool looked_in_time = false;
  while (!looked_in_time) {
    tree.Write("include/a.h", "true");
    REQUIRE(tree.Own({"include"})->Look({0, "a.h"}).ok());
    const ContentStamp stamp = tree.Stamp("include/a.h");
    looked_in_time = !stamp.IsSettledAt(FileTimeNow());
    if (looked_in_time) CHECK_FALSE(tree.memory->digests.Find(stamp));
  }
}

TEST_CASE("a digest is not remembered before the file's pages are written back") {
  FileTree tree;
  tree.Write("include/a.h", "true");
  tree.Settle("include/a.h");
  const auto remembered = [&](std::optional<int64_t> write_back) {
    tree.memory->write_back = [=] { return write_back; };
    REQUIRE(tree.Own({"include"})->Look({0, "a.h"}).ok());
    return tree.memory->digests.Find(tree.Stamp("include/a.h")).has_value();
  };
  constexpr int64_t kHour = 3'600'000'000'000;
  CHECK_FALSE(remembered(kHour));
  CHECK_FALSE(remembered(std::nullopt));
  CHECK(remembered(0));
}

TEST_CASE("a store through a mapping is noticed, however late the kernel writes pages back") {
  FileTree tree;
  tree.Write("include/a.h", "0");
  const FileDescriptor file(open(tree.Path("include/a.h").c_str(), O_RDWR | O_CLOEXEC));
  void* const mapped = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  for (const char text : {'1', '2', '3'}) {
    *static_cast<char*>(mapped) = text;
    tree.Settle("include/a.h");
    CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256(std::string(1, text)));
  }
  munmap(mapped, 1);
}

TEST_CASE("a rewrite of the same size with the old time set back is noticed") {
  FileTree tree;
  tree.Write("include/a.h", "old");
  tree.Settle("include/a.h");
  const struct stat before = tree.Status("include/a.h");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("old"));
  tree.Write("include/a.h", "new");
  SetContentTime(tree.Path("include/a.h"), before.st_mtim);
  const struct stat after = tree.Status("include/a.h");
  REQUIRE(after.st_size == before.st_size);
  REQUIRE(after.st_ino == before.st_ino);
  REQUIRE(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("new"));
}

TEST_CASE("rewrites in quick succession are all noticed") {
  FileTree tree;
  tree.Write("include/a.h", "0000");
  const struct stat first = tree.Status("include/a.h");
  for (int i = 1000; i < 1500; ++i) {
    tree.Write("include/a.h", std::to_string(i));
    SetContentTime(tree.Path("include/a.h"), first.st_mtim);
    REQUIRE(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256(std::to_string(i)));
  }
}

TEST_CASE("touching a file does not change its digest") {
  FileTree tree;
  tree.Write("include/a.h", "same");
  tree.Settle("include/a.h");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("same"));
  SetContentTime(tree.Path("include/a.h"), {.tv_sec = 1, .tv_nsec = 2});
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("same"));
}

TEST_CASE("the replacement of a file by a rename is noticed") {
  FileTree tree;
  tree.Write("include/a.h", "old");
  tree.Settle("include/a.h");
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("old"));
  tree.Write("include/next", "new");
  fs::rename(tree.Path("include/next"), tree.Path("include/a.h"));
  CHECK(files->Look({0, "a.h"})->digest == Sha256("new"));
}

TEST_CASE("reading a file that keeps changing is an error until it stops changing") {
  FileTree tree;
  const std::string path = tree.Path("include/a.h");
  tree.Write("include/a.h", std::string(4 << 20, 'x'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    for (int64_t time = 1; !stop; ++time) {
      const struct timespec times[2] = {{.tv_sec = time, .tv_nsec = 0},
                                        {.tv_sec = time, .tv_nsec = 0}};
      futimens(file.get(), times);
    }
  });
  const auto files = tree.Own({"include"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string message;
  while (message.empty() && std::chrono::steady_clock::now() < deadline) {
    const auto read = files->Read({0, "a.h"});
    if (!read.ok()) {
      CHECK(read.error().code == ErrorCode::kUnavailable);
      message = read.error().message;
    }
  }
  stop = true;
  writer.join();
  CHECK_THAT(message, Contains(path) && Contains("keeps changing"));
  CHECK(files->Read({0, "a.h"}).ok());
}

TEST_CASE("bytes and digest agree while a file is written to") {
  FileTree tree;
  tree.Write("include/a.h", std::string(100'000, 'x'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const FileDescriptor file(open(tree.Path("include/a.h").c_str(), O_WRONLY | O_CLOEXEC));
    for (off_t place = 0; !stop; place = (place + 977) % 100'000) {
      if (pwrite(file.get(), "yz", 2, place) != 2) std::abort();
      if (ftruncate(file.get(), 50'000 + place / 2) != 0) std::abort();
    }
  });
  const auto files = tree.Own({"include"});
  for (int i = 0; i < 300; ++i) {
    const auto read = files->Read({0, "a.h"});
    if (read.ok()) REQUIRE(read->seen.digest == Sha256(*read->bytes));
  }
  stop = true;
  writer.join();
}

}  // namespace contents_reader_test
