// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/zygote.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "daemon/worker/files/real_files.h"
#include "daemon/worker/spare_worker.h"
#include "daemon/worker/worker.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kSpawnFds = 3;
/// Milliseconds after which a spare worker without a job is ended, because it holds memory.
constexpr int kSparePatience = 30'000;

Error SystemErrorOf(const char* what) {
  return Error{ErrorCode::kUnavailable, std::string(what) + ": " + strerror(errno)};
}

/// Returns the bytes of address space that a compile may reserve without using them: the C library
/// reserves up to 128 MiB per thread for heaps. They must be limited: pages that are only read need
/// page tables, and RLIMIT_DATA does not count a stack that was moved.
uint64_t UnusedAddresses() {
  constexpr uint64_t kOfProcess = 4ull << 30;
  constexpr uint64_t kOfThread = 192ull << 20;
  return kOfProcess + kOfThread * static_cast<uint64_t>(std::max(get_nprocs_conf(), 1));
}

/// If the machine runs out of memory, this makes the kernel kill a compile, and not the daemon or
/// processes of its users. Call this while the process is dumpable: later, its file in /proc
/// belongs to root. Errors are ignored.
void OfferToOutOfMemoryKiller() {
  constexpr int kScore = 500;
  const FileDescriptor file(real_files::Open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC, 0));
  char text[16] = {};
  if (!file.valid() || read(file.get(), text, sizeof(text) - 1) <= 0 || atoi(text) >= kScore) {
    return;
  }
  const std::string score = std::to_string(kScore);
  [[maybe_unused]] const ssize_t written = pwrite(file.get(), score.data(), score.size(), 0);
}

/// Clears the environment variables, the time zone and the working directory. The compilers read
/// them, so they must not reveal anything about the daemon.
void NeutraliseSurroundings() {
  clearenv();
  setenv("TZ", "UTC0", 1);
  tzset();
  umask(077);
  // An error is ignored: nothing depends on the working directory.
  [[maybe_unused]] const long moved = syscall(SYS_chdir, "/");
}

Result<ZygoteHello> ReceiveHello(int control) {
  const Result<Packet> packet = ReceivePacket(control);
  if (!packet) return packet.error();
  Result<ControlMessage> message = DecodeControlMessage(packet->bytes);
  if (!message) return message.error();
  if (auto* hello = std::get_if<ZygoteHello>(&*message)) return std::move(*hello);
  return Error{ErrorCode::kUnavailable, "the daemon's first message is not a hello"};
}

/// Loads the compilers and warms them up. Call it on a separate thread, which has a heap of its
/// own. Workers are forked on another thread and use that thread's heap, so they need not copy the
/// pages that the warm-up used and freed (decision 10).
Result<CompilerLibraries> LoadLibrariesHere(const ZygoteHello& hello) {
  Result<CompilerLibraries> libraries = CompilerLibraries::Load(hello);
  if (libraries && libraries->nvrtc) {
    if (Status warm = libraries->nvrtc->WarmUp(); !warm) return warm.error();
    ReservePchHeap(*libraries->nvrtc);
  }
  constexpr int kThreads = 2;  // this thread and the zygote's main thread
  if (libraries && OwnThreads() != kThreads) {
    return Error{
        ErrorCode::kUnavailable,
        "a compiler library started a thread when it was loaded: such a process can't fork"};
  }
  return libraries;
}

Result<CompilerLibraries> LoadLibraries(const ZygoteHello& hello) {
  std::optional<Result<CompilerLibraries>> libraries;
  std::thread([&] { libraries = LoadLibrariesHere(hello); }).join();
  malloc_trim(0);
  return *std::move(libraries);
}

