// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/real_tool.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/end_with_parent.h"
#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/files/whole_file.h"
#include "client/src/calls/file_digest.h"
#include "client/standin/process.h"

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kElf("\177ELF", 4);
constexpr std::string_view kBitcode = ".bc";  ///< end of a library's name that is no ELF file
/// Behind the name of a stand-in, the name of a link to the real tool.
constexpr char kRealLink[] = ".real";

/// Returns whether `path` is an executable file other than this program, which may have several
/// links.
bool IsOther(const std::string& path) {
  struct stat own;
  struct stat status;
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (stat("/proc/self/exe", &own) != 0 && (started == nullptr || stat(started, &own) != 0)) {
    return false;
  }
  return IsExecutable(path) && stat(path.c_str(), &status) == 0 &&
         (status.st_dev != own.st_dev || status.st_ino != own.st_ino);
}

std::string Resolved(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved == nullptr ? path : resolved;
  free(resolved);
  return result;
}

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsElf(int file) {
  char front[kElf.size()];
  return pread(file, front, sizeof(front), 0) == ssize_t(sizeof(front)) &&
         std::string_view(front, sizeof(front)) == kElf;
}

struct Pipe {
  static std::optional<Pipe> Make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }

  FileDescriptor from;
  FileDescriptor to;
};

/// Takes the signals that end a process early from this process, and SIGCHLD, for as long as the
/// object exists. For one thread.
class TakenSignals {
 public:
  TakenSignals() {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&taken, number);
    sigprocmask(SIG_BLOCK, &taken, &before_);
    file_ = FileDescriptor(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~TakenSignals() {
    Take([](const signalfd_siginfo&) {});
    GiveBack();
  }
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;

  void GiveBack() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  /// Forwards the signals that a process sent. The terminal's signals reach the tool by themselves.
  void Forward(pid_t tool) {
    Take([this, tool](const signalfd_siginfo& taken) {
      if (taken.ssi_signo == SIGCHLD) return;
      came_ = true;
      if (taken.ssi_code <= 0) kill(tool, static_cast<int>(taken.ssi_signo));
    });
  }
  /// Returns whether a signal other than SIGCHLD was taken.
  [[nodiscard]] bool came() const { return came_; }
  /// Readable once a signal has come. Invalid if the system does not allow that.
  [[nodiscard]] const FileDescriptor& file() const { return file_; }

 private:
  template <typename Function>
  void Take(Function take) const {
    signalfd_siginfo taken;
    while (read(file_.get(), &taken, sizeof(taken)) == sizeof(taken)) take(taken);
  }

  sigset_t before_;
  FileDescriptor file_;
  bool came_ = false;
};

/// Copies the tool's output into `ending`, and if `forwards` is set also to this process's output,
/// until the tool has ended. Other processes may hold the pipes for longer.
void Relay(bool forwards, pid_t tool, TakenSignals* signals, Pipe* out, Pipe* err, Ending* ending) {
  std::vector<char> buffer(1 << 16);
  rusage usage = {};
  const auto take = [&buffer, forwards](Pipe* pipe, int to, size_t most, std::string* all) {
    const ssize_t got = read(pipe->from.get(), buffer.data(), std::min(most, buffer.size()));
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return pipe->from.Close();
    all->append(buffer.data(), static_cast<size_t>(got));
    if (!forwards) return;
    // A write error is ignored: SIGPIPE ends this process, and the tool's status remains valid.
    [[maybe_unused]] const bool written = WriteAll(to, {buffer.data(), static_cast<size_t>(got)});
  };
  do {
    pollfd ready[3] = {{out->from.get(), POLLIN, 0},
                       {err->from.get(), POLLIN, 0},
                       {signals->file().get(), POLLIN, 0}};
    if (poll(ready, 3, -1) < 0) continue;
    if (ready[0].revents != 0) take(out, STDOUT_FILENO, buffer.size(), &ending->out);
    if (ready[1].revents != 0) take(err, STDERR_FILENO, buffer.size(), &ending->err);
    signals->Forward(tool);
  } while (wait4(tool, &ending->status, WNOHANG, &usage) != tool);
  ending->peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  const auto drain = [&take](Pipe* pipe, int to, std::string* all) {
    int left = 0;
    if (!pipe->from.valid() || ioctl(pipe->from.get(), FIONREAD, &left) != 0 || left < 0) return;
    for (const size_t end = all->size() + static_cast<size_t>(left); all->size() < end;) {
      take(pipe, to, end - all->size(), all);
      if (!pipe->from.valid()) return;
    }
  };
  drain(out, STDOUT_FILENO, &ending->out);
  drain(err, STDERR_FILENO, &ending->err);
}

}  // namespace

RealTool::RealTool(std::string name, std::string path)
    : name_(std::move(name)), path_(std::move(path)), file_(Resolved(path_)), files_{path_} {}

bool IsExecutable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> Candidates(const std::string& search, const std::string& name) {
  std::vector<std::string> candidates;
  std::string_view rest = search;
  while (true) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    candidates.push_back(std::string(directory.empty() ? "." : directory) + "/" + name);
    if (directory.size() == rest.size()) return candidates;
    rest.remove_prefix(directory.size() + 1);
  }
}

