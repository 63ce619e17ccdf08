// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/closure.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/files/own_path.h"
#include "base/files/whole_file.h"
#include "client/nvcc/environment.h"
#include "client/src/calls/file_digest.h"
#include "client/standin/process.h"

namespace cccl_cache::nvcc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
/// Larger files, such as nvcc's programs, have digests that all closures share.
constexpr off_t kLarge = off_t{2} << 20;

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Returns realpath(path), or "" if there is none.
std::string RealPath(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  const std::string text = real == nullptr ? "" : real;
  free(real);
  return text;
}

std::string LinkText(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), text, sizeof(text));
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

/// Returns the real names of many files, of which many are in the same directory.
class RealNames {
 public:
  std::string Of(const std::string& path) {
    struct stat status;
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty() || name == "." || name == ".." || lstat(path.c_str(), &status) != 0 ||
        S_ISLNK(status.st_mode)) {
      return RealPath(path);
    }
    const std::string directory = DirectoryOf(path);
    if (directory != directory_) {
      directory_ = directory;
      real_ = RealPath(directory);
    }
    return (real_ == "/" ? "" : real_) + "/" + name;
  }

 private:
  std::string directory_;
  std::string real_;
};

/// Answers whether names are absent. If a directory is absent, all names below it are.
class Absences {
 public:
  /// Returns 0 if the file is there, or an errno value.
  int Look(const std::string& path, struct stat* status) {
    const std::string directory = DirectoryOf(path);
    if (directory != directory_) {
      directory_ = directory;
      struct stat above;
      absent_ = stat(directory.c_str(), &above) != 0 && errno == ENOENT;
    }
    if (absent_) return ENOENT;
    return stat(path.c_str(), status) == 0 ? 0 : errno;
  }

 private:
  std::string directory_;
  bool absent_ = false;
};

bool IsAbsence(int error) { return error == ENOENT || error == ENOTDIR; }

/// Returns whether any run may have another result of the look-up: the null device, a terminal,
/// random numbers, or what programs read about their own process.
bool IsHarmless(std::string_view name) {
  return name == "/dev/null" || name == "/dev/tty" || name == "/dev/urandom" ||
         name == "/proc/self/exe" || name == "/proc/self/maps" || name == "/proc/self/status";
}

/// Returns whether the name is in a directory in which our programs keep what they know. The
/// stand-ins of a run look there, and the results do not depend on it. Each user has other ones.
bool IsOurCache(std::string_view name) {
  if (name.find("/../") != std::string_view::npos) return false;
  for (const std::string& directory : {CacheDirectory(), standin::RuntimeFacts()}) {
    if (!directory.empty() && name.starts_with(directory) &&
        (name.size() == directory.size() || name[directory.size()] == '/')) {
      return true;
    }
  }
  return false;
}

