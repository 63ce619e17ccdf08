// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <utility>

#include "base/files/file_size_limit.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {

uint64_t Forwarded(const RunCounts& counts) {
  return std::accumulate(counts.forwarded.begin(), counts.forwarded.end(), uint64_t{0});
}

std::string SecondsText(uint64_t microseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f s", microseconds < 1'000'000 ? 3 : 1,
                static_cast<double>(microseconds) / 1e6);
  return text;
}

namespace {

namespace fs = std::filesystem;
using interpose::kReasonNames;
using interpose::ProcessCounts;

constexpr const char* kPrefix = "cccl-cache: ";

std::string TextOf(const std::string& text) { return text; }
template <size_t kSize>
std::string TextOf(const char (&text)[kSize]) {
  return Printable({text, strnlen(text, kSize)});
}

/// Adds the counts of a process, or of one library in it, to `sum`. Of the texts, `sum` keeps the
/// first one of each kind.
template <typename Counts>
void Add(const Counts& counts, RunCounts* sum) {
  sum->calls += counts.calls;
  sum->hits += counts.hits;
  sum->joined += counts.joined;
  sum->compiled += counts.compiled;
  sum->failed += counts.failed;
  sum->call_us += counts.call_us;
  sum->forwarded_us += counts.forwarded_us;
  sum->saved_us += counts.saved_us;
  sum->uncacheable += counts.uncacheable;
  sum->precompiled_headers += counts.precompiled_headers;
  if (sum->refusal.empty()) sum->refusal = TextOf(counts.refusal);
  if (sum->unknown_library.empty()) sum->unknown_library = TextOf(counts.unknown_library);
  if (sum->uncacheable_reason.empty()) sum->uncacheable_reason = TextOf(counts.uncacheable_reason);
  for (size_t i = 0; i < sum->forwarded.size(); ++i) sum->forwarded[i] += counts.forwarded[i];
}

/// The processes of a run by their pid and RunCounts::step_of: the kernel gives a pid again.
using Processes = std::map<std::pair<int, int>, RunCounts>;

/// Adds the counts in a file to those of its process. Ignores a file that the process has not fully
/// written, and a file of another version.
void AddFile(const fs::path& path, Processes* processes) {
  alignas(ProcessCounts) char bytes[sizeof(ProcessCounts)];
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes, sizeof(bytes))) return;
  const auto& read = *reinterpret_cast<const ProcessCounts*>(bytes);
  if (read.version != ProcessCounts::kVersion || read.calls == 0) return;
  // One process may have several files, one for each stand-in library in it.
  RunCounts& process = (*processes)[{read.pid, read.step_of}];
  process.pid = read.pid;
  process.program = TextOf(read.program);
  process.step_of = read.step_of;
  Add(read, &process);
}

bool IsStep(const RunCounts& process) { return process.step_of != 0; }

/// Returns the sum over the steps of runs of nvcc, or over all other processes.
RunCounts Sum(const std::vector<RunCounts>& processes, bool of_steps = false) {
  RunCounts sum;
  for (const RunCounts& each : processes) {
    if (IsStep(each) == of_steps) Add(each, &sum);
  }
  return sum;
}

std::string Milliseconds(uint64_t microseconds) {
  return Fixed(static_cast<double>(microseconds) / 1000, "ms");
}

/// Returns text such as ", saved about 12.3 s", or "" if no time was saved.
std::string Saved(const RunCounts& counts) {
  return counts.saved_us == 0 ? "" : ", saved about " + SecondsText(counts.saved_us);
}

/// Returns text such as " (2 uncacheable)", or "" if there were no uncacheable results.
std::string Uncacheable(const RunCounts& counts) {
  if (counts.uncacheable == 0) return "";
  return " (" + std::to_string(counts.uncacheable) + " uncacheable)";
}

/// Returns text such as "daemon full: 2, call not served: 1", or "" if no call was forwarded to the
/// real library.
std::string Reasons(const RunCounts& counts) {
  std::string reasons;
  for (size_t i = 0; i < kReasonNames.size(); ++i) {
    if (counts.forwarded[i] == 0) continue;
    reasons += (reasons.empty() ? "" : ", ") + std::string(kReasonNames[i]) + ": " +
               std::to_string(counts.forwarded[i]);
  }
  return reasons;
}

/// Returns text such as " (daemon full: 1; 20.0 ms); first request not served: ...", or "" if no
/// call was forwarded to the real library.
std::string WhyForwarded(const RunCounts& counts) {
  const std::string reasons = Reasons(counts);
  if (reasons.empty()) return "";
  return " (" + reasons + "; " + Milliseconds(counts.forwarded_us) + ")" +
         (counts.refusal.empty() ? "" : "; first request not served: " + counts.refusal);
}

