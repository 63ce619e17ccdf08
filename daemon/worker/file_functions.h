// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon {

/// Makes the C library's file functions, as the compilers' libraries find them in this executable,
/// answer from `view`, which must outlive its use. Null: they pass through to the kernel. To be
/// called while no other thread is in these functions. They have no argument that could carry the
/// view, so it is the process's one global state.
void UseFileView(FileView* view);

}  // namespace cccl_cache::daemon
