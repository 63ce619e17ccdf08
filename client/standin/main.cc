// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The program cccl-cache-ptxas. Programs find it in place of ptxas, nvlink or tileiras, and nvcc
// in place of cudafe++, cicc and the compiler of its host code. It runs the real tool and stores
// the output in the daemon, or writes an output that the daemon has stored. If a command line or
// environment is not fully understood, it replaces itself by the real tool (exec).
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/regular_file.h"
#include "base/files/user_cache.h"
#include "base/files/whole_file.h"
#include "client/interpose/group.h"
#include "client/interpose/report.h"
#include "client/interpose/wait.h"
#include "client/standin/command_line.h"
#include "client/standin/fresh_directory.h"
#include "client/standin/host_compile.h"
#include "client/standin/kept_run.h"
#include "client/standin/line_table.h"
#include "client/standin/module_id.h"
#include "client/standin/output_file.h"
#include "client/standin/process.h"
#include "client/standin/real_tool.h"
#include "client/standin/run_memory.h"

namespace {

using cccl_cache::Acquired;
using cccl_cache::Client;
using cccl_cache::ClientOptions;
using cccl_cache::Deposit;
using cccl_cache::DepositKey;
using cccl_cache::Digest;
using cccl_cache::Lease;
using cccl_cache::ReadRegular;
using cccl_cache::Sha256;
using cccl_cache::TakesFile;
using cccl_cache::UserCache;
using cccl_cache::WriteAll;
using cccl_cache::WriteOutput;
using cccl_cache::interpose::CountedCall;
using cccl_cache::interpose::Counts;
using cccl_cache::interpose::CountUncacheable;
using cccl_cache::interpose::Reason;
using cccl_cache::interpose::RunGroup;
using cccl_cache::interpose::RunWaitEnd;
using cccl_cache::interpose::WaitForEqualRun;
using namespace cccl_cache::standin;  // NOLINT: the program's own
using Clock = std::chrono::steady_clock;

/// Reads all files. Returns none if one is not a regular file or can't be read.
std::optional<std::vector<std::string>> ReadFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = ReadRegular(path);
    if (!text) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return texts;
}

/// Returns the digests of the inputs for the key, for a compiler driver also of the preprocessed
/// text. None if one can't be read or can't be stored.
std::optional<std::string> DigestInputs(const RealTool& tool, const ToolRun& run,
                                        const Words& words) {
  auto texts = ReadFiles(run.inputs);
  if (!texts) return std::nullopt;
  // cicc reads a module id second. No other run has this one.
  const bool reads_own_id =
      run.links_device_code && texts->size() > 1 && HasProcessNumber(texts->at(1));
  if (reads_own_id) return std::nullopt;
  if (run.tool->shows_times && GivesTimes(texts->front())) return std::nullopt;
  if (run.tool->drives) {
    auto text = Preprocess(tool, words);
    if (!text) return std::nullopt;
    texts->push_back(*std::move(text));
  }
  std::string digests;
  for (std::string& text : *texts) {
    const auto hidden = run.Hide(std::move(text));
    if (!hidden) return std::nullopt;
    digests.append(Sha256(*hidden).View());
  }
  return digests;
}

/// Returns the directory whose name a run's input has in the names of files only.
std::optional<FreshDirectory> FreshDirectoryOf(const ToolRun& run) {
  if (!run.tool->shows_times || !run.shown_paths.empty()) return std::nullopt;
  const auto text = ReadRegular(run.inputs.front());
  auto fresh = text ? FreshDirectory::InPtx(*text) : std::nullopt;
  const bool fits = fresh && fresh->IsInFilesOnly(*text) && !fresh->HasSibling(*text) &&
                    !fresh->IsIn(run.options);
  return fits ? fresh : std::nullopt;
}

/// Returns whether equal runs may have this output, although each real run makes another module id.
bool FitsEveryRun(const ToolRun& run, const std::vector<std::string>& files) {
  if (!run.module_id || !HasProcessNumber(files[*run.module_id])) return true;
  return !run.links_device_code && std::ranges::all_of(files, [&](const std::string& file) {
    return IsLocal(files[*run.module_id], file);
  });
}

/// Writes the stored output files and logs. Returns false if that fails.
bool Replay(const KeptRun& kept, const ToolRun& run) {
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const bool replaced = run.tool->drives;  // an assembler writes it
    if (!WriteOutput(run.outputs[i], kept.files[i], replaced, /*executable=*/false)) return false;
  }
  return WriteAll(STDOUT_FILENO, kept.out) && WriteAll(STDERR_FILENO, kept.err);
}