/// Returns text such as ", 12 of them with precompiled headers", or "" if no compile used them.
std::string WithHeaders(const RunCounts& counts) {
  if (counts.precompiled_headers == 0) return "";
  return ", " + std::to_string(counts.precompiled_headers) + " of them with precompiled headers";
}

std::string Line(const RunCounts& counts) {
  return Many(counts.calls, "compile") + " in " + Milliseconds(counts.call_us) + Saved(counts) +
         ": " + Many(counts.hits, "hit") + ", " + std::to_string(counts.joined) + " joined, " +
         std::to_string(counts.compiled) + " compiled" + Uncacheable(counts) + WithHeaders(counts) +
         ", " + std::to_string(counts.failed) + " failed, " + std::to_string(Forwarded(counts)) +
         " forwarded" + WhyForwarded(counts) +
         (counts.uncacheable == 0 ? "" : "; first uncacheable: " + counts.uncacheable_reason);
}

/// Returns text such as "4 of 4 compiles".
std::string OfAll(uint64_t count, const RunCounts& counts) {
  return std::to_string(count) + " of " + Many(counts.calls, "compile");
}

/// Returns text such as "3 of 4 compiles were hits".
std::string HitsOfAll(const RunCounts& counts) {
  const bool one = counts.hits == 1 || counts.calls == 1;
  return OfAll(counts.hits, counts) + (one ? " was a hit" : " were hits");
}

/// Returns the same as Reasons(), but without the number if there is only one reason.
std::string ShortReasons(const RunCounts& counts) {
  const std::string reasons = Reasons(counts);
  return reasons.find(", ") == std::string::npos ? reasons.substr(0, reasons.find(':')) : reasons;
}

/// Returns a sentence about the outcomes, such as "31 of 48 compiles were hits (saved about 18.4
/// s), 15 compiled, 2 not served (call not served): 9.4 s in all.".
std::string HowTheyEnded(const RunCounts& counts) {
  std::string text = HitsOfAll(counts);
  if (counts.saved_us > 0) text += " (saved about " + SecondsText(counts.saved_us) + ")";
  const uint64_t forwarded = Forwarded(counts);
  const uint64_t ended = counts.hits + counts.joined + counts.compiled + counts.failed + forwarded;
  const auto add = [&text](uint64_t count, const std::string& how) {
    if (count > 0) text += ", " + std::to_string(count) + " " + how;
  };
  add(counts.joined, "joined");
  add(counts.compiled, "compiled" + Uncacheable(counts) + WithHeaders(counts));
  add(counts.failed, "failed");
  add(forwarded, "not served (" + ShortReasons(counts) + ")");
  if (counts.calls > ended) add(counts.calls - ended, "not finished");
  return text + ": " + SecondsText(counts.call_us) + " in all.";
}

/// Returns a sentence that tells whether the daemon has served the program's compiles.
std::string Verdict(const RunCounts& counts) {
  if (counts.calls == 0) {
    return "this program compiled nothing that `run` serves: NVRTC, nvJitLink and libNVVM in "
           "shared libraries, nvcc, ptxas, tileiras";
  }
  if (Forwarded(counts) == counts.calls) {
    return "not cached: " + OfAll(counts.calls, counts) + " (" + SecondsText(counts.call_us) +
           "): " + ShortReasons(counts) + ".";
  }
  if (counts.hits == counts.calls) {
    return HitsOfAll(counts) + ": " + SecondsText(counts.call_us) +
           (counts.saved_us == 0
                ? ""
                : " in place of " + SecondsText(counts.call_us + counts.saved_us)) +
           ".";
  }
  if (counts.compiled < counts.calls) return HowTheyEnded(counts);
  return std::to_string(counts.compiled) + " compiled (" + SecondsText(counts.call_us) +
         WithHeaders(counts) + ")" +
         (counts.uncacheable == 0
              ? counts.compiled == 1 ? ". The next run finds it." : ". The next run finds them."
          : counts.uncacheable == counts.compiled
              ? ", and may not be kept."
              : Uncacheable(counts) + ". The next run finds the others.");
}

/// Returns the role of the verdict: a warning if a call was not served.
Role RoleOf(const RunCounts& counts) {
  if (counts.calls == 0 || Forwarded(counts) > 0) return Role::kWarning;
  return counts.hits + counts.joined > 0 ? Role::kGood : Role::kPlain;
}

/// Returns the advice for the problems that occurred, one per line, or "" if there was no problem.
std::string WaysOut(const RunCounts& counts, const Advisor& advisor) {
  if (counts.calls == 0) {
    return "  because its kernels are compiled ahead or in a cache of its own, or NVRTC is linked "
           "statically, or it is set-uid\n";
  }
  std::string text;
  if (counts.forwarded[static_cast<size_t>(interpose::Reason::kNoDaemon)] > 0) {
    if (const std::string why = advisor.no_daemon(); !why.empty()) text += "  " + why + "\n";
  }
  if (!counts.refusal.empty()) {
    const bool all = Forwarded(counts) == counts.calls;
    text += (all ? "  " : "  first request not served: ") + counts.refusal + "\n";
  }
  if (counts.uncacheable > 0) text += "  first uncacheable: " + counts.uncacheable_reason + "\n";
  return text;
}

}  // namespace

