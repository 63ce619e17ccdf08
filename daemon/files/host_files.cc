// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/host_files.h"

#include <optional>
#include <utility>

#include "base/files/file_stamp.h"
#include "daemon/files/access_rules.h"

namespace cccl_cache::daemon {
namespace {

/// Limit of the attempts to read a file that is being written.
constexpr int kMaxAttempts = 5;

SeenFile Seen(FileKind kind, const struct statx& status) {
  return {.kind = kind, .digest = {}, .inode = {DeviceOf(status), status.stx_ino}};
}

bool IsAbsence(const Reached<Place>& found) {
  const auto* obstacle = std::get_if<PathError>(&found);
  return obstacle != nullptr && obstacle->kind == PathError::Kind::kAbsent;
}

}  // namespace

Result<SeenFile> HostFiles::Look(const FileName& name) {
  const std::string path = directories_.PathOf(name);
  if (path.empty()) return SeenFile{};
  const Reached<Place> found = walk_.Find(path, NameWalk::Absence::kRemembered);
  if (const auto* place = std::get_if<Place>(&found)) {
    if (const auto digest = reader_.Known(*place)) {
      SeenFile seen = Seen(FileKind::kFile, place->status);
      seen.digest = *digest;
      return seen;
    }
  }
  if (IsAbsence(found)) return SeenFile{};
  Result<Contents> contents = ReadPath(path);
  if (!contents) return contents.error();
  return contents->seen;
}

Result<RequesterFiles::Contents> HostFiles::Read(const FileName& name) {
  const std::string path = directories_.PathOf(name);
  return path.empty() ? Contents{} : ReadPath(path);
}

Result<RequesterFiles::Contents> HostFiles::ReadPath(const std::string& path) {
  PathError obstacle;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Reached<Contents> contents = ReadOnce(path);
    if (auto* read = std::get_if<Contents>(&contents)) return std::move(*read);
    obstacle = std::get<PathError>(contents);
    if (obstacle.kind == PathError::Kind::kAbsent) return Contents{};
    if (obstacle.kind != PathError::Kind::kChanging) break;
  }
  return Explain(obstacle, path);
}

Reached<RequesterFiles::Contents> HostFiles::ReadOnce(const std::string& path) {
  const Reached<Place> found = walk_.Find(path, NameWalk::Absence::kAsked);
  if (const auto* obstacle = std::get_if<PathError>(&found)) return *obstacle;
  const Place& place = std::get<Place>(found);
  if (S_ISDIR(place.status.stx_mode)) {
    return Contents{Seen(FileKind::kDirectory, place.status), nullptr};
  }
  Reached<FileContents> read = reader_.Read(place);
  if (const auto* obstacle = std::get_if<PathError>(&read)) return *obstacle;
  auto& file = std::get<FileContents>(read);
  Contents contents{Seen(FileKind::kFile, file.status), std::move(file.bytes)};
  contents.seen.digest = file.digest;
  return contents;
}

std::unique_ptr<RequesterFiles> HostFileAccess::Of(const Peer& peer, RootDirectories directories) {
  if (peer.reach == FileReach::kNone) {
    return std::make_unique<FilesElsewhere>(
        std::move(directories),
        "this client connected at a container socket, where the daemon reads no files by path, so "
        "only the client can send its files");
  }
  if (!directories.view || directories.view != options_.own_view) {
    std::string why = directories.view
                          ? "this client's paths lead elsewhere than the daemon's (another mount "
                            "namespace or root), so only the client can send its files"
                          : "this client does not say what its paths mean "
                            "(BuildRequest.files_view), so the daemon can't read them";
    return std::make_unique<FilesElsewhere>(std::move(directories), std::move(why));
  }
  // If the daemon runs as a service user, the files of that user are given to no other user. Files
  // of root are given, because the system's headers belong to root.
  const uid_t keeper = peer.uid == options_.own_uid ? 0 : options_.own_uid;
  return std::make_unique<HostFiles>(Reach(peer.reach, keeper), std::move(directories),
                                     options_.own_places, memory_,
                                     MemoryAccount{options_.memory, peer.account()});
}

}  // namespace cccl_cache::daemon