/// Has NVRTC write the headers that its library contains into a new directory, reads them, and
/// removes the directory.
Result<BundledHeaders> UnpackBundledHeaders(const NvrtcLibrary& nvrtc) {
  if (nvrtc.install_bundled_headers == nullptr) {
    return Error{ErrorCode::kUnavailable, "this NVRTC contains no headers"};
  }
  std::string directory = "/tmp/cccl-cached-headers-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return SystemErrorOf(directory.c_str());
  const char* log = nullptr;
  const int result = nvrtc.install_bundled_headers(directory.c_str(), 0, &log);
  Result<BundledHeaders> headers =
      result == NvrtcLibrary::kSuccess
          ? BundledHeaders::Read(directory)
          : Error{ErrorCode::kUnavailable, std::string("unpacking the headers of NVRTC: ") +
                                               (log != nullptr ? log : "no reason given")};
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return headers;
}

/// Gives up rights so that the workers, which inherit this, do not have them. The zygote itself
/// never reads a client's bytes.
Status RenounceRights() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return SystemErrorOf("PR_SET_NO_NEW_PRIVS");
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return SystemErrorOf("PR_SET_DUMPABLE");
  return Ok{};
}

struct LoadedToolchain {
  CompilerLibraries libraries;
  Sandbox sandbox;
};

Result<LoadedToolchain> Load(const ZygoteHello& hello) {
  if (Status renounced = RenounceRights(); !renounced) return renounced.error();
  Result<CompilerLibraries> libraries = LoadLibraries(hello);
  if (!libraries) return libraries.error();
  Result<Sandbox> sandbox = Sandbox::Prepare(hello.trusted_directories);
  if (!sandbox) return sandbox.error();
  return LoadedToolchain{*std::move(libraries), *std::move(sandbox)};
}

std::chrono::microseconds CpuTime(const rusage& usage) {
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

uint64_t ResidentBytes(const rusage& usage) {
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// Sends the status. Errors are ignored, because the daemon may be gone.
void Report(int status_socket, const StatusMessage& message, std::span<const int> fds = {}) {
  [[maybe_unused]] const Status sent = SendPacket(status_socket, EncodeStatusMessage(message), fds);
}

/// Gives this process the lowest scheduling priority (SCHED_IDLE). Errors are ignored.
void YieldToAll() {
  const sched_param none{};
  [[maybe_unused]] const int ignored = sched_setscheduler(0, SCHED_IDLE, &none);
}

size_t FdsBeforeFiles(const SpawnRequest& request) {
  return request.pch == PchUse::kNone ? kSpawnFds : kSpawnFds + 1;
}

/// Returns whether the number of descriptors is right: all that the request needs, with or without
/// a files socket.
bool CountFits(const SpawnRequest& request, size_t fds) {
  return fds == FdsBeforeFiles(request) || fds == FdsBeforeFiles(request) + 1;
}

void RestoreSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Returns the number after `label` in /proc/self/status. 0: the file has no such label.
uint64_t StatusNumber(std::string_view label) {
  const FileDescriptor file(real_files::Open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0));
  const std::string text = ReadAll(file.get()).value_or("");
  const size_t line = text.find(label);
  if (line == std::string::npos) return 0;
  return strtoull(text.c_str() + line + label.size(), nullptr, 10);
}

}  // namespace

Result<Zygote> Zygote::Start(FileDescriptor control) {
  NeutraliseSurroundings();
  OfferToOutOfMemoryKiller();
  signal(SIGPIPE, SIG_IGN);
  Result<ZygoteHello> hello = ReceiveHello(control.get());
  if (!hello) {
    [[maybe_unused]] const Status sent =
        SendPacket(control.get(), EncodeControlAnswer(LoadFailed{hello.error().message}));
    return hello.error();
  }
  Result<LoadedToolchain> loaded = Load(*hello);
  const ControlAnswer answer =
      loaded ? ControlAnswer(ZygoteReady{loaded->sandbox.kind(), loaded->sandbox.Description()})
             : ControlAnswer(LoadFailed{loaded.error().message});
  if (Status sent = SendPacket(control.get(), EncodeControlAnswer(answer)); !sent) {
    return sent.error();
  }
  if (!loaded) return loaded.error();
  Zygote zygote(std::move(control), std::move(*hello), std::move(loaded->libraries),
                std::move(loaded->sandbox));
  if (Status prepared = zygote.Prepare(); !prepared) return prepared.error();
  return zygote;
}

