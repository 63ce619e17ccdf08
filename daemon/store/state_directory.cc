// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <variant>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "base/machine.h"
#include "base/text.h"
#include "daemon/system/own_directory.h"

namespace cccl_cache::daemon {
namespace {

/// Run numbers are less than this. The id of a lease has the run number and 40 bits for the number
/// of the lease in that run.
constexpr uint64_t kMaxRuns = uint64_t{1} << 23;

Error Unusable(const std::string& path, std::string_view what, int error) {
  return {ErrorCode::kUnavailable,
          fmt::format("{}: {} as uid {}: {}. Give that user write access to it (mode 0700, "
                      "owned by uid {}), or name another one with --state-dir.",
                      path, what, geteuid(), std::strerror(error), geteuid())};
}

/// Makes the directory and its missing parents, and sets its mode to 0700. Returns its path with
/// symlinks resolved. Fails if another user could have changed the directory or a symlink on the
/// path.
Result<std::string> MakePrivate(const std::string& path) {
  if (const Status made = MakeDirectories(path, 0700); !made) {
    return Error{made.error().code,
                 fmt::format("{}: {} (as uid {}). Give that user write access "
                             "there, or name another directory with --state-dir.",
                             path, made.error().message, geteuid())};
  }
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error) return Unusable(path, "cannot be looked at", error.value());
  const FileDescriptor directory(
      open(real.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!directory.valid() || fstat(directory.get(), &info) != 0) {
    return Unusable(path, "cannot be used", errno);
  }
  if (info.st_uid != geteuid()) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("{} belongs to uid {}, the daemon runs as uid {}: what another user "
                    "can change is not trusted. chown it, or name another one with --state-dir.",
                    path, info.st_uid, geteuid())};
  }
  // This check precedes the change of the mode. In a directory that other users could write until
  // now, they may have put files.
  const Status safe = CheckOwnDirectory(path, "put entries of their own into the cache");
  if (!safe) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("{}: {}, or name another one with --state-dir", path, safe.error().message)};
  }
  if ((info.st_mode & 07777) != 0700 && fchmod(directory.get(), 0700) != 0) {
    return Unusable(path, "cannot be made private (mode 0700)", errno);
  }
  return real;
}

/// Returns the pid and the host of the process that holds the lock: on a shared file system, that
/// may be a daemon on another machine. They come from the text of the lock file, and are for the
/// error message only.
std::string Holder(int lock) {
  std::array<char, HOST_NAME_MAX + 16> text{};
  uint32_t pid = 0;
  std::string host;
  if (pread(lock, text.data(), text.size() - 1, 0) <= 0) return "another process";
  std::istringstream words(text.data());
  if (!(words >> pid)) return "another process";
  words >> host;
  return fmt::format("process {}{}", pid, host.empty() ? "" : " of the host " + Printable(host));
}

/// Replaces the file at `path` by a file with this text, and syncs it to the disk. If that fails,
/// the old file stays. Returns 0 or an errno value.
int Replace(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const FileDescriptor file(
      open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return errno;
  if (!WriteAll(file.get(), text) || fsync(file.get()) != 0 ||
      rename(draft.c_str(), path.c_str()) != 0) {
    return errno;
  }
  const std::string directory = path.substr(0, path.rfind('/'));
  const FileDescriptor place(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL is no failure, because some file systems do not support fsync of a directory.
  return place.valid() && (fsync(place.get()) == 0 || errno == EINVAL) ? 0 : errno;
}

/// Returns the number of the last run on this directory, or 0 if there was none.
Result<uint64_t> FormerRuns(const std::string& directory) {
  const std::string path = directory + "/runs";
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid() && errno == ENOENT) return uint64_t{0};
  constexpr size_t kMost = 32;
  const auto text = file.valid() ? ReadAll(file.get(), kMost) : std::nullopt;
  if (!text) return Unusable(directory, "its file runs cannot be read", errno);
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [after, error] = std::from_chars(text->data(), end, number);
  const bool whole = error == std::errc() && (after == end || (*after == '\n' && after + 1 == end));
  if (whole && number < kMaxRuns) return number;
  return Error{ErrorCode::kUnavailable,
               fmt::format("{} holds no number below {}: write one there that is greater than the "
                           "fence of any lease so far, divided by 2^40",
                           path, kMaxRuns)};
}

// The version of all formats in the database, also of those of entries. It must be increased when
// one of them changes.
constexpr std::string_view kFormat = "2";
constexpr std::string_view kFormatName = "store.format";

using Attempt = std::variant<std::unique_ptr<Database>, DatabaseError>;

/// Writes the format into a new database. For an existing database, returns an error if its format
/// is another one.
std::optional<DatabaseError> CheckFormat(Database& database, bool is_new) {
  using Kind = DatabaseError::Kind;
  if (is_new) {
    const ColumnWrite write{Column::kMeta, std::string(kFormatName), std::string(kFormat)};
    if (auto error = database.Write({&write, 1})) return error;
    return database.Flush();  // a damaged write-ahead log can't lose the format then
  }
  std::string format;
  switch (
      database.Read(Column::kMeta, kFormatName, [&](std::string_view value) { format = value; })) {
    case Database::Found::kYes:
      if (format == kFormat) return std::nullopt;
      return DatabaseError{
          Kind::kForeignFormat,
          fmt::format("its format is {:.32}, this version knows {}", format, kFormat)};
    case Database::Found::kNo:
      // The daemon that made this database was killed, or its disk was full, before the format was
      // written.
      return DatabaseError{Kind::kDamaged, "it does not say its format"};
    case Database::Found::kDamaged:
      return DatabaseError{Kind::kDamaged, "its format can't be read"};
    case Database::Found::kFailed:
      break;
  }
  return DatabaseError{Kind::kUnavailable, "its format can't be read now"};
}

Attempt OpenChecked(const StateDirectory& directory, const DatabaseOptions& options) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(directory.database_path(), ignored);
  Attempt attempt = Database::Open(directory.database_path(), options);
  if (auto* database = std::get_if<0>(&attempt)) {
    if (auto error = CheckFormat(**database, is_new)) return *std::move(error);
  }
  return attempt;
}

