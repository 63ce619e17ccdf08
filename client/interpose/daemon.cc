// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/daemon.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "client/interpose/real_library.h"
#include "client/interpose/wait.h"
#include "client/src/transport/timing.h"

namespace cccl_cache::interpose {
namespace {

using Clock = CircuitBreaker::Clock;

constexpr uint32_t kSilenceMs = 1000;
/// If the daemon takes longer than this to refuse a build for lack of room, a pause follows (see
/// CircuitBreaker): later calls would be slow too.
constexpr std::chrono::milliseconds kNoWait{50};
/// The longest wait for the first answer, in milliseconds. A daemon that is still starting does not
/// answer in that time.
constexpr uint32_t kNotReadyMs = 50;

/// The daemon's toolchain that contains the real library.
struct Toolchain {
  std::string id;
  std::optional<std::vector<int>> architectures;  ///< none if the daemon was not asked for them
};

// Both objects are never freed: exit handlers may compile, and other threads may be in a call.
std::atomic<cccl_cache_client*> open_client{nullptr};
std::atomic<const Toolchain*> known_toolchain{nullptr};
// Whether this process has made the one build call that names the library instead of a toolchain.
std::atomic<bool> asked_by_library{false};
CircuitBreaker rest;
std::atomic<Reason> why_resting{Reason::kNoDaemon};

std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }
cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }

/// Returns the client, which is opened by the first call, or null if no daemon's socket is trusted.
cccl_cache_client* Client() {
  cccl_cache_client* known = open_client;
  if (known != nullptr) return known;
  cccl_cache_open_options options = {};
  options.struct_size = sizeof(options);
  options.fallback = CCCL_CACHE_FALLBACK_ERROR;
  options.silence_ms = kSilenceMs;
  // No process cache is used: a program compiles each kernel only once, and it may change its root
  // directory or its mounts, which changes the files that a build reads.
  options.process_cache_bytes = CCCL_CACHE_OFF;
  cccl_cache_client* opened = nullptr;
  if (cccl_cache_open(&options, &opened, nullptr) != CCCL_CACHE_OK) return nullptr;
  if (open_client.compare_exchange_strong(known, opened)) return opened;
  cccl_cache_close(opened);
  return known;
}

Reason ReasonOf(cccl_cache_status status) {
  switch (status) {
    case CCCL_CACHE_NO_DAEMON:
      return Reason::kNoDaemon;
    case CCCL_CACHE_UNAVAILABLE:
    case CCCL_CACHE_DEADLINE:
      return Reason::kSilent;
    case CCCL_CACHE_OVERLOADED:
      return Reason::kFull;
    case CCCL_CACHE_TOOLCHAIN_NOT_FOUND:
      return Reason::kNotItsLibrary;
    case CCCL_CACHE_DENIED:
      return Reason::kDenied;
    case CCCL_CACHE_NOT_CACHED:
      return Reason::kNotCached;
    default:
      return Reason::kRefused;
  }
}

/// Returns the reason of a failed call. Keeps the error's text for the report, and frees the error.
Reason ReasonOf(cccl_cache_status status, cccl_cache_error* error) {
  const Reason reason = ReasonOf(status);
  if (reason == Reason::kRefused || reason == Reason::kDenied) {
    KeepRefusal(View(cccl_cache_error_message(error)));
  }
  cccl_cache_error_free(error);
  return reason;
}

/// Starts a pause after a failed call, so that the next calls do not wait for the daemon either. No
/// pause follows a failure that is always fast (a refused request, denied access, a result that is
/// not cached), or a quick refusal for lack of room.
Reason After(Reason reason, Clock::time_point asked) {
  const Clock::duration took = Clock::now() - asked;
  if (reason == Reason::kRefused || reason == Reason::kDenied || reason == Reason::kNotCached) {
    return reason;
  }
  if (reason == Reason::kFull && took < kNoWait) return reason;
  why_resting = reason;
  rest.Failed(Clock::now(), took);
  return reason;
}

Reason After(cccl_cache_status status, Clock::time_point asked) {
  return After(ReasonOf(status), asked);
}

/// Returns the reason why the daemon is not ready, or none if it is ready.
std::optional<Reason> WhyNotReady() {
  int32_t ready = 0;
  cccl_cache_error* error = nullptr;
  const cccl_cache_status status = cccl_cache_check_ready(Client(), kSilenceMs, &ready, &error);
  if (status != CCCL_CACHE_OK) return ReasonOf(status, error);
  return ready != 0 ? std::nullopt : std::optional(Reason::kNotReady);
}

