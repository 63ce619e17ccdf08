// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/worker/compilers/nvrtc_library.h"

namespace cccl_cache::daemon {

/// Makes the library reserve the memory into which it parses precompiled headers, so that all
/// processes forked from this one have it at the same address: what one of them has parsed, the
/// others can use. Nothing is touched but address space. Where the library can't, each job that is
/// to write a precompiled header fails, and nobody depends on it.
void ReservePchHeap(const NvrtcLibrary& nvrtc);

}  // namespace cccl_cache::daemon
