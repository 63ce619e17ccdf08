// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cccl_cache/expected.h"
#include "cli/json_writer.h"

namespace cccl_cache::cli {

/// The key "error" of the object that --json prints: what went wrong, for scripts.
void WriteError(const Error& error, JsonWriter* json);

}  // namespace cccl_cache::cli
