// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/listening_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/files/mount_table.h"
#include "daemon/system/own_directory.h"

// SO_PASSRIGHTS exists since Linux 6.16. The headers of Debian 12 do not define it.
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

namespace cccl_cache::daemon {
namespace {

constexpr int kBacklog = 4096;
constexpr int kFirstSystemdFd = 3;
constexpr int kMaxSystemdFds = 64;
constexpr std::string_view kContainerName = "container";

Error SystemError(std::string_view what, const std::string& path) {
  return Error{ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, path, strerror(errno))};
}

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("the socket's path must be absolute, this is not: '{}'", path)};
  }
  if (path.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("the socket's path has {} characters, the system takes at most {}: {}",
                             path.size(), sizeof(address.sun_path) - 1, path)};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

/// Removes a socket file on which no process listens. Returns an error if a process listens there,
/// or if the file is not a socket.
Status ClearTheWay(const std::string& path, const sockaddr_un& address) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return Ok{};
    return SystemError("cannot look at", path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("{} exists and is not a socket: move it, or configure another path", path)};
  }
  FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return SystemError("cannot make a socket for", path);
  const int connected =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (connected == 0 || errno == EAGAIN) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("another daemon answers on {}: stop it, or configure another socket", path)};
  }
  if (errno != ECONNREFUSED) return SystemError("cannot tell who serves", path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return SystemError("cannot remove the stale socket", path);
  }
  return Ok{};
}

std::string TemporaryName(const std::string& path) { return fmt::format("{}.{}", path, getpid()); }

/// Binds the socket to a temporary name, and renames the file when it is complete. A client thus
/// sees either no socket, or a listening socket with its final mode and group. The caller must hold
/// a lock on the directory, so that only one daemon at a time does this.
Status BindAs(int fd, const ListenOptions& options) {
  const std::string temporary = TemporaryName(options.path);
  auto address = AddressOf(temporary);
  if (!address) return address.error();
  unlink(temporary.c_str());
  // bind() gives the file the mode of the descriptor, so other users have no access before chmod().
  if (fchmod(fd, 0600) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return SystemError("cannot bind", options.path);
  }
  const bool given =
      !options.group || chown(temporary.c_str(), static_cast<uid_t>(-1), *options.group) == 0;
  const bool ready = given && chmod(temporary.c_str(), options.mode) == 0 &&
                     listen(fd, kBacklog) == 0 &&
                     rename(temporary.c_str(), options.path.c_str()) == 0;
  if (ready) return Ok{};
  Error error = SystemError("cannot set up", options.path);
  if (!given) {
    error = SystemError(fmt::format("cannot give to group {} the socket", *options.group),
                        options.path);
    error.message += "; only root, or a member of that group, can: see --socket-group";
  }
  unlink(temporary.c_str());
  return error;
}

bool IsListeningUnixStream(int fd) {
  auto option = [fd](int name) {
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  return option(SO_DOMAIN) == AF_UNIX && option(SO_TYPE) == SOCK_STREAM &&
         option(SO_ACCEPTCONN) == 1;
}

std::optional<long> TakeNumber(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  long value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  unsetenv(name);
  if (!whole) return std::nullopt;
  return value;
}

/// Returns the names in this environment variable, and removes the variable. Colons separate the
/// names, and no name contains one.
std::vector<std::string> TakeNames(const char* name) {
  std::vector<std::string> names;
  const char* text = getenv(name);
  std::istringstream input(text == nullptr ? "" : text);
  unsetenv(name);
  for (std::string each; std::getline(input, each, ':');) names.push_back(each);
  return names;
}

/// Checks the names that systemd gave to `count` sockets. If there are several, each that is not
/// for containers must have the name of its unit. A misspelled "container" would otherwise give
/// containers a socket whose peers may be administrators.
Status CheckNames(const std::vector<std::string>& names, size_t count) {
  if (count < 2) return Ok{};
  std::string node;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = i < names.size() ? names[i] : "";
    if (name == kContainerName) continue;
    if (node.empty()) node = name;
    if (name.ends_with(".socket") && name == node) continue;
    return Error{
        ErrorCode::kInvalidRequest,
        fmt::format("systemd handed over {} sockets, one under the name \"{}\": set "
                    "FileDescriptorName={} in the unit of each that is for containers, and leave "
                    "the line out in the unit of the node's own socket",
                    count, name, kContainerName)};
  }
  return Ok{};
}

/// Device and inode of a file. They are equal for a directory and its bind mounts.
using FileId = std::pair<dev_t, ino_t>;

std::optional<FileId> FileAt(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId(info.st_dev, info.st_ino);
}

