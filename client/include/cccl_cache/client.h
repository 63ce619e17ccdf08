// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/build.h"
#include "cccl_cache/build_result.h"
#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"
#include "cccl_cache/lease.h"
#include "cccl_cache/snapshot.h"

/// The C++20 interface of libcccl_cache.so.1. It is header-only and calls the C interface. Returned
/// values own their contents. Functions return errors and throw no exceptions.
namespace cccl_cache {

/// Options of Client::Open. Each field is described at the field of cccl_cache_open_options.
struct ClientOptions {
  std::string_view socket{};
  cccl_cache_fallback fallback = CCCL_CACHE_FALLBACK_LOCAL;
  std::chrono::milliseconds local_after{};
  std::string_view local_compiler{};
  bool quiet_fallback = false;
  uint64_t process_cache_bytes = 0;
  std::chrono::milliseconds silence{};
};

/// A client of the daemon. Thread-safe, except for a move of the object.
class Client {
 public:
  /// Opens a client. It connects to the daemon at its first call. `socket` is a path; empty: the
  /// default socket (see cccl_cache_open_options).
  static Expected<Client> Open(std::string_view socket = {}) {
    return Open(ClientOptions{.socket = socket});
  }
  static Expected<Client> Open(const ClientOptions& given) {
    const cccl_cache_open_options options = {sizeof(options),
                                             Bytes(given.socket),
                                             given.fallback,
                                             c::Milliseconds(given.local_after),
                                             Bytes(given.local_compiler),
                                             given.quiet_fallback ? 1 : 0,
                                             given.process_cache_bytes,
                                             c::Milliseconds(given.silence)};
    cccl_cache_client* client = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_open(&options, &client, &error) != CCCL_CACHE_OK) return TakeError(error);
    return Client(client);
  }

  [[nodiscard]] std::string_view socket() const {
    return View(cccl_cache_client_socket(client_.get()));
  }

