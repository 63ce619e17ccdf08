// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The program cccl-cache-nvcc. It writes what an earlier run of nvcc has written, if all files that
// nvcc looked up then are in the same state. Otherwise it runs nvcc, records what it looks up, and
// stores the result in the daemon. In case of any doubt it replaces itself by nvcc (exec).
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file_stamp.h"
#include "base/files/regular_file.h"
#include "base/files/whole_file.h"
#include "client/interpose/group.h"
#include "client/interpose/loaded_names.h"
#include "client/interpose/report.h"
#include "client/interpose/wait.h"
#include "client/nvcc/choice.h"
#include "client/nvcc/closure.h"
#include "client/nvcc/command.h"
#include "client/nvcc/command_line.h"
#include "client/nvcc/environment.h"
#include "client/nvcc/kept_step.h"
#include "client/nvcc/trace.h"
#include "client/standin/fresh_directory.h"
#include "client/standin/kept_run.h"
#include "client/standin/line_table.h"
#include "client/standin/module_id.h"
#include "client/standin/process.h"
#include "client/standin/real_tool.h"
#include "client/standin/run_memory.h"
#include "proto/lease_limit.h"

namespace {

using cccl_cache::Client;
using cccl_cache::ClientOptions;
using cccl_cache::ContentStamp;
using cccl_cache::DepositKey;
using cccl_cache::FileDescriptor;
using cccl_cache::kLeaseLimit;
using cccl_cache::Lease;
using cccl_cache::OpenRegular;
using cccl_cache::ReadAll;
using cccl_cache::StatusAt;
using cccl_cache::UserCache;
using cccl_cache::interpose::CountedCall;
using cccl_cache::interpose::Counts;
using cccl_cache::interpose::CountUncacheable;
using cccl_cache::interpose::kExec;
using cccl_cache::interpose::kPlaceholder;
using cccl_cache::interpose::Reason;
using cccl_cache::interpose::RunGroup;
using cccl_cache::interpose::RunWaitEnd;
using cccl_cache::interpose::WaitForEqualRun;
using cccl_cache::standin::Ending;
using cccl_cache::standin::FitsEveryRun;
using cccl_cache::standin::FreshDirectory;
using cccl_cache::standin::OutputsAreOne;
using cccl_cache::standin::Publish;
using cccl_cache::standin::RealTool;
using cccl_cache::standin::RunMemory;
using cccl_cache::standin::SetTimes;
using cccl_cache::standin::Words;
using namespace cccl_cache::nvcc;  // NOLINT: the program's own
using Clock = std::chrono::steady_clock;

constexpr char kName[] = "cccl-cache-nvcc";
constexpr char kRecorder[] = "libcccl_cache_record.so";

/// The status of nvcc as from waitpid(), or the reason why nvcc must run without the cache.
using Served = std::variant<int, Reason>;

/// A file as nvcc left it.
struct Left {
  std::string contents;
  bool executable = false;
  ContentStamp stamp;
};

/// Returns the state of a regular file; none for another file.
std::optional<Left> ReadLeft(const std::string& path) {
  const FileDescriptor file = OpenRegular(path);
  struct statx status;
  if (!file.valid() || StatusAt(file.get(), "", &status) != 0) return std::nullopt;
  auto contents = ReadAll(file.get());
  if (!contents) return std::nullopt;
  return Left{.contents = *std::move(contents),
              .executable = (status.stx_mode & S_IXUSR) != 0,
              .stamp = ContentStamp::Of(status)};
}

/// Returns whether the path still leads to the file in this state.
bool IsStill(const std::string& path, const Left& left) {
  const FileDescriptor file = OpenRegular(path);
  struct statx status;
  return file.valid() && StatusAt(file.get(), "", &status) == 0 &&
         ContentStamp::Of(status) == left.stamp;
}

/// Returns the path of the recorder, which is beside this program. Empty if it can't be preloaded:
/// the loader would split the path.
std::string Recorder() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) return "";
  std::string own(path, static_cast<size_t>(size));
  own.replace(own.rfind('/') + 1, std::string::npos, kRecorder);
  if (own.find_first_of(" :;$") != std::string::npos || access(own.c_str(), R_OK) != 0) return "";
  return own;
}

