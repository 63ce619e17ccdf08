// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"

/// The C interface of libcccl_cache.so.1 for C++20: values own what they hold, nothing throws.
/// Header-only.
namespace cccl_cache {

enum class Outcome : uint8_t {
  kUnknown = CCCL_CACHE_OUTCOME_UNKNOWN,
  kHit = CCCL_CACHE_HIT,
  kBuilt = CCCL_CACHE_BUILT,
  kJoined = CCCL_CACHE_JOINED,
  kUncacheable = CCCL_CACHE_UNCACHEABLE,
  kFailed = CCCL_CACHE_FAILED,
};

enum class Kind : uint8_t {
  kPtx = CCCL_CACHE_PTX,
  kCubin = CCCL_CACHE_CUBIN,
  kLtoIr = CCCL_CACHE_LTOIR,
  kOptixIr = CCCL_CACHE_OPTIXIR,
};

/// A name with contents, which the caller keeps alive: a header, a variable.
struct NamedText {
  std::string name{};
  std::string_view contents{};
};

/// CUDA C++ for NVRTC. Contents must outlive the call.
struct NvrtcBuild {
  std::string_view source{};
  std::string name{};
  std::vector<std::string> options{};
  std::vector<NamedText> headers{};
  std::vector<std::string> name_expressions{};
  std::vector<NamedText> environment{};
  bool append_toolchain_headers = false;
};

struct LinkFile {
  cccl_cache_link_input_type type = CCCL_CACHE_INPUT_ANY;
  std::string name{};
  std::string_view contents{};
};

/// Inputs for nvJitLink in link order. Contents must outlive the call.
struct LinkBuild {
  std::vector<LinkFile> inputs{};
  std::vector<std::string> options{};
};

struct NvvmFile {
  std::string name{};
  std::string_view contents{};
  bool lazy = false;
};

/// NVVM IR for libNVVM, modules in order. Contents must outlive the call.
struct NvvmBuild {
  std::vector<NvvmFile> modules{};
  std::vector<std::string> options{};
  bool add_libdevice = false;
};

/// What all kinds of builds have in common.
struct BuildOptions {
  std::string toolchain_id{};  ///< at most one of the three
  std::string toolchain_version{};
  uint32_t toolchain_major = 0;
  uint32_t driver_version = 0;           ///< as cuDriverGetVersion says, 0: no driver
  std::string working_directory{};       ///< absolute, or empty: unknown
  std::vector<Kind> wanted{};            ///< none: all
  std::chrono::milliseconds timeout{0};  ///< zero: the library's own
};

struct Artifact {
  Kind kind;
  std::string_view contents;
  std::string_view sha256;
};

struct LoweredName {
  std::string_view expression;
  std::string_view lowered;
};

inline std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }
inline cccl_cache_bytes Bytes(std::string_view view) { return {view.data(), view.size()}; }

/// Calls the function that frees a handle.
template <auto Free>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <typename T, auto Free>
using Handle = std::unique_ptr<T, HandleDeleter<Free>>;

/// The answer to a build. All views live as long as it.
class BuildResult {
 public:
  using Handle = cccl_cache::Handle<cccl_cache_result, cccl_cache_result_free>;

  explicit BuildResult(cccl_cache_result* result) : result_(result) {
    info_.struct_size = sizeof(info_);
    cccl_cache_result_describe(result, &info_);
  }

  [[nodiscard]] Outcome outcome() const { return static_cast<Outcome>(info_.outcome); }
  /// There are artifacts: the code compiles.
  [[nodiscard]] bool compiled() const { return outcome() != Outcome::kFailed; }
  [[nodiscard]] std::string_view tier() const { return cccl_cache_tier_name(info_.tier); }
  [[nodiscard]] std::string_view key() const { return View(info_.key); }
  [[nodiscard]] std::string_view fingerprint() const { return View(info_.fingerprint); }
  [[nodiscard]] std::string_view toolchain_id() const { return View(info_.toolchain_id); }
  [[nodiscard]] std::string_view toolchain_version() const { return View(info_.toolchain_version); }
  [[nodiscard]] std::string_view log() const { return View(info_.log); }
  [[nodiscard]] std::string_view reason() const { return View(info_.reason); }
  /// Everything else: codes, flags, timings.
  [[nodiscard]] const cccl_cache_result_info& info() const { return info_; }

  [[nodiscard]] std::vector<Artifact> artifacts() const {
    std::vector<Artifact> artifacts;
    artifacts.reserve(info_.artifact_count);
    for (size_t i = 0; i < info_.artifact_count; ++i) artifacts.push_back(At(i));
    return artifacts;
  }
  /// The contents of that kind; empty if there are none.
  [[nodiscard]] std::string_view artifact(Kind kind) const {
    for (size_t i = 0; i < info_.artifact_count; ++i) {
      if (const Artifact found = At(i); found.kind == kind) return found.contents;
    }
    return {};
  }
  [[nodiscard]] std::vector<LoweredName> lowered_names() const {
    std::vector<LoweredName> names;
    for (size_t i = 0; i < info_.lowered_name_count; ++i) {
      cccl_cache_lowered_name name = {sizeof(name), {}, {}};
      cccl_cache_result_lowered_name(result_.get(), i, &name);
      names.push_back({View(name.expression), View(name.lowered)});
    }
    return names;
  }

