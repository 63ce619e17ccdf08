// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/call_server.h"

#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kReadPatience{20};

class UnknownCall final : public RawCall {
 public:
  explicit UnknownCall(CallStream& stream) : RawCall(stream) {
    // The text has no method name. A client that reads no answers could otherwise make the daemon
    // hold many long names in memory.
    Finish({grpc::StatusCode::UNIMPLEMENTED, "this daemon has no such method"});
  }
  void OnDone() override { delete this; }
};

}  // namespace

std::unique_ptr<CallServer> CallServer::Start(grpc::ServerBuilder& builder,
                                              const MethodTable& methods, Look look) {
  std::unique_ptr<CallServer> made(new CallServer(methods, std::move(look)));
  builder.RegisterAsyncGenericService(&made->service_);
  made->queue_ = builder.AddCompletionQueue();
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr) return nullptr;
  made->AwaitCall();
  try {
    made->thread_ = std::thread([server = made.get()] { server->Run(); });
  } catch (const std::system_error&) {
    // gRPC's queue must be drained before it is destroyed. There is no thread for that, so this one
    // does it.
    made->server_->Shutdown();
    made->queue_->Shutdown();
    made->Run();
    return nullptr;
  }
  return made;
}

CallServer::~CallServer() {
  if (!thread_.joinable()) return;
  thread_number_.wait(0);
  // A client can make the thread block in a receive from its socket for any time.
  const InterruptedWaits interrupted(thread_number_, kReadPatience);
  Shutdown(std::chrono::system_clock::now());
  WaitForLastCall();
  queue_->Shutdown();
  thread_.join();
}

void CallServer::Serve(FileDescriptor socket) {
  grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
}

void CallServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  server_->Shutdown(deadline);
}

void CallServer::AwaitCall() {
  auto stream = std::make_unique<CallStream>([this](CallStream& over) { Forget(over); });
  awaited_ = stream.get();
  {
    const MutexLock lock(mutex_);
    streams_.emplace(awaited_, std::move(stream));
  }
  awaited_->Await(service_, *queue_, arrival_);
}

void CallServer::Arrived(bool ok) {
  CallStream& stream = *awaited_;
  if (!ok) return Forget(stream);
  AwaitCall();
  look_(stream);
  const auto method = methods_.find(stream.method());
  if (method != methods_.end()) {
    method->second(stream);
  } else {
    new UnknownCall(stream);
  }
}

void CallServer::Forget(CallStream& stream) {
  decltype(streams_)::node_type forgotten;  // declared before the lock, so destroyed after the
                                            // unlock
  const MutexLock lock(mutex_);
  forgotten = streams_.extract(&stream);
  if (streams_.empty()) none_left_.NotifyAll();
}

void CallServer::Run() {
  NameThread("serving");
  thread_number_ = gettid();
  thread_number_.notify_all();
  void* done = nullptr;
  for (bool ok = false; queue_->Next(&done, &ok);) static_cast<Completion*>(done)->Complete(ok);
}

/// Waits until no call is left. The queue must not be shut down earlier: an answer to a call may
/// still come, and gRPC forbids new operations on a queue that is shut down.
void CallServer::WaitForLastCall() {
  const MutexLock lock(mutex_);
  none_left_.Wait(mutex_, [this]() REQUIRES(mutex_) { return streams_.empty(); });
}

}  // namespace cccl_cache::daemon
