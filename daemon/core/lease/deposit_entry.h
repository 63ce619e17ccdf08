// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/lease/deposit.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The forms in which a deposit leaves the process: self-describing, sealed by a checksum, bound to
/// their key. docs/entry-format.md says them byte by byte. Decoders take bytes from anybody, and
/// give nothing when anything does not verify.
[[nodiscard]] std::string EncodeDepositContents(const cccl_cache::Digest& key,
                                                std::string_view contents);
[[nodiscard]] DepositContents DecodeDepositContents(const cccl_cache::Digest& key_asked,
                                                    std::string_view bytes);
[[nodiscard]] std::string EncodeDepositRecord(const DepositRecord& record);
[[nodiscard]] std::optional<DepositRecord> DecodeDepositRecord(const cccl_cache::Digest& key_asked,
                                                               std::string_view bytes);

}  // namespace cccl_cache::daemon