/// Asks the daemon which toolchain contains the real library. A starting daemon answers only after
/// it has found its toolchains, which takes seconds. The program does not wait for that.
std::variant<cccl_cache_library_toolchain, Reason> AskForToolchain() {
  for (const uint32_t patience : {kNotReadyMs, kSilenceMs}) {
    cccl_cache_library_toolchain found = {};
    found.struct_size = sizeof(found);
    cccl_cache_error* error = nullptr;
    const cccl_cache_status status =
        cccl_cache_toolchain_with_library(Client(), Bytes(RealPath()), patience, &found, &error);
    if (status == CCCL_CACHE_OK) return found;
    const Reason reason = ReasonOf(status, error);
    if (status != CCCL_CACHE_DEADLINE) return reason;
    if (const auto why = WhyNotReady()) return *why;
  }
  return Reason::kSilent;
}

/// Finds the daemon's toolchain that contains the real library, or the reason why there is none.
std::variant<const Toolchain*, Reason> FindToolchain() {
  const Clock::time_point start = Clock::now();
  const auto answer = AskForToolchain();
  const Reason* const why = std::get_if<Reason>(&answer);
  if (why != nullptr && *why != Reason::kNotItsLibrary) return After(*why, start);
  const bool replaced = RealFileWasReplaced();
  if (replaced) {
    KeepRefusal(RealPath() + " was replaced or closed after this process opened it");
  } else if (why != nullptr) {
    KeepUnknownLibrary(RealPath());
  }
  if (replaced || why != nullptr) return After(Reason::kNotItsLibrary, start);
  const auto& found = std::get<cccl_cache_library_toolchain>(answer);
  const auto* const made = new Toolchain{
      found.id,
      std::vector<int>(found.architectures, found.architectures + found.architecture_count)};
  known_toolchain = made;
  return made;
}

/// Returns the reason why the daemon gets no calls now, or none if it may be called.
std::optional<Reason> WhyNotAsked() {
  if (RealPath().empty() || !OpenWithOwnBuiltins()) return Reason::kNotItsLibrary;
  if (rest.Resting(Clock::now())) return why_resting.load();
  if (Client() == nullptr) return After(CCCL_CACHE_NO_DAEMON, Clock::now());
  return std::nullopt;
}

/// Returns the reason of a build that got no answer before its deadline. `bounded` tells whether
/// the user limited the wait. If so, and the daemon answers another request, it is still compiling.
Reason AfterDeadline(bool bounded, Clock::time_point asked) {
  if (!bounded) return Reason::kSilent;
  int32_t ready = 0;
  const cccl_cache_status status = cccl_cache_check_ready(Client(), kSilenceMs, &ready, nullptr);
  if (status != CCCL_CACHE_OK) return After(status, asked);
  return Reason::kTooSlow;
}

/// The parameters and the answer of one build call.
struct Question {
  std::string toolchain_id;
  cccl_cache_build_options options{};
  Clock::time_point start;
  cccl_cache_answer answer{};
};

/// Sends the build to the daemon. Stores the answer in `question`.
template <typename Program, typename Call>
cccl_cache_status Send(Call call, const Program& program, Question* question) {
  cccl_cache_build_options& options = question->options;
  options.struct_size = sizeof(options);
  options.toolchain_id = Bytes(question->toolchain_id);
  options.as_this_process = 1;
  if (const auto wait = RunWait()) {
    options.timeout_ms = static_cast<uint32_t>(wait->count());
    options.on_miss = wait->count() > 0 ? CCCL_CACHE_ON_MISS_FINISH : CCCL_CACHE_ON_MISS_REFUSE;
  }
  question->start = Clock::now();
  question->answer.struct_size = sizeof(question->answer);
  return call(Client(), &program, &options, &question->answer);
}

