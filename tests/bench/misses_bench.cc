// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_misses DAEMON_SOCKET NVRTC RAW_PROGRAM SOURCE ROUNDS [RAW_OPTION]...
//
// Compiles SOURCE with a new value of ROUND each time, three ways in turn: by NVRTC in this
// process, by RAW_PROGRAM (examples/raw_nvrtc) in its own process, and through a daemon that has
// never seen the text. The first call of NVRTC is not counted. Sides: raw, raw process, ours.
#include <cccl_cache/client.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/raw_nvrtc.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Returns a program that is new to the daemon.
std::string Text(const std::string& source, int round) {
  return "// " + std::to_string(getpid()) + "\n#define ROUND " + std::to_string(round) + "\n" +
         source;
}

void Print(const char* side, Clock::time_point begin) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  std::printf("%s\t%.0f\n", side, took.count());
}

bool AskRaw(cccl_cache::daemon::RawNvrtc& nvrtc, const std::string& text,
            const std::vector<std::string>& options, bool counted) {
  const auto begin = Clock::now();
  if (nvrtc.Compile(text, options).empty()) return false;
  if (counted) Print("raw", begin);
  return true;
}

/// Runs a process that loads NVRTC, compiles and writes the cubin.
bool AskProcess(std::vector<std::string> command, const std::string& file, const std::string& text,
                bool counted) {
  std::ofstream(file, std::ios::binary) << text;
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;  // to drop the process's output
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = Clock::now();
  pid_t pid = 0;
  int status = 0;
  const bool done = posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ) == 0 &&
                    waitpid(pid, &status, 0) == pid && status == 0;
  if (done && counted) Print("raw process", begin);
  if (!done) std::fprintf(stderr, "%s: status %d\n", words[0], status);
  posix_spawn_file_actions_destroy(&actions);
  return done;
}

bool AskDaemon(cccl_cache::Client& client, const std::string& text,
               const std::vector<std::string>& options_of_raw, bool counted) {
  cccl_cache::NvrtcBuild build;
  build.source = text;
  build.name = "kernel.cu";
  build.options = options_of_raw;
  std::erase(build.options, "--no-cache");  // only for NVRTC; a daemon would cache nothing
  cccl_cache::BuildOptions options;
  options.wanted = {cccl_cache::Kind::kCubin};
  const auto begin = Clock::now();
  const auto result = client.Build(build, options);
  if (!result || result->outcome() != cccl_cache::Outcome::kBuilt) {
    std::fprintf(stderr, "ours: %s\n",
                 result ? std::string(result->log()).c_str() : result.error().message.c_str());
    return false;
  }
  if (counted) Print("ours", begin);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: bench_misses DAEMON_SOCKET NVRTC RAW_PROGRAM SOURCE ROUNDS "
                 "[RAW_OPTION]...\n");
    return 2;
  }
  auto client =
      cccl_cache::Client::Open({.socket = argv[1], .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::unique_ptr<cccl_cache::daemon::RawNvrtc> nvrtc =
      cccl_cache::daemon::RawNvrtc::Load(argv[2]);
  std::ifstream stream(argv[4], std::ios::binary);
  const std::string source((std::istreambuf_iterator<char>(stream)),
                           std::istreambuf_iterator<char>());
  std::string place = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
  if (!client || nvrtc == nullptr || source.empty() || mkdtemp(place.data()) == nullptr) return 5;
  const std::vector<std::string> options(argv + 6, argv + argc);
  const std::string file = place + "/kernel.cu";
  std::vector<std::string> command{argv[3], argv[2], file, place + "/kernel.cubin"};
  command.insert(command.end(), options.begin(), options.end());
  using Side = std::function<bool(const std::string& text, bool counted)>;
  const std::array<Side, 3> sides = {
      [&](const auto& text, bool counted) { return AskRaw(*nvrtc, text, options, counted); },
      [&](const auto& text, bool counted) { return AskProcess(command, file, text, counted); },
      [&](const auto& text, bool counted) { return AskDaemon(*client, text, options, counted); }};
  bool done = true;
  for (int round = 0; done && round <= std::atoi(argv[5]); ++round) {
    const std::string text = Text(source, round);
    for (size_t turn = 0; done && turn < sides.size(); ++turn) {
      done = sides[(turn + static_cast<size_t>(round)) % sides.size()](text, round > 0);
    }
  }
  std::filesystem::remove_all(place);
  return done ? 0 : 5;
}
