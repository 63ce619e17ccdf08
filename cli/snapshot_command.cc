// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/files.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

std::optional<std::chrono::sys_seconds> ParseDate(const std::string& text, const char* format) {
  std::tm date = {};
  const char* end = strptime(text.c_str(), format, &date);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&date)));
}

void AddMoment(CLI::App* command, const std::string& name, std::string* text,
               std::optional<std::chrono::sys_seconds>* moment, const std::string& help) {
  command->add_option(name, *text, help)
      ->type_name("TIME")
      ->check([moment](const std::string& given) -> std::string {
        *moment = ParseMoment(
            given, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        if (*moment) return "";
        return "\"" + given +
               "\" is no time: give 2026-05-04, 2026-05-04T10:12:31 (UTC), seconds since 1970, or "
               "how long ago: 30m, 12h, 7d";
      });
}

constexpr size_t kShortId = 12;

std::string_view KindName(cccl_cache_snapshot_kind kind) {
  return kind == CCCL_CACHE_SNAPSHOT_DEPOSIT ? "deposit" : "artifact";
}

/// Appends a line about the item. Its names are those in the file, which anybody may have made.
void AppendLine(const cccl_cache_snapshot_item& item, std::string* text) {
  text->append(View(item.key).substr(0, kShortId)).append("  ").append(KindName(item.kind));
  if (item.kind == CCCL_CACHE_SNAPSHOT_DEPOSIT) {
    text->append("  ").append(Printable(View(item.name_space)));
  } else {
    text->append("  ").append(item.arch.size == 0 ? "-" : Printable(View(item.arch)));
    text->append("  ").append(Printable(View(item.toolchain_version))).append("  ");
    text->append(View(item.toolchain_id).substr(0, kShortId));
  }
  text->append("  ").append(std::to_string(item.bytes)).append("\n");
}

void WriteItem(const cccl_cache_snapshot_item& item, JsonWriter* json) {
  json->BeginObject().Fields("kind", KindName(item.kind), "key", View(item.key));
  json->Key("toolchain")
      .BeginObject()
      .Fields("id", View(item.toolchain_id), "version", View(item.toolchain_version));
  json->EndObject().Fields("arch", View(item.arch), "namespace", View(item.name_space), "bytes",
                           item.bytes, "stored_bytes", item.stored_bytes);
  json->EndObject();
}

using SnapshotSummary = cccl_cache_snapshot_summary;

Expected<FileDescriptor> OpenInput(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid()) return file;
  return Error{CCCL_CACHE_UNAVAILABLE, "can't read " + path + ": " + std::strerror(errno)};
}

/// If the error concerns the file's contents, puts the file's name before the message.
Error About(const std::string& file, Error error) {
  if (error.status == CCCL_CACHE_INVALID_REQUEST) error.message = file + ": " + error.message;
  return error;
}

// Returns the common options, without --json if the snapshot itself is written to standard output.
CommonOptions BesideTheFile(const SnapshotOptions& options, CommonOptions common) {
  common.json = common.json && options.file != "-";
  return common;
}

int Tell(const SnapshotOptions& options, const CommonOptions& common,
         const SnapshotSummary& summary) {
  if (options.file == "-") return kDone;
  const char* left_out = options.AsksForOthers() ? "not kept for everybody" : "not kept any more";
  return Print(common.json ? SummaryJson(summary) : SummaryText(summary, "written", left_out));
}

/// Returns the error for a snapshot without entries. Such a snapshot is not written, because it
/// would replace the file's previous contents.
Error NothingToWrite(const SnapshotOptions& options, const SnapshotSummary& made) {
  std::string message =
      "no entry matches the options that narrow the snapshot; without them it holds all results "
      "that you received";
  if (!options.Narrows())
    message = "the daemon knows no build of yours that it has answered yet, and no deposit";
  if (made.left_out > 0) message = "the matching entries are not kept any more: build them again";
  if (made.left_out > 0 && options.AsksForOthers()) {
    message =
        "no matching entry is kept for all users: build it again, or let the users who inserted it "
        "for themselves make snapshots of it";
  }
  if (options.file != "-") message += "; " + options.file + " is unchanged";
  return {CCCL_CACHE_INVALID_REQUEST, std::move(message)};
}

/// Whether a result without entries is written. In a delta it means that nothing is new. In a
/// snapshot it is a mistake.
enum class Empty { kRefused, kAllowed };

