// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon {

/// Makes the file functions that the compilers call in this executable answer from `view`, which
/// must outlive its use. Null: they call the kernel. To be called while no other thread is in these
/// functions. They have no argument for the view, so it is the process's one global state.
void UseFileView(FileView* view);

}  // namespace cccl_cache::daemon
