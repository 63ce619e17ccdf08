// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache::daemon {

/// Has gRPC wait for each server's connections by itself, on the server's own thread. By default
/// one thread waits for all of a process and wakes another before it goes to work, which costs a
/// hit a third of its time (docs/decisions/0020). To be called before gRPC is used and before the
/// process has a second thread. Who has set GRPC_POLL_STRATEGY keeps it.
void WaitForEachServerAlone();

}  // namespace cccl_cache::daemon