/// Answers a run with `--version` and ends this process. Returns if the real tool must answer
/// instead.
void ServeVersion(const RealTool& tool, const RealTool::Stamp& stamp, const UserCache& facts,
                  char** arguments) {
  if (!stamp.proves) return;
  const std::string fact = "version-" + stamp.digest.Hex();
  const auto sealed = [](std::string_view text) {
    return std::string(Sha256(text).View()).append(text);
  };
  if (const std::string kept = facts.Get(fact).value_or(""); kept.size() >= sizeof(Digest::bytes)) {
    const std::string text = kept.substr(sizeof(Digest::bytes));
    if (kept == sealed(text)) {
      if (WriteAll(STDOUT_FILENO, text)) _exit(EXIT_SUCCESS);
      return;
    }
  }
  const auto ending = tool.Run(arguments);
  if (!ending) return;
  if (ending->status == 0 && ending->err.empty() && tool.IsStill(stamp)) {
    facts.Put(fact, sealed(ending->out));
  }
  EndAs(ending->status);
}

/// The tool's status as from waitpid(), or the reason why the real tool must run without the cache.
using Served = std::variant<int, Reason>;

/// A run that the daemon does not answer with a stored output.
struct Miss {
  const RealTool& tool;
  const RealTool::Stamp& stamp;
  const ToolRun& run;
  const std::string& inputs;
  const DepositKey& key;
  const Words& words;
  const Clock::time_point begin;
};

std::optional<Ending> Run(const Miss& miss, const Client& client, char** arguments) {
  RunMemory memory(std::string(client.socket()), KindOf(miss.run), RunWaitEnd(miss.begin));
  return memory.Run(miss.tool, arguments);
}

/// Runs the tool and publishes its output in the daemon. If the output must not be stored, the
/// processes that wait for it run the tool themselves.
Served Make(const Miss& miss, Client* client, Lease* lease, char** arguments) {
  const ToolRun& run = miss.run;
  auto ending = Run(miss, *client, arguments);
  if (!ending) return Reason::kNotServed;
  std::optional<std::string> contents;
  if (ending->status == 0) {
    // The inputs are read and compared again: the tool read them later than this process did, and
    // they may have changed in between.
    auto files = ReadFiles(run.outputs);
    const bool fits = !files || FitsEveryRun(run, *files);
    if (!fits) CountUncacheable("each run of cudafe++ makes another module id, which linkers see");
    if (files && fits && DigestInputs(miss.tool, run, miss.words) == miss.inputs &&
        miss.tool.IsStill(miss.stamp)) {
      contents = KeptRun::Encode({*std::move(files), ending->out, ending->err}, run);
    }
  }
  if (contents) {
    const auto published = Publish(client, miss.key, lease, *contents);
    if (!published.ok()) CountUncacheable(published.error().message);
  } else {
    lease->Fail();
  }
  ++(ending->status == 0 ? Counts().compiled : Counts().failed);
  return ending->status;
}

/// Runs the tool while another process makes the same output, which this one may not wait for.
Served MakeBeside(const Miss& miss, Client* client, CountedCall* call, char** arguments) {
  call->Forward(Reason::kTooSlow);
  const auto ending = Run(miss, *client, arguments);
  return ending ? Served(ending->status) : Reason::kTooSlow;
}