/// Opens the database. If it is damaged, tries again without the damaged writes in the write-ahead
/// log.
std::variant<OpenedDatabase, DatabaseError> OpenAsItIs(const StateDirectory& directory,
                                                       DatabaseOptions options,
                                                       const Report& report) {
  Attempt attempt = OpenChecked(directory, options);
  if (auto* database = std::get_if<0>(&attempt)) return OpenedDatabase{std::move(*database), false};
  if (std::get<1>(attempt).kind != DatabaseError::Kind::kDamaged) {
    return std::get<1>(std::move(attempt));
  }
  report(fmt::format(
      "the database {} is damaged ({}): opening it without the latest writes that can't be read",
      directory.database_path(), std::get<1>(attempt).message));
  options.skip_damaged_log = true;
  attempt = OpenChecked(directory, options);
  if (auto* database = std::get_if<0>(&attempt)) return OpenedDatabase{std::move(*database), true};
  return std::get<1>(std::move(attempt));
}

bool IsOfTheDisk(const DatabaseError& error) {
  return error.kind == DatabaseError::Kind::kDiskFull ||
         error.kind == DatabaseError::Kind::kUnavailable;
}

Result<OpenedDatabase> Unopened(const StateDirectory& directory, const DatabaseError& error) {
  if (error.kind == DatabaseError::Kind::kDiskFull) return OpenedDatabase{nullptr, false, error};
  return Error{
      ErrorCode::kUnavailable,
      fmt::format(
          "the database {} can't be opened as uid {}: {}. Check that this uid owns it and that the "
          "disk has space, or name another directory with --state-dir.",
          directory.database_path(), geteuid(), error.message)};
}

}  // namespace

Result<std::unique_ptr<StateDirectory>> StateDirectory::Open(const std::string& path) {
  const Result<std::string> real = MakePrivate(path);
  if (!real) return real.error();
  const std::string lock_path = *real + "/lock";
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return Unusable(path, "cannot be written", errno);
  std::unique_ptr<StateDirectory> directory(new StateDirectory(*real, lock));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Unusable(path, "cannot be locked", errno);
    return Error{
        ErrorCode::kUnavailable,
        fmt::format(
            "the database in {} is locked by {}: another daemon runs on it. Stop that one, or "
            "name another directory with --state-dir.",
            path, Holder(lock))};
  }
  const std::string holder = fmt::format("{} {}\n", getpid(), HostName());
  if (ftruncate(lock, 0) != 0) return Unusable(path, "cannot be written", errno);
  // The text is only for error messages. If a full disk refuses the write, the lock still holds.
  [[maybe_unused]] const ssize_t written = pwrite(lock, holder.data(), holder.size(), 0);
  // Removes the second database of builds before 0.1.0, which no daemon opens any more.
  std::error_code ignored;
  std::filesystem::remove_all(*real + "/database.other-version", ignored);
  return directory;
}

StateDirectory::~StateDirectory() { close(lock_); }

Result<uint64_t> StateDirectory::CountRun() const {
  const Result<uint64_t> former = FormerRuns(path_);
  if (!former.ok()) return former.error();
  const uint64_t run = *former + 1;
  if (const int error = Replace(path_ + "/runs", fmt::format("{}\n", run)); error != 0) {
    return Unusable(path_, "cannot be written", error);
  }
  return run;
}

Status StateDirectory::SetDatabaseAside() const {
  std::error_code error;
  std::filesystem::remove_all(set_aside_path(), error);
  if (error) return Unusable(set_aside_path(), "cannot be removed", error.value());
  std::filesystem::rename(database_path(), set_aside_path(), error);
  if (error) return Unusable(database_path(), "cannot be set aside", error.value());
  return Ok{};
}

Result<OpenedDatabase> OpenDatabase(const StateDirectory& directory, const DatabaseOptions& options,
                                    const Report& report) {
  auto opened = OpenAsItIs(directory, options, report);
  if (auto* database = std::get_if<OpenedDatabase>(&opened)) return std::move(*database);
  const DatabaseError unusable = std::get<DatabaseError>(std::move(opened));
  if (IsOfTheDisk(unusable)) return Unopened(directory, unusable);
  report(
      fmt::format("the database {} can't be used ({}): set aside as {}, starting with an empty one",
                  directory.database_path(), unusable.message, directory.set_aside_path()));
  if (const Status moved = directory.SetDatabaseAside(); !moved) return moved.error();
  opened = OpenAsItIs(directory, options, report);
  if (auto* database = std::get_if<OpenedDatabase>(&opened)) return std::move(*database);
  return Unopened(directory, std::get<DatabaseError>(opened));
}

}  // namespace cccl_cache::daemon
