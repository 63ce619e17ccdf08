// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cccl_cache/build.h"
#include "cccl_cache/c/lease.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// One field of a deposit's key. The caller keeps the bytes behind `value` alive.
struct DepositField {
  std::string name{};
  std::string_view value{};
};

/// The key of a deposit: see cccl_cache_deposit_key.
struct DepositKey {
  std::string name_space{};
  std::vector<DepositField> fields{};
  std::string group{};
  bool released_at_limit = false;
  bool replaces = false;
  bool waits_only = false;
};

namespace c {

/// A DepositKey as a struct of the C interface. It is valid as long as the key. It can't be moved,
/// because the struct has pointers into it.
class GivenKey {
 public:
  explicit GivenKey(const DepositKey& key) {
    for (const DepositField& field : key.fields) {
      fields_.push_back({Bytes(field.name), Bytes(field.value)});
    }
    key_ = {sizeof(key_),         Bytes(key.name_space), fields_.data(),
            fields_.size(),       Bytes(key.group),      key.released_at_limit ? 1 : 0,
            key.replaces ? 1 : 0, key.waits_only ? 1 : 0};
  }
  GivenKey(const GivenKey&) = delete;
  GivenKey& operator=(const GivenKey&) = delete;

  [[nodiscard]] const cccl_cache_deposit_key* get() const { return &key_; }

 private:
  std::vector<cccl_cache_deposit_field> fields_;
  cccl_cache_deposit_key key_;
};

}  // namespace c

/// A deposit. The returned views are valid as long as this object.
class Deposit {
 public:
  explicit Deposit(cccl_cache_deposit* deposit) : deposit_(deposit) {}

  [[nodiscard]] std::string_view contents() const {
    return View(cccl_cache_deposit_contents(deposit_.get()));
  }
  [[nodiscard]] std::string_view key() const { return View(cccl_cache_deposit_id(deposit_.get())); }

 private:
  Handle<cccl_cache_deposit, cccl_cache_deposit_free> deposit_;
};

/// The exclusive right to make the contents of a deposit. The destructor abandons the lease if it
/// is still held.
class Lease {
 public:
  explicit Lease(cccl_cache_lease* lease) : lease_(lease) {}

  [[nodiscard]] bool held() const { return cccl_cache_lease_held(lease_.get()) != 0; }
  /// See cccl_cache_lease_released.
  [[nodiscard]] bool released() const { return cccl_cache_lease_released(lease_.get()) != 0; }
  [[nodiscard]] std::string_view key() const { return View(cccl_cache_lease_id(lease_.get())); }
  [[nodiscard]] uint64_t fence() const { return cccl_cache_lease_fence(lease_.get()); }

  /// See cccl_cache_lease_publish.
  Expected<Done> Publish(std::string_view contents, std::chrono::milliseconds timeout = {}) {
    cccl_cache_error* error = nullptr;
    if (cccl_cache_lease_publish(lease_.get(), Bytes(contents), c::Milliseconds(timeout), &error) !=
        CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return Done{};
  }
  void Abandon() { cccl_cache_lease_abandon(lease_.get()); }
  /// See cccl_cache_lease_fail.
  void Fail() { cccl_cache_lease_fail(lease_.get()); }

 private:
  Handle<cccl_cache_lease, cccl_cache_lease_free> lease_;
};

using Acquired = std::variant<Deposit, Lease>;

/// The deposits of this user.
class DepositList {
 public:
  explicit DepositList(cccl_cache_deposits* deposits) : deposits_(deposits) {}

  [[nodiscard]] size_t size() const { return cccl_cache_deposits_count(deposits_.get()); }
  /// Returns the description of one deposit. Its texts are valid as long as the list.
  [[nodiscard]] cccl_cache_deposit_info operator[](size_t index) const {
    cccl_cache_deposit_info info = {};
    info.struct_size = sizeof(info);
    cccl_cache_deposits_item(deposits_.get(), index, &info);
    return info;
  }

 private:
  Handle<cccl_cache_deposits, cccl_cache_deposits_free> deposits_;
};

}  // namespace cccl_cache
