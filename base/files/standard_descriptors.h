// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache {

/// Puts /dev/null in the place of each standard descriptor that is closed, so that no file or
/// socket that is opened later takes its number. Reading from it and writing to it fail, as they
/// did. Programs that are started later have it closed, as this one did. Call it first in main().
void OccupyStandardDescriptors();

}  // namespace cccl_cache
