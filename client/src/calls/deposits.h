// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/calls/lease.h"
#include "client/src/transport/channel.h"

namespace cccl_cache {

/// The arguments of an acquire. All views must outlive the call.
struct DepositQuestion {
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  std::string_view name_space;
  std::vector<Field> fields;
  std::optional<uint32_t> gid;
};

struct FoundDeposit {
  std::string key;
  std::string contents;
};

/// The holder of the lease failed, so this caller has no lease and continues without one.
struct ReleasedLease {
  std::string key;
};

/// The fields of cccl_cache_deposit_info.
struct DepositDescription {
  std::string key;
  std::string name_space;
  std::optional<uint32_t> gid;
  uint64_t size = 0;
  uint64_t made_at = 0;
  uint64_t used_at = 0;
};

/// The RPCs of the service Deposit as functions. Thread-safe. The channel must outlive it.
class DepositCalls {
 public:
  using Acquired = std::variant<FoundDeposit, std::unique_ptr<HeldLease>, ReleasedLease>;

  explicit DepositCalls(Channel& channel) : channel_(channel) {}

  /// Waits for at most `timeout`.
  Expected<Acquired> Acquire(const DepositQuestion& question, std::chrono::milliseconds timeout);
  Expected<std::vector<DepositDescription>> List(Deadline deadline);
  Expected<bool> Remove(std::string_view key, Deadline deadline);
  /// Records a use of each deposit that exists. Sends as few messages as can hold the keys.
  Expected<Done> Touch(const std::vector<DepositQuestion>& questions, Deadline deadline);

 private:
  Channel& channel_;
};

/// Returns the number of a group, given by its name on this machine or as a number.
/// CCCL_CACHE_INVALID_REQUEST: there is no such group.
[[nodiscard]] Expected<uint32_t> FindGroup(const std::string& name);

}  // namespace cccl_cache
