// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/worker_path.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace worker_path_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

namespace {

/// An installation with an executable that looks for its worker.
class Installed {
 public:
  explicit Installed(const std::string& executable) : executable_(directory_ / executable) {
    fs::create_directories(fs::path(executable_).parent_path());
    fs::copy_file(FIND_WORKER, executable_);
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string AddWorker(const std::string& name, bool executable = true) const {
    const std::string path = directory_.Write(name, "#!/bin/true\n");
    if (executable) fs::permissions(path, fs::perms(0755));
    return path;
  }
  /// Runs the executable under this name and returns its output.
  [[nodiscard]] std::string Found(const std::string& run_as = "") const {
    const std::string command = run_as.empty() ? executable_ : run_as;
    FILE* output = popen(command.c_str(), "re");
    REQUIRE(output != nullptr);
    std::string text;
    std::array<char, 4096> line{};
    while (fgets(line.data(), line.size(), output) != nullptr) text += line.data();
    pclose(output);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  const TemporaryDirectory directory_;
  const std::string executable_;
};

}  // namespace

TEST_CASE("the worker is found in the libexec directory of its installation") {
  const Installed installed("bin/daemon");
  const std::string worker = installed.AddWorker("libexec/cccl-cached-worker");
  CHECK(installed.Found() == worker);
}

TEST_CASE("the worker is found beside the executable") {
  const Installed installed("bin/daemon");
  const std::string worker = installed.AddWorker("bin/cccl-cached-worker");
  CHECK(installed.Found() == worker);
}

TEST_CASE("the worker is found in a build tree, from the daemon's folder or a sibling") {
  const std::string executable = GENERATE("daemon/daemon", "daemon/local/compile");
  const Installed installed(executable);
  const std::string worker = installed.AddWorker("daemon/worker/cccl-cached-worker");
  CHECK(installed.Found() == worker);
}

TEST_CASE("a worker in libexec is preferred to others") {
  const Installed installed("bin/daemon");
  static_cast<void>(installed.AddWorker("bin/cccl-cached-worker"));
  static_cast<void>(installed.AddWorker("bin/worker/cccl-cached-worker"));
  const std::string worker = installed.AddWorker("libexec/cccl-cached-worker");
  CHECK(installed.Found() == worker);
}

TEST_CASE("an executable run through a link finds the worker beside the link's target") {
  const Installed installed("bin/daemon");
  const std::string worker = installed.AddWorker("libexec/cccl-cached-worker");
  fs::create_symlink(installed.Path("bin/daemon"), installed.Path("link"));
  CHECK(installed.Found(installed.Path("link")) == worker);
}

TEST_CASE("a file that is not executable is no worker, and the error names all places") {
  const Installed installed("bin/daemon");
  const std::string file = installed.AddWorker("bin/cccl-cached-worker", false);
  const std::string error = installed.Found();
  CHECK_THAT(error, StartsWith("cccl-cached-worker is missing: looked for "));
  CHECK_THAT(error, Contains(installed.Path("libexec/cccl-cached-worker") + " and " + file));
  CHECK_THAT(error, Contains(installed.Path("bin/worker/cccl-cached-worker") + " and " +
                             installed.Path("worker/cccl-cached-worker")));
  CHECK_THAT(error, Contains("install it with the daemon"));
}

}  // namespace worker_path_test