Status Zygote::Prepare() {
  KeepHeap();
  heap_set_aside_ = SetHeapAside();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, nullptr) != 0) return SystemErrorOf("blocking SIGCHLD");
  child_signals_ = FileDescriptor(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!child_signals_.valid()) return SystemErrorOf("signalfd");
  null_device_ = FileDescriptor(real_files::Open("/dev/null", O_RDWR | O_CLOEXEC, 0));
  if (!null_device_.valid()) return Error{ErrorCode::kUnavailable, "/dev/null can't be opened"};
  own_data_bytes_ = OwnDataBytes();
  own_address_bytes_ = OwnAddressBytes();
  return Ok{};
}

Status Zygote::Run() {
  while (true) {
    pollfd ready[] = {{control_.get(), POLLIN, 0}, {child_signals_.get(), POLLIN, 0}};
    const int events = poll(ready, 2, spare_ ? kSparePatience : -1);
    if (events < 0 && errno != EINTR) return SystemErrorOf("poll");
    if (events == 0) spare_.reset();
    if (events <= 0) continue;
    if (ready[1].revents != 0) ReapWorkers();
    if (ready[0].revents == 0) continue;
    const Result<bool> more = TakeRequest();
    if (!more) return more.error();
    if (!*more) return EndSpare();
  }
}

Result<bool> Zygote::TakeRequest() {
  Result<Packet> packet = ReceivePacket(control_.get());
  if (!packet) return packet.error();
  if (packet->end) return false;
  const Result<ControlMessage> message = DecodeControlMessage(packet->bytes);
  if (!message) return message.error();
  const auto* request = std::get_if<SpawnRequest>(&*message);
  if (request == nullptr || !CountFits(*request, packet->fds.size())) {
    return Error{ErrorCode::kUnavailable, "the daemon's message is not a spawn request"};
  }
  memory_bytes_ = request->memory_bytes;
  if (request->bundled_headers) {
    if (const Status provided = ProvideBundledHeaders(); !provided) {
      Report(packet->fds[2].get(), SpawnFailed{provided.error().message});
      return true;
    }
  }
  Spawn(*std::move(packet), request->pch != PchUse::kNone);
  return true;
}

Status Zygote::ProvideBundledHeaders() {
  if (bundled_headers_) return Ok{};
  if (!libraries_.nvrtc) return Error{ErrorCode::kUnavailable, "the toolchain has no NVRTC"};
  // The spare worker was forked without the headers.
  if (Status ended = EndSpare(); !ended) return ended;
  std::optional<Result<BundledHeaders>> unpacked;
  // On another thread, as in LoadLibraries().
  std::thread([&] { unpacked = UnpackBundledHeaders(*libraries_.nvrtc); }).join();
  if (!*unpacked) return unpacked->error();
  bundled_headers_ = **std::move(unpacked);
  own_data_bytes_ = OwnDataBytes();
  own_address_bytes_ = OwnAddressBytes();
  return Ok{};
}

void Zygote::Spawn(Packet packet, bool has_pch) {
  Worker worker{.has_pch = has_pch};
  const pid_t pid = StartWorker(packet, worker);
  FileDescriptor& status = packet.fds[2];
  if (pid < 0) return Report(status.get(), SpawnFailed{std::string("fork: ") + strerror(errno)});
  // Until the worker is reaped, no other process can get its pid.
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    Report(status.get(), SpawnFailed{std::string("pidfd_open: ") + strerror(errno)});
    kill(pid, SIGKILL);
    return;
  }
  const int attached[] = {pidfd.get()};
  Report(status.get(), Spawned{pid}, attached);
  worker.status = std::move(status);
  workers_.emplace(pid, std::move(worker));
}