Expected<RunReport> RunReport::Make() {
  if (!MayMakeFile(sizeof(ProcessCounts))) {
    return Error{CCCL_CACHE_UNAVAILABLE, "this process may write no files (ulimit -f)"};
  }
  Expected<TemporaryDirectory> directory = TemporaryDirectory::Make();
  if (!directory.ok()) return directory.error();
  return RunReport(*std::move(directory));
}

std::vector<RunCounts> RunReport::Read(const Advisor& advisor) const {
  Processes processes;
  std::map<std::string, std::string> told;  // advice by the path of the unknown library
  std::error_code error;
  for (const fs::directory_entry& each : fs::directory_iterator(directory(), error)) {
    AddFile(each.path(), &processes);
  }
  std::vector<RunCounts> list;
  for (auto& [name, counts] : processes) {
    if (counts.refusal.empty() && !counts.unknown_library.empty()) {
      std::string& text = told[counts.unknown_library];
      if (text.empty()) text = Printable(advisor.unknown_library(counts.unknown_library));
      counts.refusal = text;
    }
    const auto run = processes.lower_bound({counts.step_of, 0});
    if (run == processes.end() || run->first.first != counts.step_of) counts.step_of = 0;
    list.push_back(std::move(counts));
  }
  return list;
}

std::string RunReport::Text(bool each, const Advisor& advisor, bool coloured) const {
  const std::vector<RunCounts> processes = Read(advisor);
  const RunCounts sum = Sum(processes);
  const RunCounts steps = Sum(processes, true);
  std::string text = kPrefix + Painted(Verdict(sum), RoleOf(sum), coloured) + "\n";
  if (steps.hits > 0) text += "  of the steps of nvcc, " + HitsOfAll(steps) + "\n";
  text += WaysOut(sum, advisor);
  if (!each || processes.empty()) return text;
  const auto line = [](const RunCounts& one) {
    return one.program + " " + std::to_string(one.pid) + ": " + Line(one) + "\n";
  };
  size_t runs = 0;
  for (const RunCounts& one : processes) {
    if (IsStep(one)) continue;
    ++runs;
    text += kPrefix + line(one);
    for (const RunCounts& step : processes) {
      if (step.step_of == one.pid) text += kPrefix + ("  its step " + line(step));
    }
  }
  return text + kPrefix + "processes with compiles: " + std::to_string(runs) + "; " + Line(sum) +
         "\n";
}

std::string RunReport::Json(bool each, const Advisor& advisor) const {
  const std::vector<RunCounts> processes = Read(advisor);
  JsonWriter json = BeginAnswer();
  WriteCounts(Sum(processes), &json);
  json.Fields("process_count",
              processes.size() - static_cast<size_t>(std::ranges::count_if(processes, IsStep)));
  json.Key("steps").BeginObject();
  WriteCounts(Sum(processes, true), &json);
  json.EndObject();
  if (each) {
    json.Key("processes").BeginArray();
    for (const RunCounts& one : processes) {
      json.BeginObject().Fields("pid", one.pid, "program", one.program, "step_of", one.step_of);
      WriteCounts(one, &json);
      json.EndObject();
    }
    json.EndArray();
  }
  return json.EndObject().Finish();
}

RunCounts RunReport::Total(const Advisor& advisor) const { return Sum(Read(advisor)); }

std::string DescribeMisses(const RunCounts& counts, const Advisor& advisor) {
  if (counts.calls > 0 && counts.hits == counts.calls) return "";
  if (counts.calls == 0 || Forwarded(counts) == counts.calls) {
    return Verdict(counts) + "\n" + WaysOut(counts, advisor);
  }
  return HowTheyEnded(counts) + "\n" + WaysOut(counts, advisor);
}

void WriteCounts(const RunCounts& counts, JsonWriter* json) {
  json->Fields("calls", counts.calls, "hits", counts.hits, "joined", counts.joined, "compiled",
               counts.compiled, "failed", counts.failed, "call_us", counts.call_us, "forwarded_us",
               counts.forwarded_us, "saved_us", counts.saved_us, "refusal", counts.refusal,
               "uncacheable", counts.uncacheable, "uncacheable_reason", counts.uncacheable_reason,
               "precompiled_headers", counts.precompiled_headers);
  json->Key("forwarded").BeginObject();
  for (size_t i = 0; i < kReasonNames.size(); ++i)
    json->Fields(kReasonNames[i], counts.forwarded[i]);
  json->EndObject();
}

}  // namespace cccl_cache::cli