 private:
  [[nodiscard]] Artifact At(size_t index) const {
    cccl_cache_artifact artifact = {};
    artifact.struct_size = sizeof(artifact);
    cccl_cache_result_artifact(result_.get(), index, &artifact);
    return {static_cast<Kind>(artifact.kind), View(artifact.contents), View(artifact.sha256)};
  }

  Handle result_;
  cccl_cache_result_info info_ = {};
};

/// In what a build is another than an earlier one.
struct Difference {
  cccl_cache_difference_field field;
  std::string_view name;
  std::string_view was;
  std::string_view is;
  uint64_t was_lines;
  uint64_t is_lines;
};

/// Why a build is a miss. All views live as long as it.
class Explanation {
 public:
  using Handle = cccl_cache::Handle<cccl_cache_explanation, cccl_cache_explanation_free>;

  explicit Explanation(cccl_cache_explanation* explanation) : explanation_(explanation) {
    info_.struct_size = sizeof(info_);
    cccl_cache_explanation_describe(explanation, &info_);
  }

  [[nodiscard]] std::string_view verdict() const { return cccl_cache_verdict_name(info_.verdict); }
  [[nodiscard]] std::string_view reason() const { return View(info_.reason); }
  [[nodiscard]] std::string_view nearest_key() const { return View(info_.nearest_key); }
  /// Everything else: times, the tier.
  [[nodiscard]] const cccl_cache_explanation_info& info() const { return info_; }

  [[nodiscard]] std::vector<Difference> differences() const {
    std::vector<Difference> differences;
    for (size_t i = 0; i < info_.difference_count; ++i) {
      cccl_cache_difference each = {};
      each.struct_size = sizeof(each);
      cccl_cache_explanation_difference(explanation_.get(), i, &each);
      differences.push_back({each.field, View(each.name), View(each.was), View(each.is),
                             each.was_lines, each.is_lines});
    }
    return differences;
  }

 private:
  Handle explanation_;
  cccl_cache_explanation_info info_ = {};
};