  Expected<BuildResult> Build(const NvrtcBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_nvrtc& program) {
      return Call<BuildResult>(cccl_cache_build_nvrtc, program, options);
    });
  }
  Expected<BuildResult> Build(const LinkBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_link& program) {
      return Call<BuildResult>(cccl_cache_build_link, program, options);
    });
  }
  Expected<BuildResult> Build(const NvvmBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_nvvm& program) {
      return Call<BuildResult>(cccl_cache_build_nvvm, program, options);
    });
  }

  /// Returns the counters of the result cache in this client.
  [[nodiscard]] cccl_cache_client_info info() const {
    cccl_cache_client_info info = {};
    info.struct_size = sizeof(info);
    cccl_cache_client_describe(client_.get(), &info);
    return info;
  }

  /// Returns, as JSON, whether the build would be a cache hit, and the reason if not; see
  /// cccl_cache_explain_nvrtc. Compiles nothing.
  Expected<std::string> Explain(const NvrtcBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_nvrtc& program) {
      return CallForJson(cccl_cache_explain_nvrtc, program, options);
    });
  }
  Expected<std::string> Explain(const LinkBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_link& program) {
      return CallForJson(cccl_cache_explain_link, program, options);
    });
  }
  Expected<std::string> Explain(const NvvmBuild& build, const BuildOptions& options = {}) {
    return c::With(build, [&](const cccl_cache_nvvm& program) {
      return CallForJson(cccl_cache_explain_nvvm, program, options);
    });
  }

  /// Returns the deposit with this key, or the lease to make it; see cccl_cache_acquire.
  Expected<Acquired> Acquire(const DepositKey& key, std::chrono::milliseconds timeout = {}) {
    const c::GivenKey given(key);
    cccl_cache_deposit* hit = nullptr;
    cccl_cache_lease* lease = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_acquire(client_.get(), given.get(), c::Milliseconds(timeout), &hit, &lease,
                           &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    if (hit != nullptr) return Acquired(Deposit(hit));
    return Acquired(Lease(lease));
  }
  /// Returns the deposits of this user, in the order of their keys.
  Expected<DepositList> ListDeposits(std::chrono::milliseconds timeout = {}) {
    cccl_cache_deposits* deposits = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_list_deposits(client_.get(), c::Milliseconds(timeout), &deposits, &error) !=
        CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return DepositList(deposits);
  }
  /// Removes the deposit with this key. Returns false if this user has no such deposit.
  Expected<bool> RemoveDeposit(std::string_view key, std::chrono::milliseconds timeout = {}) {
    int32_t removed = 0;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_remove_deposit(client_.get(), Bytes(key), c::Milliseconds(timeout), &removed,
                                  &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return removed != 0;
  }

  /// Records a use of each of these deposits, so that the daemon does not evict it; see
  /// cccl_cache_touch_deposits.
  Expected<Done> TouchDeposits(const std::vector<DepositKey>& keys,
                               std::chrono::milliseconds timeout = {}) {
    std::deque<c::GivenKey> given;
    std::vector<const cccl_cache_deposit_key*> pointers;
    for (const DepositKey& key : keys) pointers.push_back(given.emplace_back(key).get());
    cccl_cache_error* error = nullptr;
    if (cccl_cache_touch_deposits(client_.get(), pointers.data(), pointers.size(),
                                  c::Milliseconds(timeout), &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return Done{};
  }

  /// Returns the object with the functions for snapshots. It is valid as long as the client.
  [[nodiscard]] Snapshots snapshots() { return Snapshots(client_.get()); }

  /// Returns whether the daemon's health service reports SERVING.
  Expected<bool> Health(std::chrono::milliseconds timeout = {}) {
    int32_t serving = 0;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_check_health(client_.get(), c::Milliseconds(timeout), &serving, &error) !=
        CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return serving != 0;
  }

  /// A function that receives the part of an answer that is known so far.
  using Progress = std::function<void(std::string_view json)>;

  /// Asks the daemon a question about its state and returns the answer as JSON; see
  /// cccl_cache_query.
  Expected<std::string> Query(const char* question, const std::vector<std::string>& arguments = {},
                              std::chrono::milliseconds timeout = {},
                              const Progress& progress = {}) {
    const std::vector<cccl_cache_bytes> given = c::All(arguments);
    cccl_cache_query_options options = {};
    options.struct_size = sizeof(options);
    options.arguments = given.data();
    options.argument_count = given.size();
    options.timeout_ms = c::Milliseconds(timeout);
    if (progress) {
      options.progress = [](cccl_cache_bytes so_far, void* context) {
        (*static_cast<const Progress*>(context))(View(so_far));
      };
      options.context = const_cast<Progress*>(&progress);
    }
    cccl_cache_json* answer = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_query(client_.get(), question, &options, &answer, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return TakeJson(answer);
  }

  /// Uploads a compiler library to the daemon, which accepts releases of NVIDIA only; see
  /// cccl_cache_add_release. Returns false if the daemon has the same library already.
  Expected<bool> AddRelease(std::string_view path, std::chrono::milliseconds timeout = {}) {
    int32_t added = 0;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_add_release(client_.get(), {path.data(), path.size()}, c::Milliseconds(timeout),
                               &added, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return added != 0;
  }
  /// Returns the version of the release that AddRelease would upload for this path; see
  /// cccl_cache_find_release. The result is empty if the daemon has the same library already.
  Expected<std::string> FindRelease(std::string_view path, std::chrono::milliseconds timeout = {}) {
    char version[32];
    cccl_cache_error* error = nullptr;
    if (cccl_cache_find_release(client_.get(), {path.data(), path.size()}, c::Milliseconds(timeout),
                                version, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return std::string(version);
  }

 private:
  explicit Client(cccl_cache_client* client) : client_(client) {}

  template <typename Result, typename Function, typename Program>
  Expected<Result> Call(Function function, const Program& program, const BuildOptions& given) {
    return c::With(given, [&](const cccl_cache_build_options& options) -> Expected<Result> {
      typename Result::Handle::pointer result = nullptr;
      cccl_cache_error* error = nullptr;
      if (function(client_.get(), &program, &options, &result, &error) != CCCL_CACHE_OK) {
        return TakeError(error);
      }
      return Result(result);
    });
  }

  template <typename Function, typename Program>
  Expected<std::string> CallForJson(Function function, const Program& program,
                                    const BuildOptions& given) {
    return c::With(given, [&](const cccl_cache_build_options& options) -> Expected<std::string> {
      cccl_cache_json* answer = nullptr;
      cccl_cache_error* error = nullptr;
      if (function(client_.get(), &program, &options, &answer, &error) != CCCL_CACHE_OK) {
        return TakeError(error);
      }
      return TakeJson(answer);
    });
  }

  /// Returns the text of an answer, and frees the answer.
  static std::string TakeJson(cccl_cache_json* answer) {
    const Handle<cccl_cache_json, cccl_cache_json_free> owner(answer);
    return std::string(View(cccl_cache_json_text(answer)));
  }

  friend class Batch;

  Handle<cccl_cache_client, cccl_cache_close> client_;
};

}  // namespace cccl_cache