std::string PathOf(int fd) {
  sockaddr_un address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (size <= offsetof(sockaddr_un, sun_path) || address.sun_path[0] == '\0') return {};
  return std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
}

namespace fs = std::filesystem;

/// Returns the path with symlinks resolved, and all directories above it up to the root. The result
/// is empty for an empty path.
std::vector<fs::path> WayTo(const std::string& file) {
  std::vector<fs::path> way;
  if (file.empty()) return way;
  std::error_code ignored;
  for (fs::path path = fs::weakly_canonical(file, ignored); !path.empty();
       path = path.parent_path()) {
    way.push_back(path);
    if (path == path.root_path()) break;
  }
  return way;
}

/// Returns the path of the directory with symlinks resolved, and the paths of the entries below it,
/// at most kMost in all.
std::vector<fs::path> SeenIn(const fs::path& directory) {
  constexpr size_t kMost = 4096;
  std::error_code error;
  std::vector<fs::path> seen = {fs::weakly_canonical(directory, error)};
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator each(seen.front(), kSkip, error), end;
       !error && each != end && seen.size() < kMost; each.increment(error)) {
    seen.push_back(each->path());
  }
  return seen;
}

/// The place of a directory or file in its file system. It is the same for all paths that lead
/// there, for example through bind mounts.
struct Location {
  fs::path seen_at;
  std::string device;
  fs::path path;  ///< path from the root of the file system
};

bool IsWithin(const fs::path& path, const fs::path& directory) {
  return std::ranges::mismatch(directory, path).in1 == directory.end();
}

/// Returns whether the locations are equal or one of them contains the other.
bool Overlap(const Location& one, const Location& other) {
  return one.device == other.device &&
         (IsWithin(one.path, other.path) || IsWithin(other.path, one.path));
}

/// Returns the id of the mount that contains the first path of `way` that exists. The result is
/// empty before Linux 5.8.
std::string MountOf(const std::vector<fs::path>& way) {
  for (const fs::path& each : way) {
    struct statx status {};
    if (statx(AT_FDCWD, each.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status) != 0) continue;
    if ((status.stx_mask & STATX_MNT_ID) != 0) return std::to_string(status.stx_mnt_id);
    break;
  }
  return {};
}

/// Returns the location of the file, and those of all mounts at it or below it.
std::vector<Location> LocationsOf(const std::string& file, const std::vector<MountEntry>& mounts) {
  const std::vector<fs::path> way = WayTo(file);
  if (way.empty()) return {};
  const std::string mount = MountOf(way);
  std::vector<Location> locations;
  for (const MountEntry& each : mounts) {
    if (IsWithin(each.point, way.front())) {
      locations.push_back({each.point, each.device, each.root});
    } else if (each.id == mount) {
      locations.push_back(
          {way.front(), each.device, each.root / way.front().lexically_relative(each.point)});
    }
  }
  return locations;
}

}  // namespace

ListeningSocket::ListeningSocket(FileDescriptor fd, std::string path, bool for_containers)
    : fd_(std::move(fd)), path_(std::move(path)), for_containers_(for_containers) {
  // Refuses descriptors from clients. No client needs to send one, and the close of a descriptor
  // may block (guarded_sockets.h). Connections inherit the option from their listener. Kernels
  // before 6.16 lack the option.
  const int no = 0;
  setsockopt(fd_.get(), SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
  file_ = FileAt(path_);
}

Result<ListeningSocket> ListeningSocket::Bind(const ListenOptions& given) {
  if (auto spelled = AddressOf(given.path); !spelled) return spelled.error();
  const std::filesystem::path spelled(given.path);
  const mode_t mode = (given.mode & 0077) != 0 ? 0755 : 0700;
  const Result<std::string> directory =
      MakeOwnDirectory(spelled.parent_path(), mode, "put a socket of their own there");
  if (!directory) return directory.error();
  ListenOptions options = given;
  const std::string followed = std::filesystem::path(*directory) / spelled.filename();
  // Uses the path with symlinks resolved, unless it is too long for a socket address. The original
  // path is safe as well: MakeOwnDirectory has checked that other users can't change its symlinks.
  if (AddressOf(TemporaryName(followed))) options.path = followed;
  auto address = AddressOf(options.path);
  if (!address) return address.error();
  // The lock is held from the check for a stale file to the rename. If two daemons start at once,
  // the second one thus finds the first one's socket.
  FileDescriptor lock(open(directory->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return SystemError("cannot lock the directory", *directory);
  }
  if (auto clear = ClearTheWay(options.path, *address); !clear) return clear.error();
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemError("cannot make a socket for", options.path);
  if (auto bound = BindAs(fd.get(), options); !bound) return bound.error();
  ListeningSocket result(std::move(fd), options.path, options.for_containers);
  if (!result.file_) return SystemError("cannot look at", options.path);
  result.made_ = true;
  return result;
}

Result<std::vector<ListeningSocket>> ListeningSocket::FromSystemd() {
  const auto pid = TakeNumber("LISTEN_PID");
  const auto count = TakeNumber("LISTEN_FDS");
  const std::vector<std::string> names = TakeNames("LISTEN_FDNAMES");
  std::vector<ListeningSocket> result;
  if (!pid || *pid != getpid() || !count) return result;
  if (*count < 0 || *count > kMaxSystemdFds) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("LISTEN_FDS is {}: between 0 and {} sockets can be handed over",
                             *count, kMaxSystemdFds)};
  }
  if (Status clear = CheckNames(names, static_cast<size_t>(*count)); !clear) return clear.error();
  for (int fd = kFirstSystemdFd; fd < kFirstSystemdFd + *count; ++fd) {
    if (!IsListeningUnixStream(fd)) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("descriptor {} that was handed over is not a listening Unix stream "
                               "socket: use ListenStream= with a path in the .socket unit",
                               fd)};
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
      return SystemError("cannot set up the socket that was handed over as", std::to_string(fd));
    }
    // listen() makes the kernel name this process, and no longer systemd, as the clients' peer.
    // They need its pid to read its secret (DaemonsRights).
    if (listen(fd, kBacklog) != 0) {
      return SystemError("cannot listen on the socket that was handed over as", std::to_string(fd));
    }
    const auto index = static_cast<size_t>(fd - kFirstSystemdFd);
    const bool for_containers = index < names.size() && names[index] == kContainerName;
    result.push_back(ListeningSocket(FileDescriptor(fd), PathOf(fd), for_containers));
  }
  return result;
}