/// A client of the daemon. Any number of threads may use one at once; moving it is not one of the
/// uses.
class Client {
 public:
  /// Empty: the default socket (see cccl_cache_open_options). Connects at the first call.
  static Expected<Client> Open(std::string_view socket = {}) {
    const cccl_cache_open_options options = {sizeof(options), Bytes(socket)};
    cccl_cache_client* client = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_open(&options, &client, &error) != CCCL_CACHE_OK) return Take(error);
    return Client(client);
  }

  [[nodiscard]] std::string_view socket() const {
    return View(cccl_cache_client_socket(client_.get()));
  }

  Expected<BuildResult> Build(const NvrtcBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_nvrtc& program) {
      return Call<BuildResult>(cccl_cache_build_nvrtc, program, options);
    });
  }
  Expected<BuildResult> Build(const LinkBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_link& program) {
      return Call<BuildResult>(cccl_cache_build_link, program, options);
    });
  }
  Expected<BuildResult> Build(const NvvmBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_nvvm& program) {
      return Call<BuildResult>(cccl_cache_build_nvvm, program, options);
    });
  }

  /// Whether the build would be a hit, and why not. Compiles nothing.
  Expected<Explanation> Explain(const NvrtcBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_nvrtc& program) {
      return Call<Explanation>(cccl_cache_explain_nvrtc, program, options);
    });
  }
  Expected<Explanation> Explain(const LinkBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_link& program) {
      return Call<Explanation>(cccl_cache_explain_link, program, options);
    });
  }
  Expected<Explanation> Explain(const NvvmBuild& build, const BuildOptions& options = {}) {
    return With(build, [&](const cccl_cache_nvvm& program) {
      return Call<Explanation>(cccl_cache_explain_nvvm, program, options);
    });
  }
  /// Why this user's last build with that key was compiled.
  Expected<Explanation> ExplainKey(std::string_view key, std::chrono::milliseconds timeout = {}) {
    cccl_cache_explanation* explanation = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_explain_key(client_.get(), Bytes(key), Milliseconds(timeout), &explanation,
                               &error) != CCCL_CACHE_OK) {
      return Take(error);
    }
    return Explanation(explanation);
  }

  /// Whether the daemon says that it serves.
  Expected<bool> Health(std::chrono::milliseconds timeout = {}) {
    int32_t serving = 0;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_check_health(client_.get(), Milliseconds(timeout), &serving, &error) !=
        CCCL_CACHE_OK) {
      return Take(error);
    }
    return serving != 0;
  }

  using Stats = Handle<cccl_cache_stats, cccl_cache_stats_free>;
  using Toolchains = Handle<cccl_cache_toolchains, cccl_cache_toolchains_free>;
  using Info = Handle<cccl_cache_info, cccl_cache_info_free>;

  Expected<Stats> GetStats(std::chrono::milliseconds timeout = {}) {
    return Get<Stats>(cccl_cache_get_stats, timeout);
  }
  Expected<Toolchains> GetToolchains(std::chrono::milliseconds timeout = {}) {
    return Get<Toolchains>(cccl_cache_get_toolchains, timeout);
  }
  Expected<Info> GetInfo(std::chrono::milliseconds timeout = {}) {
    return Get<Info>(cccl_cache_get_info, timeout);
  }

 private:
  explicit Client(cccl_cache_client* client) : client_(client) {}

  static Error Take(cccl_cache_error* error) {
    const Handle<cccl_cache_error, cccl_cache_error_free> owned(error);
    return {cccl_cache_error_status(error), std::string(View(cccl_cache_error_message(error))),
            cccl_cache_error_retry_after_ms(error)};
  }

  static uint32_t Milliseconds(std::chrono::milliseconds timeout) {
    return static_cast<uint32_t>(timeout.count());
  }

  static std::vector<cccl_cache_bytes> All(const std::vector<std::string>& texts) {
    std::vector<cccl_cache_bytes> all;
    all.reserve(texts.size());
    for (const std::string& text : texts) all.push_back(Bytes(text));
    return all;
  }

  // Each calls `then` with the build as the C interface takes it.
  template <typename Then>
  static std::invoke_result_t<Then, const cccl_cache_nvrtc&> With(const NvrtcBuild& build,
                                                                  Then then) {
    const std::vector<cccl_cache_bytes> flags = All(build.options);
    const std::vector<cccl_cache_bytes> expressions = All(build.name_expressions);
    std::vector<cccl_cache_header> headers;
    for (const NamedText& header : build.headers) {
      headers.push_back({Bytes(header.name), Bytes(header.contents)});
    }
    std::vector<cccl_cache_variable> variables;
    for (const NamedText& variable : build.environment) {
      variables.push_back({Bytes(variable.name), Bytes(variable.contents)});
    }
    cccl_cache_nvrtc program = {};
    program.struct_size = sizeof(program);
    program.source = Bytes(build.source);
    program.name = Bytes(build.name);
    program.options = flags.data();
    program.option_count = flags.size();
    program.headers = headers.data();
    program.header_count = headers.size();
    program.name_expressions = expressions.data();
    program.name_expression_count = expressions.size();
    program.environment = variables.data();
    program.environment_count = variables.size();
    program.append_toolchain_headers = build.append_toolchain_headers ? 1 : 0;
    return then(program);
  }

  template <typename Then>
  static std::invoke_result_t<Then, const cccl_cache_link&> With(const LinkBuild& build,
                                                                 Then then) {
    const std::vector<cccl_cache_bytes> flags = All(build.options);
    std::vector<cccl_cache_link_input> inputs;
    for (const LinkFile& input : build.inputs) {
      inputs.push_back({input.type, Bytes(input.name), Bytes(input.contents)});
    }
    const cccl_cache_link program = {sizeof(program), inputs.data(), inputs.size(), flags.data(),
                                     flags.size()};
    return then(program);
  }

  template <typename Then>
  static std::invoke_result_t<Then, const cccl_cache_nvvm&> With(const NvvmBuild& build,
                                                                 Then then) {
    const std::vector<cccl_cache_bytes> flags = All(build.options);
    std::vector<cccl_cache_nvvm_module> modules;
    for (const NvvmFile& file : build.modules) {
      modules.push_back({Bytes(file.name), Bytes(file.contents), file.lazy ? 1 : 0});
    }
    const cccl_cache_nvvm program = {sizeof(program), modules.data(), modules.size(),
                                     flags.data(),    flags.size(),   build.add_libdevice ? 1 : 0};
    return then(program);
  }

  template <typename Result, typename Function, typename Program>
  Expected<Result> Call(Function function, const Program& program, const BuildOptions& given) {
    std::vector<cccl_cache_artifact_kind> wanted;
    for (const Kind kind : given.wanted) {
      wanted.push_back(static_cast<cccl_cache_artifact_kind>(kind));
    }
    cccl_cache_build_options options = {};
    options.struct_size = sizeof(options);
    options.toolchain_id = Bytes(given.toolchain_id);
    options.toolchain_version = Bytes(given.toolchain_version);
    options.toolchain_major = given.toolchain_major;
    options.driver_version = given.driver_version;
    options.working_directory = Bytes(given.working_directory);
    options.wanted = wanted.data();
    options.wanted_count = wanted.size();
    options.timeout_ms = Milliseconds(given.timeout);
    typename Result::Handle::pointer result = nullptr;
    cccl_cache_error* error = nullptr;
    if (function(client_.get(), &program, &options, &result, &error) != CCCL_CACHE_OK) {
      return Take(error);
    }
    return Result(result);
  }

  template <typename Reply, typename Function>
  Expected<Reply> Get(Function function, std::chrono::milliseconds timeout) {
    typename Reply::pointer reply = nullptr;
    cccl_cache_error* error = nullptr;
    if (function(client_.get(), Milliseconds(timeout), &reply, &error) != CCCL_CACHE_OK) {
      return Take(error);
    }
    return Reply(reply);
  }

  Handle<cccl_cache_client, cccl_cache_close> client_;
};

}  // namespace cccl_cache
