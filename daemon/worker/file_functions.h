// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon {

/// From now on the C library's file functions, as the compilers' libraries find them in this
/// executable, answer out of `view`, which must outlive its use; null: they pass through. To be
/// called while no other thread is in them. (Those functions have no argument that could carry the
/// view, so this is the one piece of state that is the process's own.)
void UseFileView(FileView* view);

}  // namespace cccl_cache::daemon