/// Returns the result of the build, or the reason why there is none. Takes over the answer's error
/// or result, so it must be called exactly once for each answer.
std::variant<Answer, Reason> Take(cccl_cache_status status, const Question& question) {
  if (status != CCCL_CACHE_OK) {
    Reason reason = ReasonOf(status, question.answer.error);
    // This user has access to the daemon, so the denial concerns a file that the build reads.
    if (reason == Reason::kDenied) reason = Reason::kRefused;
    // The daemon may have updated its toolchains, so that the known one has another library now.
    if (status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND) known_toolchain = nullptr;
    if (status == CCCL_CACHE_DEADLINE) {
      return AfterDeadline(question.options.timeout_ms > 0, question.start);
    }
    return After(reason, question.start);
  }
  rest.Answered();
  Answer given{.result = Result(question.answer.result)};
  given.info.struct_size = sizeof(given.info);
  cccl_cache_result_describe(given.result.get(), &given.info);
  // The outcome "failed" without an error code of the compiler is an error of the daemon.
  if (given.info.outcome == CCCL_CACHE_FAILED && given.info.native_code == 0) {
    return Reason::kRefused;
  }
  return given;
}

/// Sends the first build of the process without asking for the toolchain before: the request names
/// the library instead. Returns none, so that the caller asks for the toolchain, if the daemon does
/// not know the library, is too old for such a request, or refuses the build or this user. Also
/// returns none for each later build.
template <typename Program, typename Call>
std::optional<std::variant<Answer, Reason>> AskFirst(Call call, const Program& program) {
  if (asked_by_library.exchange(true)) return std::nullopt;
  Question question{.toolchain_id = ToolchainIdByLibrary(RealComponent())};
  if (question.toolchain_id.empty() || RealFileWasReplaced()) return std::nullopt;
  const cccl_cache_status status = Send(call, program, &question);
  if (status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND || status == CCCL_CACHE_INVALID_REQUEST ||
      status == CCCL_CACHE_DENIED) {
    cccl_cache_error_free(question.answer.error);
    return std::nullopt;
  }
  auto taken = Take(status, question);
  const auto* given = std::get_if<Answer>(&taken);
  if (given != nullptr && given->info.toolchain_id.size > 0) {
    const Toolchain* none = nullptr;
    const auto* const made =
        new Toolchain{std::string(View(given->info.toolchain_id)), std::nullopt};
    if (!known_toolchain.compare_exchange_strong(none, made)) delete made;
  }
  return taken;
}

template <typename Program, typename Call>
std::variant<Answer, Reason> AskBy(Call call, const Program& program) {
  if (const auto why = WhyNotAsked()) return *why;
  const Toolchain* toolchain = known_toolchain;
  if (toolchain == nullptr) {
    if (auto answered = AskFirst(call, program)) return *std::move(answered);
    const auto found = FindToolchain();
    if (const Reason* why = std::get_if<Reason>(&found)) return *why;
    toolchain = std::get<const Toolchain*>(found);
  }
  Question question{.toolchain_id = toolchain->id};
  const cccl_cache_status status = Send(call, program, &question);
  return Take(status, question);
}

}  // namespace

std::variant<Answer, Reason> Ask(const cccl_cache_nvrtc& program) {
  return AskBy(cccl_cache_ask_nvrtc, program);
}

std::variant<Answer, Reason> Ask(const cccl_cache_link& program) {
  return AskBy(cccl_cache_ask_link, program);
}

std::variant<Answer, Reason> Ask(const cccl_cache_nvvm& program) {
  return AskBy(cccl_cache_ask_nvvm, program);
}

void Count(const cccl_cache_result_info& info) {
  ProcessCounts& counts = Counts();
  if (info.saved_us > info.total_us) counts.saved_us += info.saved_us - info.total_us;
  if (info.precompiled_headers != 0) ++counts.precompiled_headers;
  switch (info.outcome) {
    case CCCL_CACHE_HIT:
      ++counts.hits;
      break;
    case CCCL_CACHE_JOINED:
      ++counts.joined;
      break;
    case CCCL_CACHE_FAILED:
      ++counts.failed;
      break;
    case CCCL_CACHE_UNCACHEABLE:
      ++counts.compiled;
      CountUncacheable(View(info.reason));
      break;
    default:
      ++counts.compiled;
  }
}

std::vector<int> Architectures() {
  if (WhyNotAsked()) return {};
  const Toolchain* toolchain = known_toolchain;
  if (toolchain == nullptr || !toolchain->architectures) {
    const auto found = FindToolchain();
    if (std::holds_alternative<Reason>(found)) return {};
    toolchain = std::get<const Toolchain*>(found);
  }
  return *toolchain->architectures;
}

}  // namespace cccl_cache::interpose
