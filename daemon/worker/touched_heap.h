// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cccl_cache::daemon {

/// Has the allocator take what it hands out from its heap, and keep it: once, before the first
/// fork, so that all workers have the same allocator.
void KeepHeap();

/// Touches memory that the allocator will hand out later, until there are `bytes` of it or
/// something can be read from the socket, whichever is first. The kernel gives a process its memory
/// when it is first touched, which takes a compile of 200 MB some 20 ms, and 200 ms where a
/// hypervisor hands it out late. For a process with one thread.
void TouchHeap(size_t bytes, int until_readable);

}  // namespace cccl_cache::daemon
