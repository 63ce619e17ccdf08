// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Rows of one user stand together, ascending by key. docs/entry-format.md has the layouts.
[[nodiscard]] std::string UserRowKey(uid_t uid, const cccl_cache::Digest& key);
/// What the keys of a user's rows begin with; itself the key of a row about all of them.
[[nodiscard]] std::string UserRowPrefix(uid_t uid);
/// None: it is no such prefix, with or without what follows.
[[nodiscard]] std::optional<uid_t> UserOfRow(std::string_view row_key);
/// None: the row is about all of a user's.
[[nodiscard]] std::optional<cccl_cache::Digest> KeyOfRow(std::string_view row_key);

/// What lies in a row besides the key.
[[nodiscard]] std::string EncodeAnswered(const AnsweredBuild& build);
/// None for anything but what was encoded. The key is for the caller to fill in.
[[nodiscard]] std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes);

}  // namespace cccl_cache::daemon
