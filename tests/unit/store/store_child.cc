// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A program that opens a store, for tests that kill it or fill its disk. After an error on stderr
// it exits with 1, or with 77 if this system does not permit the set-up.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::store_test {
namespace {

constexpr int kNotPossible = 77;

bool Expect(bool condition, const char* what) {
  if (!condition) std::fprintf(stderr, "expected: %s\n", what);
  return condition;
}

/// Puts entries without end, and prints how many are certainly written.
int Write(const std::string& directory) {
  Statistics statistics;
  const auto store = OpenOrNull({.directory = directory}, statistics);
  if (!Expect(store != nullptr, "the store opens")) return 1;
  const uint64_t before = store->size().entries;
  for (uint64_t i = before;; ++i) {
    store->Put(Key(i), Numbered(i, SizeOf(i)));
    if (i % 64 == 0) {
      std::printf("%llu\n", static_cast<unsigned long long>(store->size().entries));
      std::fflush(stdout);
    }
  }
}

/// Writes `count` entries of `bytes` each, and dies without closing the database.
int FillAndDie(const std::string& directory, uint64_t count, size_t bytes) {
  Statistics statistics;
  const auto store = OpenOrNull({.directory = directory}, statistics);
  if (!Expect(store != nullptr, "the store opens")) return 1;
  for (uint64_t i = 0; i < count; ++i) {
    const ArtifactPtr artifact = Numbered(i, bytes != 0 ? bytes : SizeOf(i));
    store->Put(Key(i), artifact);
    const auto keeps_up = [&] { return store->size().entries + 8192 > i; };
    if (i % 4096 == 0 && !Expect(WaitUntil(keeps_up), "it is written meanwhile")) return 1;
  }
  if (!Expect(WaitUntil([&] { return store->size().entries == count; }), "all is written"))
    return 1;
  std::raise(SIGKILL);
  return 1;
}

/// Runs a store on a disk that refuses writes, and then accepts them again.
int OutliveFailingDisk(const std::string& directory, const std::function<bool()>& fail,
                       const std::function<bool()>& relieve) {
  Statistics statistics;
  Reports reports;
  const auto store = OpenOrNull(
      {.directory = directory, .queue_bytes = 1 << 20, .report = reports.Sink()}, statistics);
  if (!Expect(store != nullptr, "the store opens")) return 1;
  Fill(*store, 0, 100);
  if (!Expect(WaitUntil([&] { return store->size().entries == 100; }), "the first are written"))
    return 1;
  if (!Expect(fail(), "the disk can be made to fail")) return kNotPossible;
  uint64_t next = 100;
  const bool failed = WaitUntil([&] {
    store->Put(Key(next), Numbered(next, 20'000));
    ++next;
    return reports.Contain("can't be written");
  });
  if (!Expect(failed, "the failure is reported")) return 1;
  if (!Expect(statistics.Get(Counter::kStoreErrors) > 0, "the failure is counted")) return 1;
  if (!Expect(Look(*store, 0, 100).right == 100, "what is there is still read")) return 1;
  for (int i = 0; i < 200; ++i) store->Put(Key(next + i), Numbered(next + i, 20'000));
  if (!Expect(relieve(), "the disk can be mended")) return kNotPossible;
  const bool mended = WaitUntil([&] { return reports.Contain("can be written again"); });
  if (!Expect(mended, "the store recovers")) {
    std::fprintf(stderr, "%s", reports.All().c_str());
    return 1;
  }
  const uint64_t before = store->size().entries;
  store->Put(Key(1'000'000), Numbered(1'000'000, 5000));
  if (!Expect(WaitUntil([&] { return store->size().entries > before; }), "it writes again"))
    return 1;
  const Survey survey = Look(*store, 0, 100);
  if (!Expect(survey.wrong == 0 && survey.right == 100, "nothing was lost")) return 1;
  return Expect(statistics.Get(Counter::kCorruptEntries) == 0, "nothing is corrupt") ? 0 : 1;
}

/// Gives this process its own mounts. Without the right to do that, it becomes root of a new user
/// namespace.
bool LeaveMounts() {
  const auto uid = std::to_string(geteuid());
  const auto gid = std::to_string(getegid());
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  const auto write = [](const std::string& name, const std::string& text) {
    return (std::ofstream("/proc/self/" + name) << text << std::flush).good();
  };
  return write("uid_map", "0 " + uid + " 1") && write("setgroups", "deny") &&
         write("gid_map", "0 " + gid + " 1");
}

int FullDisk(const std::string& directory) {
  const std::string disk = directory + "/disk";
  mkdir(disk.c_str(), 0700);
  if (!LeaveMounts() || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=96m") != 0) {
    return kNotPossible;
  }
  const std::string ballast = disk + "/ballast";
  const auto fail = [&] {
    const int file = open(ballast.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const bool filled = file >= 0 && posix_fallocate(file, 0, 80 << 20) == 0;
    close(file);
    return filled;
  };
  return OutliveFailingDisk(disk + "/state", fail, [&] { return unlink(ballast.c_str()) == 0; });
}

int StartOnFullDisk(const std::string& directory) {
  const std::string disk = directory + "/disk";
  mkdir(disk.c_str(), 0700);
  if (!LeaveMounts() || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    return kNotPossible;
  }
  mkdir((disk + "/state").c_str(), 0700);
  std::ofstream(disk + "/ballast") << std::string(2 << 20, 'x') << std::flush;
  Statistics statistics;
  const auto store = OpenOrNull({.directory = disk + "/state"}, statistics);
  if (!Expect(store != nullptr, "the store opens")) return 1;
  const auto listed = store->List({}, 1);
  const cccl_cache::Digest key = Key(1);
  const auto evicted = store->Evict({&key, 1});
  if (!Expect(!listed && !evicted, "there is no database")) return 1;
  for (const std::string& told : {listed.error().message, evicted.error().message}) {
    if (!Expect(told.find("is full") != std::string::npos, "the cause is told")) return 1;
  }
  return 0;
}

int FileLimit(const std::string& directory) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t before = limit.rlim_cur;
  const auto set = [&](rlim_t bytes) {
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
  return OutliveFailingDisk(
      directory + "/state", [&] { return set(2 << 20); }, [&] { return set(before); });
}

/// Opens the store and checks one entry in a thousand. Prints the time to open it.
int Open(const std::string& directory, uint64_t count, size_t bytes) {
  Statistics statistics;
  const auto start = std::chrono::steady_clock::now();
  const auto store = OpenOrNull({.directory = directory}, statistics);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (!Expect(store != nullptr, "the store opens")) return 1;
  for (uint64_t i = 0; i < count; i += 1000) {
    const ArtifactPtr found = store->Get(Key(i));
    if (!Expect(found && Same(*found, *Numbered(i, bytes)), "each entry is right")) return 1;
  }
  std::printf("%llu entries, opened in %.3f s\n",
              static_cast<unsigned long long>(store->size().entries), elapsed.count());
  return 0;
}

uint64_t OnDisk(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator each(directory, error), end;
       !error && each != end; each.increment(error)) {
    struct stat status = {};
    if (lstat(each->path().c_str(), &status) == 0)
      bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

/// Returns an incompressible entry, made faster than by Numbered.
ArtifactPtr Random(uint64_t number, size_t bytes) {
  std::mt19937_64 random(number);
  std::string contents(bytes, '\0');
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    const uint64_t drawn = random();
    std::memcpy(contents.data() + i, &drawn, 8);
  }
  const cccl_cache::Digest digest = cccl_cache::Sha256(contents);
  auto artifact = std::make_shared<Artifact>();
  artifact->parts.push_back({cccl_cache::ArtifactKind::kCubin, std::move(contents), digest});
  return artifact;
}

/// Puts `total` bytes into a store with a limit, as fast as they are written. Prints the maximum
/// size of the files and the final size of the entries.
int Pour(const std::string& directory, uint64_t limit, uint64_t total, size_t bytes) {
  Statistics statistics;
  const auto store = OpenOrNull({.directory = directory, .limit_bytes = limit}, statistics);
  if (!Expect(store != nullptr, "the store opens")) return 1;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> most{0};
  std::thread watch([&] {
    while (!done) most = std::max(most.load(), OnDisk(directory));
  });
  for (uint64_t i = 0; i * bytes < total; ++i) {
    store->AwaitRoom();
    store->Put(Key(i), Random(i, bytes));
  }
  const bool written = WaitUntil([&] { return store->Queued().empty(); });
  done = true;
  watch.join();
  std::printf("%llu %llu\n", static_cast<unsigned long long>(most),
              static_cast<unsigned long long>(store->size().bytes));
  return Expect(written, "all is written") ? 0 : 1;
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  const auto number = [&](int index) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : 0;
  };
  if (mode == "write") return Write(argv[2]);
  if (mode == "fill-and-die") return FillAndDie(argv[2], number(3), number(4));
  if (mode == "open") return Open(argv[2], number(3), number(4));
  if (mode == "pour") return Pour(argv[2], number(3), number(4), number(5));
  if (mode == "full-disk") return FullDisk(argv[2]);
  if (mode == "start-on-full-disk") return StartOnFullDisk(argv[2]);
  if (mode == "file-limit") return FileLimit(argv[2]);
  std::fprintf(
      stderr,
      "usage: store_child write|fill-and-die|open|pour|full-disk|start-on-full-disk|file-limit "
      "DIRECTORY ...\n");
  return 2;
}

}  // namespace
}  // namespace cccl_cache::daemon::store_test

int main(int argc, char** argv) { return cccl_cache::daemon::store_test::Main(argc, argv); }
