// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache {

/// Occupies each closed standard descriptor (0 to 2), so that no file or socket that is opened
/// later gets its number. Reads and writes of the descriptor still fail, as if it were closed.
/// Programs that this process starts do not inherit it. To be called first in main().
void OccupyStandardDescriptors();

}  // namespace cccl_cache
