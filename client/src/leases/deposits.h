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
#include "client/src/leases/lease.h"
#include "client/src/transport/channel.h"

namespace cccl_cache {

/// The key of a deposit. All views must be valid until the call returns.
struct DepositQuestion {
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  std::string_view name_space;
  std::vector<Field> fields;
  std::optional<uint32_t> gid;
  bool released_at_limit = false;
  bool replaces = false;
  bool waits_only = false;
  std::optional<std::chrono::milliseconds> hold{};  ///< of a lease: see HeldLease
};

struct FoundDeposit {
  std::string key;
  std::string contents;
};

/// The result of an acquire if the client with the lease failed, or at the limit of leases
/// (DepositQuestion::released_at_limit), or if no client has the deposit or makes it
/// (DepositQuestion::waits_only). This caller makes the contents without a lease and can't publish
/// them.
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

/// Functions for the RPCs of the service Deposit. Thread-safe. The channel must outlive it.
class DepositCalls {
 public:
  using Acquired = std::variant<FoundDeposit, std::unique_ptr<HeldLease>, ReleasedLease>;

  explicit DepositCalls(Channel& channel) : channel_(channel) {}

  /// Returns the deposit or the lease. Waits for at most `timeout` while another client has the
  /// lease. A lease that an older daemon grants although the question says `waits_only` is
  /// abandoned.
  Expected<Acquired> Acquire(const DepositQuestion& question, std::chrono::milliseconds timeout);
  Expected<std::vector<DepositDescription>> List(Deadline deadline);
  Expected<bool> Remove(std::string_view key, Deadline deadline);
  /// Records a use of each of the deposits that exist. Sends more than one message if the keys are
  /// too large for one.
  Expected<Done> Touch(const std::vector<DepositQuestion>& questions, Deadline deadline);

 private:
  Channel& channel_;
};

/// Returns the id of a group. `name` is a group name of this machine, or the id in decimal.
/// CCCL_CACHE_INVALID_REQUEST: there is no such group.
[[nodiscard]] Expected<uint32_t> FindGroup(const std::string& name);

}  // namespace cccl_cache
