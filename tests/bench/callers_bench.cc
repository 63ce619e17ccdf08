// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_callers DAEMON_SOCKET NVRTC SOURCE ROUNDS PROCESSES KEYS same|different [RAW_OPTION]...
//
// Measures many processes that need new programs at once. Takes ROUNDS turns of three sides. "one":
// one process asks the daemon for KEYS new programs. "many": PROCESSES processes ask for KEYS new
// programs each, either the same programs in different orders, or different ones. "raw": as many
// processes compile the same programs with NVRTC, unless NVRTC is "-". After each turn of "one" and
// "many", prints a line "one compiles" or "many compiles".
#include <cccl_cache/client.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/forked_callers.h"
#include "tests/bench/raw_nvrtc.h"

namespace {

/// Programs that are new to the daemon.
struct Programs {
  std::string source;
  int first = 0;  // number of the first program
  int count = 1;  // programs per caller
  bool same = true;
  const pid_t owner = getpid();

  /// Returns a program's text. The callers get the same programs in different orders, or different
  /// programs.
  [[nodiscard]] std::string Text(int caller, int index) const {
    const int number = first + (same ? (index + caller * 3) % count : caller * count + index);
    return "// " + std::to_string(owner) + "\n#define ROUND " + std::to_string(number) + "\n" +
           source;
  }
};

bool AskDaemon(cccl_cache::Client& client, const std::string& text) {
  cccl_cache::NvrtcBuild build;
  build.source = text;
  build.name = "kernel.cu";
  build.options = {"-arch=sm_90"};
  build.append_toolchain_headers = true;
  cccl_cache::BuildOptions options;
  options.wanted = {cccl_cache::Kind::kCubin};
  const auto result = client.Build(build, options);
  if (result && result->compiled()) return true;
  std::fprintf(stderr, "ours: %s\n",
               result ? std::string(result->log()).c_str() : result.error().message.c_str());
  return false;
}

double Compiles(const std::string& socket) {
  auto client = cccl_cache::Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client) return -1;
  const auto stats = client->Query("stats");
  if (!stats) return -1;
  const size_t named = stats->find("\"compiles_total\"");
  const size_t value = stats->find("\"value\": ", named);
  if (value == std::string::npos) return -1;
  return std::strtod(stats->c_str() + value + std::strlen("\"value\": "), nullptr);
}

bool RunDaemon(const char* side, const std::string& socket, const Programs& programs,
               int processes) {
  const auto task = [&](int caller) {
    auto client =
        cccl_cache::Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
    for (int i = 0; client && i < programs.count; ++i) {
      if (!AskDaemon(*client, programs.Text(caller, i))) return false;
    }
    return client.ok();
  };
  const double before = Compiles(socket);
  const double took = cccl_cache::daemon::RunForked(processes, task);
  const double after = Compiles(socket);
  if (took < 0 || before < 0 || after < 0) return false;
  std::printf("%s\t%.0f\n%s compiles\t%.0f\n", side, took, side, after - before);
  return true;
}

bool RunRaw(const std::string& library, const std::vector<std::string>& options,
            const Programs& programs, int processes) {
  const auto task = [&](int caller) {
    const auto nvrtc = cccl_cache::daemon::RawNvrtc::Load(library);
    if (nvrtc == nullptr) return false;
    for (int i = 0; i < programs.count; ++i) {
      if (nvrtc->Compile(programs.Text(caller, i), options).empty()) return false;
    }
    return true;
  };
  const double took = cccl_cache::daemon::RunForked(processes, task);
  if (took >= 0) std::printf("raw\t%.0f\n", took);
  return took >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr,
                 "usage: bench_callers DAEMON_SOCKET NVRTC SOURCE ROUNDS PROCESSES KEYS "
                 "same|different [RAW_OPTION]...\n");
    return 2;
  }
  const std::string socket = argv[1];
  const std::string library = argv[2];
  std::ifstream file(argv[3], std::ios::binary);
  Programs programs;
  programs.source.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (programs.source.empty()) return 5;
  const int processes = std::atoi(argv[5]);
  programs.count = std::atoi(argv[6]);
  programs.same = std::string_view(argv[7]) == "same";
  const std::vector<std::string> options(argv + 8, argv + argc);
  for (int round = 0; round < std::atoi(argv[4]); ++round) {
    if (!RunDaemon("one", socket, programs, 1)) return 5;
    programs.first += programs.count;
    if (!RunDaemon("many", socket, programs, processes)) return 5;
    if (library != "-" && !RunRaw(library, options, programs, processes)) return 5;
    programs.first += programs.count * processes;
  }
}
