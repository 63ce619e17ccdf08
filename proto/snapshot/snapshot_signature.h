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

/// The signature of a snapshot FILE, in a file FILE.sig beside it. It allows nodes to use a
/// snapshot in a directory that other users can write. A node can look up single records without
/// reading the whole snapshot.
namespace cccl_cache {

inline constexpr std::string_view kSignatureSuffix = ".sig";

/// The signed values. A value type.
struct SnapshotSignature {
  PublicKey signer;
  std::chrono::sys_seconds time;  ///< when it was signed
  uint64_t file_bytes = 0;        ///< size of the snapshot file
  Digest index_sha256;            ///< digest of the index, which has the digests of all records
  /// The fingerprint of each record, in the order of the index. Zero for a deposit. Nodes use it to
  /// look up builds that read files.
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

/// Returns the contents of FILE.sig. The signer is `key`; the member `signature.signer` is ignored.
[[nodiscard]] std::string EncodeSnapshotSignature(const SnapshotSignature& signature,
                                                  const SigningKey& key);

/// Decodes the contents of FILE.sig and verifies the signature. Returns the error if `bytes` are
/// malformed, or if `trusted` returns false for the signer. `bytes` are untrusted: only the head is
/// decoded before the signature is verified.
[[nodiscard]] std::variant<SnapshotSignature, std::string> DecodeSnapshotSignature(
    std::string_view bytes, const std::function<bool(const PublicKey&)>& trusted);

}  // namespace cccl_cache
