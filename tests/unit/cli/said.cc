// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/said.h"

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>

#include "cli/terminal/command.h"
#include "cli/terminal/command_tree.h"

namespace {

using namespace cccl_cache::cli;

/// Redirects a stream of this process during its lifetime.
class Redirected {
 public:
  Redirected(int stream, int to) : stream_(stream), before_(dup(stream)) { dup2(to, stream); }
  ~Redirected() {
    dup2(before_, stream_);
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  const int stream_;
  const int before_;
};

/// Returns the file's bytes, and closes it.
std::string Taken(int fd) {
  std::string all;
  std::array<char, 4096> piece{};
  lseek(fd, 0, SEEK_SET);
  ssize_t size = 0;
  while ((size = read(fd, piece.data(), piece.size())) > 0) {
    all.append(piece.data(), static_cast<size_t>(size));
  }
  close(fd);
  return all;
}

}  // namespace

Said ListenBeside(int output, const std::function<int()>& function) {
  Said said;
  const int errors = memfd_create("errors", MFD_CLOEXEC);
  {
    const Redirected out(STDOUT_FILENO, output);
    const Redirected error(STDERR_FILENO, errors);
    said.exit_code = function();
  }
  said.errors = Taken(errors);
  return said;
}

Said Listen(const std::function<int()>& function) {
  const int output = memfd_create("output", MFD_CLOEXEC);
  Said said = ListenBeside(output, function);
  said.output = Taken(output);
  return said;
}

Said RunCommand(std::vector<std::string> words, const CommonOptions& common) {
  std::reverse(words.begin(), words.end());  // CLI11 takes the words in reverse order
  return Listen([&] {
    CommonOptions parsed = common;
    int exit_code = kDone;
    const auto app = MakeCommandTree(&parsed, &exit_code);
    try {
      app->parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return FailUsage(DescribeMisuse(*app, error), parsed);
    }
    return exit_code;
  });
}