Status ListeningSocket::CheckApart(const std::vector<ListeningSocket>& sockets,
                                   std::vector<std::string> private_places) {
  for (const ListeningSocket& socket : sockets) {
    if (!socket.for_containers()) private_places.push_back(socket.path());
  }
  if (std::ranges::none_of(sockets, &ListeningSocket::for_containers)) return Ok{};
  const FileDescriptor table(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  const auto mounts = ReadMountTable(table.get());
  if (!mounts)
    return SystemError("with a socket for containers, /proc must be mounted: cannot read",
                       "/proc/self/mountinfo");
  std::map<FileId, std::string> found_in;  // private places and the directories above them
  std::vector<std::pair<Location, std::string>> private_locations;
  for (const std::string& place : private_places) {
    for (const auto& directory : WayTo(place)) {
      if (const auto id = FileAt(directory.string())) found_in.emplace(*id, place);
    }
    for (Location& each : LocationsOf(place, *mounts)) {
      private_locations.emplace_back(std::move(each), place);
    }
  }
  for (const ListeningSocket& socket : sockets) {
    if (!socket.for_containers() || socket.path().empty()) continue;
    const auto found = [&socket](const std::string& place, const fs::path& seen) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("{} is for containers, which would find {} or a part of it in its "
                               "directory, at or below {}: put it into a directory that holds "
                               "nothing else",
                               socket.path(), place, seen.string())};
    };
    const fs::path directory = fs::path(socket.path()).parent_path();
    for (const fs::path& seen : SeenIn(directory)) {
      const auto id = FileAt(seen.string());
      const auto place = id ? found_in.find(*id) : found_in.end();
      if (place != found_in.end()) return found(place->second, seen);
    }
    for (const Location& seen : LocationsOf(directory.string(), *mounts)) {
      for (const auto& [location, place] : private_locations) {
        if (Overlap(seen, location)) return found(place, seen.seen_at);
      }
    }
  }
  return Ok{};
}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(for_containers_, other.for_containers_);
  std::swap(made_, other.made_);
  std::swap(file_, other.file_);
  return *this;
}

ListeningSocket::~ListeningSocket() {
  if (made_ && IsInPlace()) unlink(path_.c_str());
}

bool ListeningSocket::IsInPlace() const { return !file_ || FileAt(path_) == file_; }

std::string ListeningSocket::Problem() const {
  if (IsInPlace()) return {};
  const std::string_view again =
      made_ ? "restart the daemon" : "restart the unit of the socket and the daemon";
  if (!for_containers_) {
    return fmt::format("its socket is not at {} any more, so clients find another or none: {}",
                       path_, again);
  }
  return fmt::format(
      "its socket for containers is not at {} any more, and it serves none there now, because one "
      "of them may have put its own in that place: remove what is there, have containers mount the "
      "directory read-only (:ro), and {}",
      path_, again);
}

}  // namespace cccl_cache::daemon