/// Returns the names of the sockets at which the stand-ins look for a daemon, and of their
/// directories, also by their real names. The results do not depend on who answers there.
std::set<std::string> PlacesOfDaemons() {
  const auto variable = [](const char* name) {
    const char* value = secure_getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  std::vector<std::string> sockets = UsersSockets(variable("XDG_RUNTIME_DIR"), variable("HOME"));
  sockets.emplace_back(kSystemSocket);
  std::set<std::string> places;
  for (const std::string& socket : sockets) {
    const std::string directory = DirectoryOf(socket);
    for (const std::string& each : {directory, RealPath(directory)}) {
      if (!each.empty()) places.insert({each, each + socket.substr(directory.size())});
    }
  }
  return places;
}

constexpr size_t kStartOfObject = 8;

/// Returns whether these are the first bytes of a file that is not read as a text.
bool IsObject(std::string_view start) {
  return start.starts_with("\177ELF") || start.starts_with("!<arch>");
}

/// Returns a text without the ends of lines that a backslash, or the trigraph for it, continues.
std::string WithJoinedLines(std::string text) {
  size_t to = 0;
  for (size_t from = 0; from < text.size(); ++from) {
    text[to++] = text[from];
    if (text[from] != '\n') continue;
    size_t end = to - 1;
    while (end > 0 && std::string_view(" \t\v\f\r").find(text[end - 1]) != std::string_view::npos) {
      --end;
    }
    const std::string_view line(text.data(), end);
    if (line.ends_with("\\")) {
      to = end - 1;
    } else if (line.ends_with("?\?/")) {
      to = end - 3;
    }
  }
  text.resize(to);
  return text;
}

/// Returns whether GCC may ask for any variable: by a function of its specs.
bool AsksForVariable(std::string_view text) {
  return text.find("%:getenv(") != std::string_view::npos;
}

/// Returns whether the preprocessor may find the time in the text.
bool ShowsTime(std::string_view text) {
  for (const std::string_view token : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    if (text.find(token) != std::string_view::npos) return true;
  }
  return false;
}

/// Returns whether the preprocessor may compare the times of two files, by `#pragma GCC
/// dependency`.
bool ComparesTimes(std::string_view text) {
  constexpr std::string_view kWord = "dependency";
  for (size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const size_t end = before.find_last_not_of(" \t") + 1;
    if (end < at && before.substr(0, end).ends_with("GCC")) return true;
  }
  return false;
}

/// Returns whether the preprocessor may read the text only once, or ask that of another one. It
/// then compares the times of files with equal contents.
bool IsReadOnce(std::string_view text) {
  for (const std::string_view word : {"once", "import"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

/// Returns the latest time of a change with this time stamp. Some file systems stamp in whole
/// seconds.
int64_t Latest(const struct timespec& stamp) {
  return stamp.tv_sec * kSecond + (stamp.tv_nsec == 0 ? kSecond - 1 : stamp.tv_nsec);
}

bool IsExecutable(mode_t mode) { return (mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0; }

/// Returns the digest of the names in a directory; none if it can't be read.
std::optional<Digest> DigestOfNames(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator each(directory, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    names.push_back(each->path().filename());
  }
  if (error) return std::nullopt;
  std::ranges::sort(names);
  Hasher hasher;
  for (const std::string& name : names) hasher.AppendValue("name", name);
  return hasher.Finish();
}

/// Returns the time of a file's last change of contents, in seconds as text; "" if it is not known.
std::string TimeOf(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? std::to_string(status.st_mtim.tv_sec) : "";
}

/// Returns the digest of a regular file; none if it can't be read.
std::optional<Digest> DigestOf(const std::string& path, off_t size) {
  if (size >= kLarge) return DigestOfFile(path);
  const auto contents = ReadFileAt(path);
  if (!contents) return std::nullopt;
  return Sha256(*contents);
}

/// Returns the number of bytes at the front that are equal.
size_t SharedFront(std::string_view one, std::string_view other) {
  return static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

/// Makes the entries of one closure.
class Builder {
 public:
  Builder(const std::vector<std::string>& outputs, const std::map<std::string, Digest>& before,
          int64_t begin_ns)
      : outputs_(outputs.begin(), outputs.end()), before_(before), begin_ns_(begin_ns) {}

  std::string Add(const std::string& name, const Use& use);
  /// Adds the names in directories that the run has read. To be called once, after all names were
  /// added. Returns "" or why the run can't be kept.
  std::string AddLists();
  /// Adds the times of equal texts that the preprocessor may read only once, because it compares
  /// them. To be called once, after all names were added.
  void AddEqualTexts();
  /// Returns the entries, sorted by name.
  std::vector<Closure::Entry> Take();

 private:
  std::string AddFile(const std::string& name, const Use& use);

  const std::set<std::string> outputs_;
  const std::map<std::string, Digest>& before_;
  const int64_t begin_ns_;
  const std::set<std::string> places_of_daemons_ = PlacesOfDaemons();
  Absences absences_;
  RealNames real_names_;
  std::set<std::string> listed_;
  std::set<std::string> temporary_;  ///< directories in which the run made files that are gone
  std::map<Digest, std::vector<std::string>> once_;  ///< texts that are read once, by contents
  std::vector<Closure::Entry> entries_;
};

std::string Builder::Add(const std::string& name, const Use& use) {
  if (IsHarmless(name)) return "";
  if (!use.read_by_preprocessor && (IsOurCache(name) || places_of_daemons_.contains(name))) {
    return "";
  }
  if (IsOfKernel(name)) return "it looked at " + name;
  if (use.made || use.changed || use.removed) {
    const bool is_output = outputs_.contains(name);
    struct stat status;
    if (use.changed) return "it changed " + name;
    if (is_output && use.read_by_preprocessor) return "it read its output " + name;
    if (is_output) return "";
    if (use.removed) return "it removed " + name;
    if (lstat(name.c_str(), &status) == 0) return "it wrote " + name;
    temporary_.insert(DirectoryOf(name));
  }
  if (use.looks.empty()) return "";
  struct stat status {};
  const int error = absences_.Look(name, &status);
  for (const int found : use.looks) {
    // A file that may not be executed, or is no link, is there.
    const bool there = found == 0 || (found == EACCES && error == 0);
    const bool same = error == found || (IsAbsence(error) && IsAbsence(found));
    if (!use.made && !(there ? error == 0 : same)) return name + " changed during the run";
  }
  if (use.listed) listed_.insert(name);
  for (const std::string& real : use.resolved) {
    if (real != real_names_.Of(name) && real != LinkText(name)) {
      return name + " changed during the run";
    }
    entries_.push_back({name, Closure::Kind::kReal, false, {}, real});
  }
  if (error == 0 && S_ISREG(status.st_mode)) return use.made ? "" : AddFile(name, use);
  if (error == 0 && S_ISDIR(status.st_mode)) {
    for (const FileIdentity& found : use.found) {
      if (!use.made && found != IdentityOf(status)) {
        return name + " led to another file during the run";
      }
    }
    entries_.push_back({name, Closure::Kind::kDirectory, false, {}, ""});
    // GCC searches one of two equal directories only.
    entries_.push_back({name, Closure::Kind::kReal, false, {}, real_names_.Of(name)});
  } else if (IsAbsence(error)) {
    entries_.push_back({name, Closure::Kind::kAbsent, false, {}, ""});
  } else if (error == EACCES) {
    entries_.push_back({name, Closure::Kind::kDenied, false, {}, ""});
  } else if (error != ENAMETOOLONG) {
    return "it looked at " + name;
  }
  return "";
}

std::string Builder::AddFile(const std::string& name, const Use& use) {
  const FileDescriptor file(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return name + " can't be read";
  }
  std::string start(kStartOfObject, '\0');
  const ssize_t got = pread(file.get(), start.data(), start.size(), 0);
  start.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const bool is_text = !IsObject(start);
  if (use.run && (is_text || !IsKnownProgram(RealPath(name)))) {
    return "a program's environment is not known: " + name;
  }
  // The name may have led to another file meanwhile, by a link or a renamed directory above it.
  for (const FileIdentity& found : use.found) {
    if (found != IdentityOf(status)) return name + " led to another file during the run";
  }
  std::string contents;
  std::optional<Digest> digest;
  if (!is_text && status.st_size >= kLarge) {
    digest = DigestOfFile("/proc/self/fd/" + std::to_string(file.get()));
  } else if (auto read = ReadAll(file.get())) {
    contents = *std::move(read);
    digest = Sha256(contents);
  }
  if (!digest) return name + " can't be read";
  // A change after the beginning is not older than its stamp.
  if (Latest(status.st_ctim) >= begin_ns_) {
    const auto known = before_.find(name);
    if (known == before_.end() || known->second != *digest) {
      return name + " is new, or changed during the run";
    }
  }
  if (is_text) {
    if (name.ends_with("/nvcc.profile")) {
      if (std::string why = UnkeptInProfile(contents); !why.empty()) return name + " has " + why;
    }
    const std::string text = WithJoinedLines(std::move(contents));
    if (AsksForVariable(text)) return name + " asks for a variable";
    if (ShowsTime(text)) return name + " asks for the time";
    if (ComparesTimes(text)) return name + " compares the times of files";
    if (IsReadOnce(text)) once_[*digest].push_back(name);
  }
  entries_.push_back({name, Closure::Kind::kFile, IsExecutable(status.st_mode), *digest, ""});
  return "";
}

void Builder::AddEqualTexts() {
  for (const auto& [digest, names] : once_) {
    if (names.size() < 2) continue;
    for (const std::string& name : names) {
      entries_.push_back({name, Closure::Kind::kTime, false, {}, TimeOf(name)});
    }
  }
}

std::string Builder::AddLists() {
  for (const std::string& directory : listed_) {
    // nvcc reads the names in the directory of its temporary files to remove them.
    if (temporary_.contains(directory)) continue;
    struct stat status {};
    const auto digest = DigestOfNames(directory);
    if (!digest || stat(directory.c_str(), &status) != 0 || Latest(status.st_ctim) >= begin_ns_) {
      return "the names in " + directory + " changed during the run";
    }
    entries_.push_back({directory, Closure::Kind::kNames, false, *digest, ""});
  }
  return "";
}

std::vector<Closure::Entry> Builder::Take() {
  std::ranges::stable_sort(entries_, {}, &Closure::Entry::name);
  return std::move(entries_);
}

/// Compares the files of a closure with their present state.
class Comparison {
 public:
  /// Returns whether the entry holds. The contents of files whose stamps prove them are not
  /// compared yet.
  bool Take(Closure::Entry entry);
  /// Returns whether the files have the contents of the closure with this encoding.
  bool ContentsHold(std::string_view closure, const UserCache& facts);

 private:
  struct File {
    Closure::Entry entry;
    off_t size;
  };

  Absences absences_;
  RealNames real_names_;
  StampReader stamps_;
  Hasher hasher_;
  std::vector<File> files_;  ///< those whose stamps prove their contents
};

bool Comparison::Take(Closure::Entry entry) {
  using Kind = Closure::Kind;
  struct stat status;
  switch (entry.kind) {
    case Kind::kAbsent:
      return IsAbsence(absences_.Look(entry.name, &status));
    case Kind::kDenied:
      return absences_.Look(entry.name, &status) == EACCES;
    case Kind::kDirectory:
      return absences_.Look(entry.name, &status) == 0 && S_ISDIR(status.st_mode);
    case Kind::kNames:
      return DigestOfNames(entry.name) == entry.digest;
    case Kind::kReal:
      return entry.real == real_names_.Of(entry.name) || entry.real == LinkText(entry.name);
    case Kind::kTime:
      return entry.real == TimeOf(entry.name);
    case Kind::kFile:
      break;
  }
  // Most of thousands of files are no links, and take one system call each.
  struct statx found;
  if (StatusAt(AT_FDCWD, entry.name, &found) != 0) return false;
  std::optional<StampReader::Stamp> stamp;
  if (S_ISLNK(found.stx_mode)) {
    const FileDescriptor file(open(entry.name.c_str(), O_PATH | O_CLOEXEC));
    if (!file.valid() || StatusAt(file.get(), "", &found) != 0) return false;
    stamp = stamps_.Of(file.get());
  } else {
    stamp = stamps_.At(entry.name, found);
  }
  if (!S_ISREG(found.stx_mode) || IsExecutable(found.stx_mode) != entry.executable) return false;
  const auto size = static_cast<off_t>(found.stx_size);
  if (!stamp || !stamp->proves) return DigestOf(entry.name, size) == entry.digest;
  hasher_.AppendValue("name", entry.name);
  hasher_.AppendValue("stamp", stamps_.TextOf(stamp->stamp));
  files_.push_back({std::move(entry), size});
  return true;
}

bool Comparison::ContentsHold(std::string_view closure, const UserCache& facts) {
  hasher_.AppendValue("closure", closure);
  const std::string fact = "closure-" + hasher_.Finish().Hex();
  if (facts.Age(fact)) return true;
  for (const File& file : files_) {
    if (DigestOf(file.entry.name, file.size) != file.entry.digest) return false;
  }
  facts.Put(fact, "");
  return true;
}

}  // namespace

bool IsOfKernel(std::string_view name) {
  return name.starts_with("/proc/") || name.starts_with("/sys/") ||
         (name.starts_with("/dev/") && !name.starts_with("/dev/shm/"));
}

std::variant<Closure, std::string> Closure::Of(const Trace& trace,
                                               const std::vector<std::string>& outputs,
                                               const std::map<std::string, Digest>& before,
                                               int64_t begin_ns) {
  if (!trace.gap.empty()) return trace.gap;
  Builder builder(outputs, before, begin_ns);
  for (const auto& [name, use] : trace.uses) {
    if (std::string why = builder.Add(name, use); !why.empty()) return why;
  }
  if (std::string why = builder.AddLists(); !why.empty()) return why;
  builder.AddEqualTexts();
  return Closure(builder.Take());
}

bool Closure::Holds(const UserCache& facts, const standin::FreshDirectory* fresh) const {
  Comparison comparison;
  for (const Entry& entry : entries_) {
    Entry shown = entry;
    if (fresh != nullptr) {
      shown.name = fresh->Show(std::move(shown.name));
      shown.real = fresh->Show(std::move(shown.real));
    }
    // No run leaves such a name in its closure, but another member of a group may have written it.
    if (IsOfKernel(shown.name) || !comparison.Take(std::move(shown))) return false;
  }
  ByteWriter writer;
  Encode(&writer);
  return comparison.ContentsHold(writer.Joined(), facts);
}

std::optional<Closure> Closure::Hidden(const standin::FreshDirectory& fresh) const {
  std::vector<Entry> hidden = entries_;
  for (Entry& entry : hidden) {
    if (entry.kind == Kind::kFile) {
      const auto start = ReadFileAt(entry.name, kStartOfObject);
      if (!start) return std::nullopt;
      const auto text = IsObject(*start) ? "" : ReadFileAt(entry.name);
      if (!text || fresh.IsIn(*text)) return std::nullopt;
    }
    auto name = fresh.Hide(std::move(entry.name));
    auto real = fresh.Hide(std::move(entry.real));
    if (!name || !real) return std::nullopt;
    entry.name = *std::move(name);
    entry.real = *std::move(real);
  }
  std::ranges::stable_sort(hidden, {}, &Entry::name);
  return Closure(std::move(hidden));
}

void Closure::Encode(ByteWriter* writer) const {
  writer->Count(entries_.size());
  std::string_view before;
  for (const Entry& entry : entries_) {
    const std::string_view name = entry.name;
    const size_t shared = SharedFront(before, name);
    writer->Put(static_cast<uint16_t>(shared)).Text(name.substr(shared)).Put(entry.kind);
    if (entry.kind == Kind::kFile) writer->Put(entry.executable).Bytes(entry.digest.View());
    if (entry.kind == Kind::kNames) writer->Bytes(entry.digest.View());
    if (entry.kind == Kind::kReal || entry.kind == Kind::kTime)
      writer->Text(std::string_view(entry.real));
    before = name;
  }
}

Closure Closure::Decode(ByteReader* reader) {
  constexpr size_t kLeast = sizeof(uint16_t) + ByteReader::kEmptyText + 1;
  // Names can share their fronts, so that short bytes could stand for long names.
  constexpr size_t kMostName = PATH_MAX * 2;
  constexpr size_t kMostNames = size_t{64} << 20;
  size_t names = 0;
  std::vector<Entry> entries(reader->Count(kLeast));
  std::string name;
  for (Entry& entry : entries) {
    const size_t shared = reader->Take<uint16_t>();
    const std::string_view rest = reader->Text();
    if (shared > name.size() || shared + rest.size() > kMostName) reader->Fail();
    if (!reader->ok()) break;
    const std::string before = name;
    name.resize(shared);
    name += rest;
    names += name.size();
    if (SharedFront(before, name) != shared) reader->Fail();  // a closure has one encoding
    if (names > kMostNames || name.empty() || name[0] != '/' ||
        name.find('\0') != std::string::npos)
      reader->Fail();
    entry.name = name;
    entry.kind = reader->TakeEnum(Kind::kAbsent, Kind::kTime);
    if (entry.kind == Kind::kFile) {
      entry.executable = reader->Flag();
      entry.digest.bytes = reader->Sha256();
    }
    if (entry.kind == Kind::kNames) entry.digest.bytes = reader->Sha256();
    if (entry.kind == Kind::kReal || entry.kind == Kind::kTime) entry.real = reader->Text();
  }
  return Closure(std::move(entries));
}

}  // namespace cccl_cache::nvcc
