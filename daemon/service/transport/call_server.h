// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// A gRPC server with one thread. The thread waits for the server's connections and runs all
/// callbacks of their calls. A hit from memory thus stays on one thread
/// (docs/internals/decisions/0020). Thread-safe.
class CallServer {
 public:
  /// Called for each call, whatever its method, before the call is served. Runs on the server's
  /// thread.
  using Look = std::function<void(const CallStream&)>;

  /// Starts a server for these methods. Calls of other methods get an error. `methods` must outlive
  /// the server. Returns null if gRPC or the thread could not be started.
  [[nodiscard]] static std::unique_ptr<CallServer> Start(grpc::ServerBuilder& builder,
                                                         const MethodTable& methods, Look look);
  /// Ends all calls and waits for the last one.
  ~CallServer();
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  void Serve(FileDescriptor socket);
  /// Ends every connection. A connection without calls ends at once. Any other connection ends
  /// after its last call, or at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  class Arrival final : public Completion {
   public:
    explicit Arrival(CallServer& server) : server_(server) {}
    void Complete(bool ok) override { server_.Arrived(ok); }

   private:
    CallServer& server_;
  };

  CallServer(const MethodTable& methods, Look look) : methods_(methods), look_(std::move(look)) {}
  void AwaitCall();
  void Arrived(bool ok);
  void Forget(CallStream& stream);
  void Run();
  void WaitForLastCall();

  const MethodTable& methods_;
  const Look look_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  Arrival arrival_{*this};
  CallStream* awaited_ = nullptr;  ///< the stream of the next call; used only by the thread
  Mutex mutex_;
  CondVar none_left_;
  /// The streams of all calls, and the one that waits for the next call.
  std::unordered_map<CallStream*, std::unique_ptr<CallStream>> streams_ GUARDED_BY(mutex_);
  std::atomic<pid_t> thread_number_ = 0;  ///< the kernel's thread id; 0 until the thread runs
  std::thread thread_;
};

}  // namespace cccl_cache::daemon
