// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_preambles DAEMON_SOCKET NVRTC NVJITLINK SOURCE FOLDER ROUNDS [RAW_OPTION]...
//
// Compiles SOURCE with a different end each time, so that only its headers were seen before.
// Compiles it by NVRTC in this process, by the same with --pch, and through a daemon that has
// parsed these headers. Sides: raw, raw with pch, ours. Then makes a reduction as CCCL's C library
// does. It compiles FOLDER/device_reduce.cu, with three kernels by name expressions and without a
// preamble, to LTO-IR, and links it with an operation. Sides: raw reduce, ours reduce.
#include <cccl_cache/client.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/raw_nvjitlink.h"
#include "tests/bench/raw_nvrtc.h"

namespace {

using Clock = std::chrono::steady_clock;
using Options = std::vector<std::string>;

constexpr int kMaxLessons = 100;  // maximum of programs until a daemon has parsed their preamble

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Returns a program with the same beginning that is new to the daemon.
std::string Text(const std::string& source, int round) {
  return source + "\n// " + std::to_string(getpid()) + " " + std::to_string(round) + "\n";
}

Options With(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// The program, and the form of its output.
struct Subject {
  std::string source;
  Options options;
  Options name_expressions;
  cccl_cache::Kind wanted = cccl_cache::Kind::kCubin;
};

Subject ToLtoIr(const std::string& file, const Options& name_expressions) {
  return {ReadFile(file), {"-dlto", "-rdc=true"}, name_expressions, cccl_cache::Kind::kLtoIr};
}

Subject Reduction(const std::string& folder) {
  const std::string place = "cub::detail::reduce::";
  return ToLtoIr(folder + "/device_reduce.cu",
                 {place + "DeviceReduceSingleTileKernel<Policy, const Storage*, Storage*, "
                          "unsigned, Operation, Storage, Storage, cuda::std::__identity>",
                  place + "DeviceReduceSingleTileKernel<Policy, Storage*, Storage*, int, "
                          "Operation, Storage, Storage, cuda::std::__identity>",
                  place + "DeviceReduceKernel<Policy, const Storage*, unsigned, Operation, "
                          "Storage, cuda::std::__identity>"});
}

const Options kLink = {"-lto", "-arch=sm_90"};

/// Compiles with the libraries in this process.
class Raw {
 public:
  Raw(cccl_cache::daemon::RawNvrtc& nvrtc, cccl_cache::daemon::RawNvJitLink& linker,
      Options options)
      : nvrtc_(nvrtc), linker_(linker), options_(std::move(options)) {}

  std::string Compile(const Subject& subject, int round, const Options& more = {}) {
    const Options options = With(With(options_, subject.options), more);
    const std::string text = Text(subject.source, round);
    if (subject.wanted == cccl_cache::Kind::kCubin) return nvrtc_.Compile(text, options);
    return nvrtc_.CompileToLtoIr(text, options, subject.name_expressions);
  }

  bool Reduce(const Subject& kernels, const Subject& operation, int round) {
    const std::string one = Compile(kernels, round);
    const std::string other = Compile(operation, round);
    return !one.empty() && !other.empty() && !linker_.Link({one, other}, kLink).empty();
  }

 private:
  cccl_cache::daemon::RawNvrtc& nvrtc_;
  cccl_cache::daemon::RawNvJitLink& linker_;
  const Options options_;
};

/// Compiles through a daemon.
class Ours {
 public:
  Ours(cccl_cache::Client& client, Options options)
      : client_(client), options_(std::move(options)) {
    std::erase(options_, "--no-cache");  // only for NVRTC; a daemon would cache nothing
  }

  struct Compiled {
    std::string bytes;  ///< empty if the compile failed
    bool spared = false;
  };
  Compiled Compile(const Subject& subject, int round) {
    const std::string text = Text(subject.source, round);
    cccl_cache::NvrtcBuild build;
    build.source = text;
    build.name = "kernel.cu";
    build.options = With(options_, subject.options);
    build.name_expressions = subject.name_expressions;
    cccl_cache::BuildOptions options;
    options.wanted = {subject.wanted};
    const auto result = client_.Build(build, options);
    if (result && result->outcome() == cccl_cache::Outcome::kBuilt) {
      return {std::string(result->artifact(subject.wanted)),
              result->info().precompiled_headers != 0};
    }
    std::fprintf(stderr, "ours: %s\n",
                 result ? std::string(result->log()).c_str() : result.error().message.c_str());
    return {};
  }

  bool CompileSpared(const Subject& subject, int round) {
    const Compiled compiled = Compile(subject, round);
    if (!compiled.spared) std::fprintf(stderr, "ours: compiled with its headers\n");
    return compiled.spared;
  }

  bool Reduce(const Subject& kernels, const Subject& operation, int round) {
    const Compiled one = Compile(kernels, round);
    const Compiled other = Compile(operation, round);
    if (one.bytes.empty() || other.bytes.empty()) return false;
    cccl_cache::LinkBuild build;
    build.inputs = {{CCCL_CACHE_INPUT_LTOIR, "kernels", one.bytes},
                    {CCCL_CACHE_INPUT_LTOIR, "operation", other.bytes}};
    build.options = kLink;
    const auto result = client_.Build(build);
    return result && result->compiled();
  }

  /// Builds programs until the daemon has parsed their preamble.
  bool Teach(const Subject& subject) {
    for (int lesson = 1; lesson <= kMaxLessons; ++lesson) {
      const Compiled compiled = Compile(subject, -lesson);
      if (compiled.spared || compiled.bytes.empty()) return compiled.spared;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    std::fprintf(stderr, "ours: the headers are not parsed\n");
    return false;
  }

 private:
  cccl_cache::Client& client_;
  Options options_;
};

/// A side's name, and a function that compiles the text of a round.
using Side = std::pair<const char*, std::function<bool(int round)>>;

/// Lets the sides compile in turn, and prints the times. The first round is not counted.
bool TakeTurns(const std::vector<Side>& sides, int rounds) {
  for (int round = 0; round <= rounds; ++round) {
    for (size_t turn = 0; turn < sides.size(); ++turn) {
      const auto& [name, side] = sides[(turn + static_cast<size_t>(round)) % sides.size()];
      const auto begin = Clock::now();
      if (!side(round)) return false;
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      if (round > 0) std::printf("%s\t%.0f\n", name, took.count());
    }
  }
  return true;
}

struct Places {
  std::string source;
  std::string folder;
  std::string pch;  ///< path of the file that NVRTC writes
};

bool Run(Raw raw, Ours ours, const Places& places, int rounds) {
  const Options pch = {"--pch", "--pch-messages=false", "--pch-dir=" + places.pch};
  const Subject program = {ReadFile(places.source), {}, {}};
  const Subject kernels = Reduction(places.folder);
  const Subject operation = ToLtoIr(places.folder + "/user_operation.cu", {});
  return ours.Teach(program) &&
         TakeTurns(
             {{"raw", [&](int round) { return !raw.Compile(program, round).empty(); }},
              {"raw with pch",
               [&](int round) { return !raw.Compile(program, round, pch).empty(); }},
              {"ours", [&](int round) { return ours.CompileSpared(program, round); }},
              {"raw reduce", [&](int round) { return raw.Reduce(kernels, operation, round); }},
              {"ours reduce", [&](int round) { return ours.Reduce(kernels, operation, round); }}},
             rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: bench_preambles DAEMON_SOCKET NVRTC NVJITLINK SOURCE FOLDER ROUNDS "
                 "[RAW_OPTION]...\n");
    return 2;
  }
  auto client =
      cccl_cache::Client::Open({.socket = argv[1], .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::unique_ptr<cccl_cache::daemon::RawNvrtc> nvrtc =
      cccl_cache::daemon::RawNvrtc::Load(argv[2]);
  const auto linker = cccl_cache::daemon::RawNvJitLink::Load(argv[3]);
  std::string place = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
  if (!client || nvrtc == nullptr || linker == nullptr || mkdtemp(place.data()) == nullptr) {
    return 5;
  }
  const Options options(argv + 7, argv + argc);
  const bool done = Run(Raw(*nvrtc, *linker, options), Ours(*client, options),
                        {argv[4], argv[5], place}, std::atoi(argv[6]));
  std::filesystem::remove_all(place);
  return done ? 0 : 5;
}