/// A successful run of nvcc.
struct Run {
  Ending ending;
  int64_t begin_ns;  ///< as Recording::Stamp()
  int64_t end_ns;    ///< as the precise clock says, which no stamp of a file is ahead of
  std::chrono::microseconds took;
  std::vector<std::optional<Left>> left;  ///< the outputs, which were read once nvcc had ended
};

/// Puts placeholders in place of the name of the source's fresh directory. Returns false if runs in
/// other directories would not have the same result but for the name; the run is then changed in
/// part. `contents` holds the contents of the products.
bool Hide(const FreshDirectory& fresh, const Trace& trace, KeptStep* kept,
          std::vector<std::string>* contents) {
  if (!ShowsPathOnly(fresh, trace.texts)) return false;
  auto closure = kept->closure.Hidden(fresh);
  if (!closure) return false;
  kept->closure = *std::move(closure);
  for (Product& product : kept->products) {
    // The tables name times of files, which are others in each directory.
    std::string cubin(product.contents);
    if (!SetTimes(&cubin) || cubin != product.contents) return false;
    auto path = fresh.Hide(product.path);
    auto hidden = fresh.Hide(std::move(cubin));
    // In the run of the other directory, the two names would be one.
    if (!path || !hidden || fresh.HasSibling(*hidden)) return false;
    product.path = *std::move(path);
    product.contents = contents->emplace_back(*std::move(hidden));
  }
  for (std::string* log : {&kept->out, &kept->err}) {
    auto hidden = fresh.Hide(*log);
    if (!hidden) return false;
    *log = *std::move(hidden);
  }
  return true;
}

/// Puts the directory's name in place of the placeholders. Returns false if the output would not be
/// that of a run in this directory.
bool Show(const FreshDirectory& fresh, KeptStep* kept, std::vector<std::string>* contents) {
  contents->reserve(kept->products.size());
  for (Product& product : kept->products) {
    product.path = fresh.Show(std::move(product.path));
    std::string& cubin = contents->emplace_back(fresh.Show(std::string(product.contents)));
    if (!SetTimes(&cubin)) return false;
    product.contents = cubin;
  }
  kept->out = fresh.Show(std::move(kept->out));
  kept->err = fresh.Show(std::move(kept->err));
  return true;
}

/// Returns the stored form of a run. Sets `why` instead if it can't be kept.
std::optional<std::string> Encode(const Command& command, const Recording& recording,
                                  const Run& run, std::string* why) {
  const Ending& ending = run.ending;
  if (!ending.out.empty() && !ending.err.empty()) {
    *why = "the order of its messages is not known";
    return std::nullopt;
  }
  const Trace trace = recording.Read(command.directory);
  std::vector<std::string> outputs;
  for (const Output& output : command.step.outputs) {
    outputs.push_back(command.Absolute(output.path));
  }
  auto closure = Closure::Of(trace, outputs, command.sources, run.begin_ns);
  if (auto* problem = std::get_if<std::string>(&closure)) {
    *why = std::move(*problem);
    return std::nullopt;
  }
  KeptStep kept{.made_s = static_cast<uint64_t>(time(nullptr)),
                .took_us = static_cast<uint64_t>(run.took.count()),
                .only_in = {},
                .closure = std::get<Closure>(std::move(closure)),
                .products = {},
                .out = ending.out,
                .err = ending.err,
                .joined = ending.joined};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto use = trace.uses.find(outputs[i]);
    if (use == trace.uses.end() || !use->second.made) continue;
    const std::string& path = command.step.outputs[i].path;
    const auto& left = run.left[i];
    // Other programs may have written the file since nvcc did.
    if (!left || left->stamp.mtime_ns > run.end_ns || !IsStill(path, *left)) {
      *why = path + " was changed";
      return std::nullopt;
    }
    // No linker takes a cubin that is not relocatable.
    const bool stands_alone = command.step.makes_cubin && !command.step.links_device_code;
    if (!stands_alone && !FitsEveryRun(left->contents, command.step.links_device_code)) {
      *why = path + " has a module id of its own";
      return std::nullopt;
    }
    kept.products.push_back(
        {.path = path, .executable = left->executable, .contents = left->contents});
  }
  if (kept.products.empty()) {
    *why = "it wrote no output";
    return std::nullopt;
  }
  if (!command.fresh) return kept.Encode();
  KeptStep hidden = kept;
  std::vector<std::string> contents;
  contents.reserve(kept.products.size());
  if (Hide(*command.fresh, trace, &hidden, &contents)) return hidden.Encode();
  kept.only_in = command.Source();
  return kept.Encode();
}

