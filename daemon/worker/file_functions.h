// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon {

/// From now on the file functions that the compilers call in this executable return the files of
/// `view`. Null: they return the files of the kernel. `view` must outlive its use. The view is
/// global state of the process, because these functions have no argument for it. Call this only
/// while no other thread calls a file function.
void UseFileView(FileView* view);

}  // namespace cccl_cache::daemon
