// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/file_descriptor.h"
#include "cli/output_file.h"
#include "cli/snapshot_options.h"
#include "cli/snapshot_report.h"

namespace cccl_cache::cli {
namespace {

using Summary = cccl_cache_snapshot_summary;

Expected<FileDescriptor> OpenInput(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid()) return file;
  return Error{CCCL_CACHE_UNAVAILABLE, "can't read " + path + ": " + std::strerror(errno)};
}

// Where the file itself goes to standard output, nothing else does.
CommonOptions BesideTheFile(const SnapshotOptions& options, CommonOptions common) {
  common.json = common.json && options.file != "-";
  return common;
}

int Tell(const SnapshotOptions& options, const CommonOptions& common, const Summary& summary) {
  if (options.file == "-") return kDone;
  const char* left_out = options.AsksForOthers() ? "not kept for everybody" : "not kept any more";
  return Print(common.json ? SummaryJson(summary) : SummaryText(summary, "written", left_out));
}

/// Whoever asks for a snapshot wants something in it, and would lose what the file held before.
Error NothingToWrite(const SnapshotOptions& options, const Summary& made) {
  std::string message =
      "nothing fits the options that narrow the snapshot: without them it holds "
      "all that you were answered";
  if (!options.Narrows())
    message = "the daemon knows no build of yours that it has answered yet, and no deposit";
  if (made.left_out > 0) message = "nothing of what fits is kept any more: build it again";
  if (made.left_out > 0 && options.AsksForOthers()) {
    message =
        "nothing of what fits is kept for everybody: build it again, or let the users who inserted "
        "it for themselves make snapshots of it";
  }
  if (options.file != "-") message += "; " + options.file + " is left as it was";
  return {CCCL_CACHE_INVALID_REQUEST, std::move(message)};
}

/// A delta without entries says that nothing is new; a snapshot without any is a mistake.
enum class Empty { kRefused, kAllowed };

template <typename Make>
int Write(const SnapshotOptions& options, const CommonOptions& common, Empty empty, Make make) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  Expected<OutputFile> output = OutputFile::Create(options.file);
  if (!output.ok()) return Fail(output.error(), common);
  const Expected<Summary> made = make(*client, output->fd());
  if (!made.ok()) return Fail(made.error(), common);
  if (made->records == 0 && empty == Empty::kRefused) {
    return Fail(NothingToWrite(options, *made), common);
  }
  const Expected<Done> done = output->Finish(OutputFile::Until::kOnDisk);
  if (!done.ok()) return Fail(done.error(), common);
  return Tell(options, common, *made);
}

int Create(const SnapshotOptions& options, const CommonOptions& given) {
  return Write(
      options, BesideTheFile(options, given), Empty::kRefused,
      [&](Client& client, int fd) { return client.snapshots().Create(fd, options.filter); });
}

/// The earlier snapshot, once its index is whole: which of two files is wrong is then clear.
Expected<FileDescriptor> OpenSnapshot(const std::string& path) {
  Expected<FileDescriptor> file = OpenInput(path);
  if (!file.ok()) return file;
  const Expected<Done> listed = ListSnapshot(file->get(), [](const auto&) { return false; });
  if (listed.ok()) return file;
  return Error{listed.error().status, path + ": " + listed.error().message};
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
  const Expected<Summary> kept = client->snapshots().Insert(file->get());
  if (!kept.ok()) return Fail(kept.error(), common);
  const char* done = kept->shared != 0
                         ? "inserted for everybody (deposits among them for you alone)"
                         : "inserted for you alone";
  return Print(common.json ? SummaryJson(*kept) : SummaryText(*kept, done, "there already"));
}

int List(const SnapshotOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> file = OpenInput(options.file);
  if (!file.ok()) return Fail(file.error(), common);
  const Expected<std::string> text = common.json ? ListJson(file->get()) : ListText(file->get());
  return text.ok() ? Print(*text) : Fail(text.error(), common);
}

int Verify(const SnapshotOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> file = OpenInput(options.file);
  if (!file.ok()) return Fail(file.error(), common);
  const Expected<Summary> whole = VerifySnapshot(file->get());
  if (!whole.ok()) return Fail(whole.error(), common);
  return Print(common.json ? SummaryJson(*whole) : SummaryText(*whole, "as written", ""));
}

using Run = int (*)(const SnapshotOptions&, const CommonOptions&);

struct Action {
  const char* name;
  const char* help;
  const char* example;
  Run run;
};

/// The caller adds arguments to it.
CLI::App* AddAction(CLI::App* command, const Action& action,
                    const std::shared_ptr<SnapshotOptions>& options, const CommonOptions& common,
                    int* exit_code) {
  CLI::App* added = command->add_subcommand(action.name, action.help);
  added->footer(std::string("Example: cccl-cache-cli snapshot ") + action.example);
  added->callback(
      [run = action.run, options, &common, exit_code] { *exit_code = run(*options, common); });
  return added;
}

}  // namespace

void AddSnapshotCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command =
      app->add_subcommand("snapshot", "Carry what was compiled to another daemon, as a file");
  command->require_subcommand(1);
  command->footer("Example: cccl-cache-cli snapshot create kernels.snap --arch sm_90");
  const auto options = std::make_shared<SnapshotOptions>();
  const auto add = [&](const Action& action) {
    return AddAction(command, action, options, common, exit_code);
  };

  CLI::App* create = add({"create", "Write what you were answered to FILE",
                          "create kernels.snap --toolchain 13 --after 12h", Create});
  AddFileArgument(create, options.get(), "The file to write, -: standard output");
  AddFilterOptions(create, options.get());

  CLI::App* delta = add({"delta", "The same without what an earlier snapshot holds",
                         "delta --since kernels.snap more.snap", Delta});
  delta->add_option("--since", options->since_snapshot, "The earlier snapshot")->required();
  AddFileArgument(delta, options.get(), "The file to write, -: standard output");
  AddFilterOptions(delta, options.get());

  CLI::App* insert =
      add({"insert", "Hand a snapshot to the daemon: for everybody as root, else for you alone",
           "insert kernels.snap", Insert});
  AddFileArgument(insert, options.get(), "The file to read");

  CLI::App* list =
      add({"list", "Show what a snapshot holds; asks no daemon", "list kernels.snap --json", List});
  AddFileArgument(list, options.get(), "The file to read");

  CLI::App* verify = add(
      {"verify", "Check each byte of a snapshot; asks no daemon", "verify kernels.snap", Verify});
  AddFileArgument(verify, options.get(), "The file to read");
}

}  // namespace cccl_cache::cli