/// Runs nvcc, and publishes the result if it can be kept. Otherwise the processes that wait for it
/// run nvcc themselves. The waits of this process began at `begin`.
Served Make(const RealTool& tool, const Command& command, Client* client, const DepositKey& key,
            const UserCache& facts, Lease* lease, char** arguments, Clock::time_point begin) {
  const std::string recorder = Recorder();
  const auto recording =
      recorder.empty() ? std::nullopt : Recording::Make(command.fresh.has_value());
  if (!recording) return Reason::kNotServed;
  // Under `run`, each step reserves its own memory.
  const std::string_view preloaded = Variable("LD_PRELOAD");
  const bool steps_reserve = preloaded.find(kExec) != std::string_view::npos ||
                             preloaded.find(kPlaceholder) != std::string_view::npos;
  RunMemory memory = steps_reserve ? RunMemory()
                                   : RunMemory(std::string(client->socket()), command.memory_kind,
                                               RunWaitEnd(begin));
  const auto begin_ns = recording->Stamp();
  if (!begin_ns) return Reason::kNotServed;
  const Clock::time_point started = Clock::now();
  std::optional<Ending> ending;
  {
    const Recording::Environment environment(*recording, recorder);
    setenv(cccl_cache::interpose::kStepVariable, std::to_string(getpid()).c_str(), 1);
    ending = memory.Run(tool, arguments, OutputsAreOne());
    // nvcc gets the former environment if it must be run once more.
    unsetenv(cccl_cache::interpose::kStepVariable);
  }
  if (!ending) return Reason::kNotServed;
  ++(ending->status == 0 ? Counts().compiled : Counts().failed);
  std::string why;
  std::optional<std::string> contents;
  const int status = ending->status;
  if (status == 0) {
    Run run{
        .ending = *std::move(ending),
        .begin_ns = *begin_ns,
        .end_ns =
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count(),
        .took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started),
        .left = {}};
    for (const Output& output : command.step.outputs) run.left.push_back(ReadLeft(output.path));
    contents = Encode(command, *recording, run, &why);
  }
  if (contents) {
    facts.Remove(command.UnkeptFact());
    const auto published = Publish(client, key, lease, *contents);
    if (!published.ok()) why = published.error().message;
  } else {
    lease->Fail();
    if (status == 0) facts.Put(command.UnkeptFact(), "");
  }
  if (!why.empty()) CountUncacheable(why);
  return status;
}

/// Writes what the earlier run wrote. `begin` is the beginning of this one.
Served Replay(const Command& command, KeptStep kept, Clock::time_point begin) {
  std::vector<std::string> contents;
  const bool hidden = command.fresh && kept.only_in.empty();
  if (hidden && !Show(*command.fresh, &kept, &contents)) return Reason::kNotServed;
  if (!kept.Replay(command.step)) return Reason::kNotServed;
  const auto took = std::chrono::microseconds(kept.took_us);
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  if (took > now) Counts().saved_us += static_cast<uint64_t>((took - now).count());
  ++Counts().hits;
  return 0;
}

/// Answers a run with a stored result of the group, or of this user if `group` is empty. If there
/// is none, runs nvcc under the daemon's lease. Returns none if there is no place for its result.
/// The waits for equal runs are bounded together, from `begin` on.
std::optional<Served> ServeOf(const std::string& group, Client* client, const RealTool& tool,
                              const Command& command, const UserCache& facts, char** arguments,
                              Clock::time_point begin) {
  // Waiting for a run that is not kept either would be in vain.
  const bool unkept = facts.Age(command.UnkeptFact()).has_value();
  const auto most = unkept ? std::chrono::milliseconds(0) : WaitForEqualRun().value_or(kLeaseLimit);
  Choice choice = Choose(client, command, group, facts, begin + most);
  if (auto* hit = std::get_if<Hit>(&choice)) return Replay(command, std::move(hit->kept), begin);
  if (auto* vacancy = std::get_if<Vacancy>(&choice)) {
    const DepositKey key = command.Key(group, vacancy->number);
    return Make(tool, command, client, key, facts, &vacancy->lease, arguments, begin);
  }
  if (std::holds_alternative<NeedsOwnName>(choice)) {
    // Equal runs in several directories would wait for each other in vain.
    Command own = command;
    own.digest = command.own_digest;
    own.fresh.reset();
    return ServeOf(group, client, tool, own, facts, arguments, begin);
  }
  if (std::holds_alternative<Full>(choice)) return std::nullopt;
  const Reason why = std::get<Reason>(choice);
  if (why != Reason::kTooSlow) return why;
  if (!unkept) return WaitForEqualRun() ? why : Reason::kSilent;
  cccl_cache::interpose::KeepRefusal("nvcc: an equal run is under way, and was not kept before");
  return Reason::kNotServed;
}