template <typename Make>
int Write(const SnapshotOptions& options, const CommonOptions& common, Empty empty, Make make) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  Expected<OutputFile> output = OutputFile::Create(options.file);
  if (!output.ok()) return Fail(output.error(), common);
  const Expected<SnapshotSummary> made = [&] {
    const ProgressOfCall progress([fd = output->fd()] {
      const off_t written = lseek(fd, 0, SEEK_CUR);
      return written < 0 ? "" : "written " + Bytes(static_cast<double>(written));
    });
    return make(*client, output->fd());
  }();
  if (!made.ok()) return Fail(made.error(), common);
  if (made->records == 0 && empty == Empty::kRefused) {
    return Fail(NothingToWrite(options, *made), common);
  }
  // If the snapshot has results of other users, only this user may read the file.
  const auto mode = options.AsksForOthers() ? std::optional<mode_t>(0600) : std::nullopt;
  const Expected<Done> done = output->Finish(OutputFile::Until::kOnDisk, mode);
  if (!done.ok()) return Fail(done.error(), common);
  return Tell(options, common, *made);
}

int Create(const SnapshotOptions& options, const CommonOptions& given) {
  return Write(
      options, BesideTheFile(options, given), Empty::kRefused,
      [&](Client& client, int fd) { return client.snapshots().Create(fd, options.filter); });
}

/// Opens the earlier snapshot for a delta. Its index is checked here, so that an error message
/// names this file and not the new one.
Expected<FileDescriptor> OpenSnapshot(const std::string& path) {
  Expected<FileDescriptor> file = OpenInput(path);
  if (!file.ok()) return file;
  const Expected<Done> listed = ListSnapshot(file->get(), [](const auto&) { return false; });
  if (listed.ok()) return file;
  return About(path, listed.error());
}

int Delta(const SnapshotOptions& options, const CommonOptions& given) {
  const CommonOptions common = BesideTheFile(options, given);
  const Expected<FileDescriptor> since = OpenSnapshot(options.since_snapshot);
  if (!since.ok()) return Fail(since.error(), common);
  return Write(options, common, Empty::kAllowed, [&](Client& client, int fd) {
    return client.snapshots().Delta(since->get(), fd, options.filter);
  });
}

int Insert(const SnapshotOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> file = OpenInput(options.file);
  if (!file.ok()) return Fail(file.error(), common);
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<SnapshotSummary> kept = [&] {
    const ProgressOfCall progress([&] { return "inserting " + options.file; });
    return client->snapshots().Insert(file->get());
  }();
  if (!kept.ok()) return Fail(About(options.file, kept.error()), common);
  const char* done = kept->shared != 0
                         ? "inserted for everybody (deposits among them for you alone)"
                         : "inserted for you alone";
  return Print(common.json ? SummaryJson(*kept) : SummaryText(*kept, done, "there already"));
}

int List(const SnapshotOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> file = OpenInput(options.file);
  if (!file.ok()) return Fail(file.error(), common);
  const Expected<std::string> text = common.json ? ListJson(file->get()) : ListText(file->get());
  return text.ok() ? Print(*text) : Fail(About(options.file, text.error()), common);
}

int Verify(const SnapshotOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> file = OpenInput(options.file);
  if (!file.ok()) return Fail(file.error(), common);
  const Expected<SnapshotSummary> whole = VerifySnapshot(file->get());
  if (!whole.ok()) return Fail(About(options.file, whole.error()), common);
  if (!options.trusted.empty()) {
    const Expected<PublicKey> signer = SignerOf(options.file, options.trusted);
    if (!signer.ok()) return Fail(signer.error(), common);
    if (!common.json) {
      return Print("signed by " + signer->Hex() + "\n" + SummaryText(*whole, "as written", ""));
    }
  }
  return Print(common.json ? SummaryJson(*whole) : SummaryText(*whole, "as written", ""));
}

using RunAction = int (*)(const SnapshotOptions&, const CommonOptions&);

struct Action {
  const char* name;
  const char* help;
  const char* example;
  RunAction run;
};

/// Adds a subcommand without arguments. The caller adds the arguments.
CLI::App* AddAction(CLI::App* command, const Action& action,
                    const std::shared_ptr<SnapshotOptions>& options, const CommonOptions& common,
                    int* exit_code) {
  CLI::App* added = command->add_subcommand(action.name, action.help);
  added->footer(std::string("Example: cccl-cache-cli snapshot ") + action.example);
  added->callback(
      [run = action.run, options, &common, exit_code] { *exit_code = run(*options, common); });
  return added;
}

