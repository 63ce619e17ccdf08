// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache {

/// Opens /dev/null for each closed standard descriptor, so that no later file or socket gets its
/// number. Reads and writes still fail. Programs that this process starts have the descriptor
/// closed, as this one had. Call it first in main().
void OccupyStandardDescriptors();

}  // namespace cccl_cache