/// Answers a run with the daemon's stored output. If there is none, runs the tool under the
/// daemon's lease.
Served Serve(const RealTool& tool, const UserCache& facts, const ToolRun& run, const Words& words,
             CountedCall* call, char** arguments) {
  const Environment environment = ReadEnvironment(*run.tool, environ);
  const auto inputs = DigestInputs(tool, run, words);
  if (environment.writes_more || !inputs || !std::ranges::all_of(run.outputs, TakesFile)) {
    return Reason::kNotServed;
  }
  const auto stamp = tool.Look();
  const auto identity = stamp ? tool.Identify(*stamp) : std::nullopt;
  if (!identity) return Reason::kNotServed;
  std::string place;
  if (!run.shown_paths.empty()) {
    char* directory = getcwd(nullptr, 0);
    if (directory == nullptr) return Reason::kNotServed;
    place = std::string(directory).append(1, '\0').append(run.shown_paths);
    free(directory);
  }
  auto client = Client::Open(ClientOptions{.fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return Reason::kNoDaemon;
  DepositKey key = KeyOf(*identity, run, *inputs, environment.part_of_key, place);
  key.group = RunGroup();
  const Miss miss{tool, *stamp, run, *inputs, key, words, Clock::now()};
  auto acquired = Ask(&*client, key, facts, WaitForEqualRun());
  if (const auto* why = std::get_if<Reason>(&acquired)) {
    return *why == Reason::kTooSlow ? MakeBeside(miss, &*client, call, arguments) : Served(*why);
  }
  Acquired& made = std::get<Acquired>(acquired);
  if (const auto* deposit = std::get_if<Deposit>(&made)) {
    const auto kept = KeptRun::Decode(deposit->contents(), run);
    if (!kept || !Replay(*kept, run)) return Reason::kNotServed;
    ++Counts().hits;
    return 0;
  }
  return Make(miss, &*client, &std::get<Lease>(made), arguments);
}

/// Returns the tool with the other files that it uses. None if these are not known. The options of
/// a compiler driver get the commands that it would start.
std::optional<RealTool> Whole(const RealTool& tool, const Words& words, ToolRun* run) {
  if (!run->tool->drives) return tool.With(*run->tool);
  auto plan = PlanOf(tool, words);
  auto commands = plan ? run->temporary_name.Hide(std::move(plan->commands)) : std::nullopt;
  if (!commands) return std::nullopt;
  run->options = Sha256(run->options.append(*commands)).View();  // they are long
  return tool.With(plan->programs);
}

/// Returns why a run is left to the tool. `is_known`: its command line is known, its files are not.
std::string WhyLeft(const Tool& tool, bool is_known) {
  if (!is_known) return "an option or a file that is not known";
  return tool.drives ? "its commands are not known; only those of GCC are"
                     : "a file of its installation is not known";
}

/// Counts a run of the tool for the report. Ends this process if the run was answered or made.
/// Returns if the real tool must replace this process.
void ServeCounted(const RealTool& tool, const Tool& known, const UserCache& facts,
                  const Words& words, char** arguments) {
  Served served = Reason::kNotServed;
  {
    CountedCall call;
    std::snprintf(Counts().program, sizeof(Counts().program), "%s", tool.name().c_str());
    auto run = ReadToolRun(known, words);
    if (run) run->fresh = FreshDirectoryOf(*run);
    const auto whole = run ? Whole(tool, words, &*run) : std::nullopt;
    if (whole) {
      served = Serve(*whole, facts, *run, words, &call, arguments);
    } else {
      cccl_cache::interpose::KeepRefusal(tool.name() + ": " + WhyLeft(known, run.has_value()));
    }
    if (const auto* reason = std::get_if<Reason>(&served)) call.Forward(*reason);
  }
  if (const auto* status = std::get_if<int>(&served)) EndAs(*status);
}

}  // namespace

/// libcccl_cache_exec.so starts this program as "cccl-cache-ptxas --for TOOL NAME ARGUMENT...".
/// Otherwise it was started through a link with the tool's name, and all arguments are for the
/// tool.
int main(int count, char** arguments) {
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (count > 3 && std::string_view(arguments[1]) == "--for") {
    started = arguments[2];
    arguments += 3;
    count -= 3;
  }
  const char* search = getenv("PATH");
  const auto tool = RealTool::Find(started, search == nullptr ? "" : search);
  if (!tool) {
    std::fprintf(stderr,
                 "%s: this is cccl-cached's stand-in, and the real tool was not found: make a link "
                 "%s.real to it, or put its directory behind this one in PATH\n",
                 started, started);
    return kCantStart;
  }
  const Words words(arguments, arguments + count);
  const auto stamp = tool->Look();
  if (stamp && StandardDescriptorsOpen()) {
    const UserCache facts = FactsOfThisUser();
    if (AsksForVersion(words)) {
      ServeVersion(*tool, *stamp, facts, arguments);
    } else if (const Tool* known = FindTool(tool->name(), words)) {
      ServeCounted(known->drives ? tool->AsCalled(started) : *tool, *known, facts, words,
                   arguments);
    }
  }
  tool->Replace(arguments);
  std::fprintf(stderr, "%s: the real tool can't be started\n", started);
  return kCantStart;
}