void AddActions(CLI::App* command, const CommonOptions& common, int* exit_code) {
  const auto options = std::make_shared<SnapshotOptions>();
  const auto add = [&](const Action& action) {
    return AddAction(command, action, options, common, exit_code);
  };

  CLI::App* create = add({"create", "Write the results that you received to FILE",
                          "create kernels.snap --toolchain 13 --after 12h", Create});
  AddFileArgument(create, options.get(), "File to write; \"-\": standard output");
  AddFilterOptions(create, options.get());

  CLI::App* delta = add({"delta", "Like create, without the entries of an earlier snapshot",
                         "delta --since kernels.snap more.snap", Delta});
  delta->add_option("--since", options->since_snapshot, "The earlier snapshot")->required();
  AddFileArgument(delta, options.get(), "File to write; \"-\": standard output");
  AddFilterOptions(delta, options.get());

  CLI::App* insert =
      add({"insert", "Import a snapshot: for all users as root, otherwise for you alone",
           "insert kernels.snap", Insert});
  AddFileArgument(insert, options.get(), "File to read");

  CLI::App* list = add({"list", "List the entries of a snapshot, without a daemon",
                        "list kernels.snap --json", List});
  AddFileArgument(list, options.get(), "File to read");

  CLI::App* verify = add({"verify", "Verify every byte of a snapshot, without a daemon",
                          "verify kernels.snap --trust /etc/cccl-cached/trusted-keys", Verify});
  AddFileArgument(verify, options.get(), "File to read");
  verify
      ->add_option("--trust", options->trusted,
                   "File of public keys, one of which must have signed it as FILE.sig")
      ->type_name("FILE");

  AddSignCommand(command, common, exit_code);
}

}  // namespace

bool SnapshotOptions::Narrows() const {
  return !filter.toolchain.empty() || !filter.arch.empty() || filter.since || filter.until ||
         !filter.name_space.empty() || !filter.uids.empty() || filter.keys;
}

std::optional<std::chrono::sys_seconds> ParseMoment(const std::string& text,
                                                    std::chrono::sys_seconds now) {
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"}) {
    if (const auto date = ParseDate(text, format)) return date;
  }
  constexpr int64_t kMax = 1'000'000'000'000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0 || number > kMax) return std::nullopt;
  if (end == text.data() + text.size()) {
    return std::chrono::sys_seconds(std::chrono::seconds(number));
  }
  const auto age = ParseDuration(text);
  return age ? std::optional(now - *age) : std::nullopt;
}

void AddFileArgument(CLI::App* command, SnapshotOptions* options, const std::string& help) {
  command->add_option("FILE", options->file, help)->required();
}

void AddFilterOptions(CLI::App* command, SnapshotOptions* options) {
  SnapshotFilter& filter = options->filter;
  command->add_option("--toolchain", filter.toolchain,
                      "Only results of this toolchain: a major (13), a version (12.9) or an id");
  command->add_option("--arch", filter.arch, "Only results for this architecture: sm_90");
  AddMoment(command, "--after", &options->after, &filter.since,
            "Only entries last used since then: 2026-05-04, or 7d for the last seven days");
  AddMoment(command, "--before", &options->before, &filter.until,
            "Only entries last used before then");
  command->add_option("--namespace", filter.name_space, "Only deposits of this namespace");
  command->add_option(
      "--key", filter.keys,
      "Only entries with this key, all 64 digits, as build -v and deposits list print it");
  command->add_option("--uid", filter.uids, "Results of this user (for administrators)");
  command->add_flag("--all-users", filter.all_users, "Results of all users (for administrators)");
}

Expected<std::string> ListText(int fd) {
  std::string text;
  const Expected<Done> listed = ListSnapshot(fd, [&](const cccl_cache_snapshot_item& item) {
    AppendLine(item, &text);
    return true;
  });
  if (!listed.ok()) return listed.error();
  return text;
}

Expected<std::string> ListJson(int fd) {
  JsonWriter json = BeginAnswer();
  json.Key("records").BeginArray();
  const Expected<Done> listed = ListSnapshot(fd, [&](const cccl_cache_snapshot_item& item) {
    WriteItem(item, &json);
    return true;
  });
  if (!listed.ok()) return listed.error();
  json.EndArray();
  return json.EndObject().Finish();
}

std::string SummaryText(const cccl_cache_snapshot_summary& summary, std::string_view done,
                        std::string_view left_out) {
  std::string text =
      std::to_string(summary.records) + (summary.records == 1 ? " entry " : " entries ");
  text.append(done).append(", ").append(std::to_string(summary.bytes)).append(" bytes");
  if (summary.left_out > 0) {
    text.append("; ").append(std::to_string(summary.left_out)).append(" ").append(left_out);
  }
  return text.append("\n");
}

std::string SummaryJson(const cccl_cache_snapshot_summary& summary) {
  JsonWriter json = BeginAnswer();
  json.Fields("records", summary.records, "bytes", summary.bytes, "left_out", summary.left_out,
              "shared", summary.shared != 0);
  return json.EndObject().Finish();
}

void AddSnapshotCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("snapshot", "Export and import cache entries as a file");
  command->group("Entries");
  command->require_subcommand(1);
  command->footer("Example: cccl-cache-cli snapshot create kernels.snap --arch sm_90");
  AddWhenParsed(command, common,
                [command, &common, exit_code] { AddActions(command, common, exit_code); });
}

}  // namespace cccl_cache::cli