pid_t Zygote::StartWorker(Packet& packet, Worker& worker) {
  std::optional<SpareWorker> spare = std::exchange(spare_, std::nullopt);
  if (spare && spare->Give(packet)) {
    worker.refused_memory = std::move(spare->refused_memory());
    return spare->pid();
  }
  worker.refused_memory = RefusedMemory::OfNextFork();
  const pid_t pid = fork();
  if (pid == 0) Work(std::move(packet));
  worker.refused_memory.HideFromOthers();
  return pid;
}

Status Zygote::EndSpare() {
  if (!spare_) return Ok{};
  const pid_t pid = spare_->pid();
  spare_.reset();
  // The process that forked the spare worker must reap it.
  if (waitpid(pid, nullptr, 0) < 0) return SystemErrorOf("waiting for the spare worker");
  return Ok{};
}

void Zygote::Begin() {
  control_.Close();
  child_signals_.Close();
  workers_.clear();
}

void Zygote::Work(Packet packet) {
  const Result<ControlMessage> message = DecodeControlMessage(packet.bytes);
  const auto* request = message ? std::get_if<SpawnRequest>(&*message) : nullptr;
  if (request == nullptr || !CountFits(*request, packet.fds.size())) _exit(kExitNotStarted);
  const size_t files = FdsBeforeFiles(*request);
  const std::vector<FileDescriptor>& fds = packet.fds;
  RestoreSignals();
  if (request->background) YieldToAll();
  RunWorker(
      {.libraries = libraries_,
       .trusted_directories = hello_.trusted_directories,
       .sandbox = sandbox_,
       .limits = {.zygote = own_pid_,
                  .data_bytes = own_data_bytes_ + request->memory_bytes,
                  .address_bytes = own_address_bytes_ + request->memory_bytes + UnusedAddresses(),
                  .has_pch = request->pch != PchUse::kNone},
       .may_lack_sandbox = request->may_lack_sandbox,
       .pch_use = request->pch,
       .job = fds[0].get(),
       .reply = fds[1].get(),
       .files = fds.size() > files ? fds[files].get() : -1,
       .pch = request->pch != PchUse::kNone ? fds[kSpawnFds].get() : -1,
       .null_device = null_device_.get(),
       .bundled_headers = request->bundled_headers ? &*bundled_headers_ : nullptr});
}

void Zygote::ReapWorkers() {
  signalfd_siginfo ignored;
  while (read(child_signals_.get(), &ignored, sizeof(ignored)) > 0) {
  }
  int wait_status = 0;
  rusage usage{};
  for (pid_t pid; (pid = wait4(-1, &wait_status, WNOHANG, &usage)) > 0;) {
    if (spare_ && spare_->pid() == pid) spare_.reset();
    const auto worker = workers_.find(pid);
    if (worker == workers_.end()) continue;
    const auto& [has_pch, refused_memory, status] = worker->second;
    Report(status.get(), Exited{.wait_status = wait_status,
                                .peak_resident_bytes = ResidentBytes(usage),
                                .cpu_time = CpuTime(usage),
                                .refused_memory = refused_memory.noted()});
    touched_bytes_.Learn(ResidentBytes(usage), InheritedBytes(), has_pch);
    workers_.erase(worker);
    // Forks the next worker when a job has ended. A fork during the job would take processor time
    // from the job and from the daemon, which answers the job's questions.
    if (hello_.forks_ahead && !spare_) {
      spare_ = SpareWorker::Fork(touched_bytes_.For(memory_bytes_), *this);
    }
  }
}

int OwnThreads() { return static_cast<int>(StatusNumber("\nThreads:")); }

uint64_t OwnDataBytes() { return StatusNumber("\nVmData:") * 1024; }

uint64_t OwnAddressBytes() { return StatusNumber("\nVmSize:") * 1024; }

}  // namespace cccl_cache::daemon
