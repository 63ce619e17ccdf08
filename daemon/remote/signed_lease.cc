// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/signed_lease.h"

#include <memory>
#include <utility>
#include <variant>

#include "base/codec.h"
#include "daemon/remote/signed_entry.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 1 (values: base/codec.h).
//
//   value     = signed token
//   signed    = a signed entry of the kind kLease, whose contents are the statement
//   statement = token renewals
//   token     = 32 bytes
//   renewals  = u64
constexpr uint64_t kMaxStatement = 4096;  // with its envelope, before compression

EntryName NameOf(const Digest& deposit) { return {EntryKind::kLease, deposit, {}}; }

}  // namespace

Result<std::string> SignLease(const Digest& deposit, const SignedLease& lease,
                              const SigningKey& key, std::chrono::sys_seconds signed_at) {
  auto statement = std::make_shared<const std::string>(
      ByteWriter().Bytes(lease.token).Put(lease.renewals).Joined());
  Result<std::string> value =
      SignEntry(NameOf(deposit), {.deposit = std::move(statement)}, key, signed_at);
  if (value) value->append(lease.token);
  return value;
}

std::optional<SignedLease> OpenLease(const Digest& deposit, std::string_view value,
                                     const TrustList& trusted, std::chrono::sys_seconds now) {
  if (value.size() < kLeaseTokenBytes) return std::nullopt;
  const std::string_view token = value.substr(value.size() - kLeaseTokenBytes);
  value.remove_suffix(kLeaseTokenBytes);
  const auto opened = OpenEntry(
      NameOf(deposit), value,
      {.trusted = trusted, .now = now, .max_age = kMaxClockAhead, .max_bytes = kMaxStatement});
  const auto* const entry = std::get_if<SharedEntry>(&opened);
  if (entry == nullptr) return std::nullopt;
  ByteReader statement(*entry->deposit);
  SignedLease lease{.token = std::string(statement.Bytes(kLeaseTokenBytes)),
                    .renewals = statement.Take<uint64_t>()};
  if (!statement.complete() || lease.token != token) return std::nullopt;
  return lease;
}

}  // namespace cccl_cache::daemon