std::optional<std::string> FindProgram(const std::string& search, const std::string& name) {
  for (const std::string& candidate : Candidates(search, name)) {
    if (IsOther(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<RealTool> RealTool::Find(const std::string& started, const std::string& search) {
  const std::string name = started.substr(started.rfind('/') + 1);
  if (IsOther(started)) return RealTool(name, started);
  if (const std::string link = started + kRealLink; IsOther(link)) {
    return RealTool(name, link);
  }
  // The search begins behind the stand-in's own directory. If it began at the first directory, two
  // stand-ins in one PATH would start each other without end.
  const std::vector<std::string> candidates = Candidates(search, name);
  size_t next = candidates.size();
  while (next > 0 && candidates[next - 1] != started) --next;
  for (; next < candidates.size(); ++next) {
    if (IsOther(candidates[next])) return RealTool(name, candidates[next]);
  }
  return std::nullopt;
}

std::optional<RealTool> RealTool::With(const Tool& tool) const {
  RealTool whole = *this;
  const std::string above = DirectoryOf(DirectoryOf(file_)) + "/";
  for (const std::string_view variable : tool.directory_variables) {
    const char* const other = getenv(std::string(variable).c_str());
    if (other != nullptr && Resolved(other) + "/" != above + std::string(tool.directory)) {
      return std::nullopt;
    }
  }
  if (!tool.program.empty()) {
    whole.files_.push_back(above + std::string(tool.program));
    if (!IsOther(whole.files_.back())) return std::nullopt;  // the tool would search PATH for it
  }
  bool loads = tool.libraries.empty();
  for (const std::string_view library : tool.libraries) {
    whole.files_.push_back(above + std::string(library));
    loads = loads || access(whole.files_.back().c_str(), R_OK) == 0;
  }
  if (!loads) return std::nullopt;
  return whole;
}

RealTool RealTool::With(const std::vector<std::string>& programs) const {
  RealTool whole = *this;
  whole.files_.insert(whole.files_.end(), programs.begin(), programs.end());
  return whole;
}

RealTool RealTool::AsCalled(const std::string& started) const {
  RealTool tool = *this;
  tool.as_called_ = path_ == started;
  // The stand-in's own link to the tool is in another directory.
  char target[PATH_MAX] = {};
  const bool linked = path_ == started + kRealLink &&
                      readlink(path_.c_str(), target, sizeof(target) - 1) > 0 && target[0] == '/';
  tool.file_ = linked ? target : path_;
  return tool;
}

std::optional<RealTool::Stamp> RealTool::Look() const {
  Stamp all{.digest = {}, .proves = true};
  StampReader reader;
  Hasher hasher;
  for (const std::string& path : files_) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) continue;  // the tool does not use a missing file either
    const auto read = file.valid() ? reader.Of(file.get()) : std::nullopt;
    if (!read || (!path.ends_with(kBitcode) && !IsElf(file.get()))) return std::nullopt;
    hasher.AppendValue("path", Resolved(path));
    hasher.AppendValue("stamp", reader.TextOf(read->stamp));
    all.proves = all.proves && read->proves;
  }
  all.digest = hasher.Finish();
  return all;
}

bool RealTool::IsStill(const Stamp& stamp) const {
  const auto now = Look();
  return now && now->digest == stamp.digest;
}

std::optional<std::string> RealTool::Identify(const Stamp& stamp) const {
  std::string identity;
  for (const std::string& path : files_) {
    const bool missing = access(path.c_str(), F_OK) != 0 && errno == ENOENT;
    const auto digest = missing ? Sha256("") : DigestOfFile(path);
    if (!digest) return std::nullopt;
    identity.append(digest->View());
  }
  if (!IsStill(stamp)) return std::nullopt;
  return identity;
}

std::string RealTool::FirstWord(const char* given) const {
  const std::string_view word = given == nullptr ? "" : given;
  if (as_called_) return std::string(word);
  return file_.substr(0, file_.rfind('/') + 1).append(word.substr(word.rfind('/') + 1));
}

void RealTool::Replace(char** arguments) const {
  std::string first = FirstWord(arguments[0]);
  arguments[0] = first.data();
  execv(path_.c_str(), arguments);
}

bool OutputsAreOne() {
  struct stat out;
  struct stat err;
  return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino && !S_ISREG(out.st_mode);
}

std::optional<Ending> RealTool::Run(char** arguments, bool joined) const {
  return Start(true, arguments, joined);
}

std::optional<Ending> RealTool::Read(Words words) const {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return Start(false, arguments.data());
}

std::optional<Ending> RealTool::Start(bool forwards, char** arguments, bool joined) const {
  std::optional<Pipe> out = Pipe::Make();
  std::optional<Pipe> err = Pipe::Make();
  if (!out || !err) return std::nullopt;
  std::string first = FirstWord(arguments[0]);
  arguments[0] = first.data();
  signal(SIGCHLD, SIG_DFL);  // if this signal were ignored, waitpid() would return no status
  TakenSignals signals;
  if (!signals.file().valid()) return std::nullopt;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    // nvcc removes its temporary files at this signal.
    if (!EndWithParent(parent, SIGTERM)) _exit(127);
    signals.GiveBack();
    dup2(out->to.get(), STDOUT_FILENO);
    dup2((joined ? out : err)->to.get(), STDERR_FILENO);
    execv(path_.c_str(), arguments);
    _exit(127);
  }
  out->to.Close();
  err->to.Close();
  Ending ending{.status = 0, .out = {}, .err = {}, .joined = joined, .peak_bytes = 0};
  Relay(forwards, child, &signals, &*out, &*err, &ending);
  // The daemon gives this process's lease to a process that waits for it.
  if (signals.came() && ending.status != 0) EndAs(ending.status);
  return ending;
}

}  // namespace cccl_cache::standin
