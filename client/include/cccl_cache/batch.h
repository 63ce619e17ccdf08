// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "cccl_cache/build.h"
#include "cccl_cache/build_result.h"
#include "cccl_cache/client.h"
#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// A batch of builds that run at the same time; Next returns them in the order in which they
/// finish. A batch starts no thread: builds make progress only during calls of its functions. fd()
/// tells an event loop when to call Next. Use it on one thread at a time, and only in the process
/// that opened it. The client must outlive it.
class Batch {
 public:
  /// One finished build, with the tag that the program passed to Add.
  struct Finished {
    uint64_t tag = 0;
    Expected<BuildResult> result;
  };

  static Expected<Batch> Open(Client& client) {
    cccl_cache_batch* batch = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_batch_open(client.client_.get(), &batch, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return Batch(batch);
  }

  /// Adds a build. Next returns it once, when it has finished. Contents are copied. Returns an
  /// error if the request is invalid; errors of the build itself are results of Next.
  Expected<Done> Add(const NvrtcBuild& build, uint64_t tag, const BuildOptions& options = {}) {
    return AddWith(cccl_cache_batch_add_nvrtc, build, tag, options);
  }
  Expected<Done> Add(const LinkBuild& build, uint64_t tag, const BuildOptions& options = {}) {
    return AddWith(cccl_cache_batch_add_link, build, tag, options);
  }
  Expected<Done> Add(const NvvmBuild& build, uint64_t tag, const BuildOptions& options = {}) {
    return AddWith(cccl_cache_batch_add_nvvm, build, tag, options);
  }

  /// Waits for a build to finish and returns it. Returns nullopt if the batch has no more builds.
  std::optional<Finished> Next() { return NextWithin(CCCL_CACHE_NO_TIMEOUT); }
  /// Like Next(), but also returns nullopt if no build finishes within the timeout. Zero: does not
  /// wait.
  std::optional<Finished> Next(std::chrono::milliseconds timeout) {
    return NextWithin(c::Milliseconds(timeout));
  }

  /// Cancels the unfinished builds with this tag. Next returns each of them with the error
  /// CCCL_CACHE_CANCELLED.
  void Cancel(uint64_t tag) { cccl_cache_batch_cancel(batch_.get(), tag); }

  /// Returns the number of builds that Next has not returned yet.
  [[nodiscard]] size_t pending() const { return cccl_cache_batch_pending(batch_.get()); }
  /// Returns a descriptor that becomes readable when the program should call Next. The batch owns
  /// it.
  [[nodiscard]] int fd() const { return cccl_cache_batch_fd(batch_.get()); }

 private:
  explicit Batch(cccl_cache_batch* batch) : batch_(batch) {}

  template <typename Function, typename Build>
  Expected<Done> AddWith(Function function, const Build& build, uint64_t tag,
                         const BuildOptions& given) {
    return c::With(build, [&](const auto& program) {
      return c::With(given, [&](const cccl_cache_build_options& options) -> Expected<Done> {
        cccl_cache_error* error = nullptr;
        if (function(batch_.get(), &program, &options, tag, &error) != CCCL_CACHE_OK) {
          return TakeError(error);
        }
        return Done{};
      });
    });
  }

  std::optional<Finished> NextWithin(uint32_t timeout_ms) {
    uint64_t tag = 0;
    cccl_cache_result* result = nullptr;
    cccl_cache_error* error = nullptr;
    if (cccl_cache_batch_next(batch_.get(), timeout_ms, &tag, &result, &error) != CCCL_CACHE_OK) {
      return Finished{tag, TakeError(error)};
    }
    if (result == nullptr) return std::nullopt;
    return Finished{tag, BuildResult(result)};
  }

  Handle<cccl_cache_batch, cccl_cache_batch_free> batch_;
};

}  // namespace cccl_cache
