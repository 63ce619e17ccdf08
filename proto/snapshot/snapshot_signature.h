// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/digest.h"
#include "proto/signature.h"
#include "proto/snapshot/snapshot.h"

/// The signature of a snapshot, in the file FILE.sig beside it. It lets nodes use a snapshot in a
/// place that others can write, and look up single entries without reading all of it.
namespace cccl_cache {

inline constexpr std::string_view kSignatureSuffix = ".sig";

/// The signed values. A value type.
struct SnapshotSignature {
  PublicKey signer;
  std::chrono::sys_seconds time;  ///< when it was signed
  uint64_t file_bytes = 0;        ///< of the snapshot
  Digest index_sha256;            ///< of the snapshot's index, which has the digests of all records
  /// The fingerprint of each record, in the order of the index; zero for a deposit. Builds that
  /// read files are looked up by it.
  std::vector<Digest> fingerprints;

  bool operator==(const SnapshotSignature&) const = default;
};

// Values: base/codec.h.
//
//   file      = head signature rows
//   head      = magic version signer time file_bytes index_sha256 count rows_sha256
//   magic     = "CCCLSIG\n"
//   version   = u32                1; a change of meaning bumps it
//   signer    = 32 bytes           public key
//   time      = u64                seconds since 1970, below 2^63
//   file_bytes = u64
//   index_sha256, rows_sha256 = 32 bytes
//   count     = u32                at most kMaxSnapshotRecords
//   signature = 64 bytes           Ed25519, of the head
//   rows      = count * 32 bytes   fingerprints
inline constexpr size_t kSignatureHeadBytes = 8 + 4 + 32 + 8 + 8 + 32 + 4 + 32;

/// Returns the contents of FILE.sig. The signer is the key; `signature.signer` is ignored.
[[nodiscard]] std::string EncodeSnapshotSignature(const SnapshotSignature& signature,
                                                  const SigningKey& key);

/// Returns the signed values if `trusted` returns true for the signer, or why the bytes are
/// refused. `bytes` are untrusted: only the head is parsed before the signature is verified.
[[nodiscard]] std::variant<SnapshotSignature, std::string> DecodeSnapshotSignature(
    std::string_view bytes, const std::function<bool(const PublicKey&)>& trusted);

}  // namespace cccl_cache