/// Serves the run from the results of the named group. If other members made all of its results,
/// the result goes to this user's own.
Served Serve(const RealTool& tool, const Command& command, const UserCache& facts,
             char** arguments) {
  auto client = Client::Open(ClientOptions{.fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return Reason::kNoDaemon;
  const std::string group = RunGroup();
  const Clock::time_point begin = Clock::now();
  auto served = ServeOf(group, &*client, tool, command, facts, arguments, begin);
  if (!served && !group.empty()) {
    served = ServeOf("", &*client, tool, command, facts, arguments, begin);
  }
  return served.value_or(Reason::kNotServed);
}

/// Counts a run for the report. Ends this process if the run was answered or made. Returns if nvcc
/// must replace this process.
void ServeCounted(const RealTool& tool, const std::string& path, const UserCache& facts,
                  const Words& words, char** arguments) {
  Served served = Reason::kNotServed;
  {
    CountedCall call;
    std::snprintf(Counts().program, sizeof(Counts().program), "%s", tool.name().c_str());
    const auto command = ReadCommand(tool, path, words);
    if (const auto* known = std::get_if<Command>(&command)) {
      served = Serve(tool, *known, facts, arguments);
    } else {
      cccl_cache::interpose::KeepRefusal("nvcc: " + std::get<Refusal>(command).why);
    }
    if (const auto* reason = std::get_if<Reason>(&served)) call.Forward(*reason);
  }
  if (const auto* status = std::get_if<int>(&served)) cccl_cache::standin::EndAs(*status);
}

/// Returns the path of a program as a shell finds it.
std::string Find(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (std::string& path : cccl_cache::standin::Candidates(std::string(Variable("PATH")), name)) {
    if (cccl_cache::standin::IsExecutable(path)) return std::move(path);
  }
  return name;
}

}  // namespace

/// libcccl_cache_exec.so starts this program as "cccl-cache-nvcc --for TOOL NAME ARGUMENT...".
/// Build systems start it as "cccl-cache-nvcc NVCC ARGUMENT...". Otherwise it was started through a
/// link with nvcc's name, and all arguments are for nvcc.
int main(int count, char** arguments) {
  std::string started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  bool is_named = false;
  if (count > 3 && std::string_view(arguments[1]) == "--for") {
    started = arguments[2];
    arguments += 3;
    count -= 3;
  } else if (started.substr(started.rfind('/') + 1) == kName) {
    if (count < 2 || arguments[1][0] == '-') {
      std::fprintf(stderr, "usage: %s NVCC ARGUMENT..., such as %s nvcc -c a.cu\n", kName, kName);
      return EXIT_FAILURE;
    }
    is_named = true;
    started = Find(arguments[1]);
    ++arguments;
    --count;
  }
  auto tool = RealTool::Find(started, std::string(Variable("PATH")));
  if (!tool) {
    const std::string way_out =
        is_named ? "name nvcc by its path, or put its directory into PATH"
                 : "make a link " + started + ".real to it, or put its directory into PATH";
    std::fprintf(stderr, "%s: no nvcc for %s was found: %s\n", kName, started.c_str(),
                 way_out.c_str());
    return cccl_cache::standin::kCantStart;
  }
  tool = tool->AsCalled(started);
  if (cccl_cache::standin::StandardDescriptorsOpen() && tool->Look()) {
    const Words words(arguments, arguments + count);
    // A question is not counted: its refusal would be the first one in the report.
    if (!IsQuestion(words)) {
      ServeCounted(*tool, started, cccl_cache::standin::FactsOfThisUser(), words, arguments);
    }
  }
  tool->Replace(arguments);
  std::fprintf(stderr, "%s: %s can't be started\n", kName, started.c_str());
  return cccl_cache::standin::kCantStart;
}
