// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/build_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <variant>

#include "daemon/core/closure/path_uses.h"
#include "daemon/core/closure/source_scan.h"
#include "daemon/core/plan/roots.h"
#include "proto/fingerprint.h"
#include "proto/options/options.h"

namespace cccl_cache::daemon {
namespace {

// Returns whether the client's options include this one. The daemon adds some options that the
// client does not pass.
bool Names(const std::vector<ParsedOption>& options, std::string_view option) {
  return std::any_of(options.begin(), options.end(), [&](const ParsedOption& parsed) {
    return std::string_view(parsed.canonical).starts_with(option);
  });
}

// Calls `visit` with every text of the request that the preprocessor reads. Options count too,
// because a -D defines text.
void EachText(const NvrtcProgram& program, const std::vector<ParsedOption>& options,
              const std::function<void(std::string_view)>& visit) {
  visit(program.source);
  for (const InlineHeader& header : program.headers) visit(header.contents);
  for (const ParsedOption& option : options) visit(option.canonical);
  for (const std::string& expression : program.name_expressions) visit(expression);
}

// In the functions below, `set` has the traits of the program's header set.
NameParts PartsOf(const NvrtcProgram& program, const std::vector<ParsedOption>& options,
                  const HeaderSetTraits& set) {
  NameParts parts = set.parts;
  EachText(program, options, [&](std::string_view text) { parts |= PartsIn(text); });
  return parts;
}

PathUses UsesIn(const NvrtcProgram& program, const std::vector<ParsedOption>& options,
                const HeaderSetTraits& set) {
  constexpr std::string_view kDefine = "--define-macro=";
  PathUses uses = set.uses;
  EachText(program, options, [&](std::string_view text) {
    if (text.starts_with(kDefine)) {
      uses |= PathUsesIn(fmt::format("#define {}", text.substr(kDefine.size())), false);
    } else {
      uses |= PathUsesIn(text, false);
    }
  });
  return uses;
}

struct RequestTraits {
  TextTraits written;  // names that a text contains as a whole
  TextTraits pasted;   // names that the preprocessor can paste (##) together from parts

  [[nodiscard]] bool path_token() const { return written.path_token || pasted.path_token; }
};

RequestTraits TraitsOf(const BuildRequest& request, const std::vector<ParsedOption>& options,
                       const HeaderSetTraits& set) {
  RequestTraits traits{.written = set.written};
  const auto* program = std::get_if<NvrtcProgram>(&request.program);
  if (program == nullptr) return traits;
  TextTraits& written = traits.written;
  EachText(*program, options, [&](std::string_view text) { Merge(ScanText(text), &written); });
  if (written.assertion && !written.path_token) {
    written.path_token = UsesIn(*program, options, set).ShowMoreThanText();
  }
  if (written.may_paste) traits.pasted = PastedNames(PartsOf(*program, options, set));
  return traits;
}

std::string UncacheableReason(const std::vector<ParsedOption>& options,
                              const RequestTraits& traits) {
  for (const ParsedOption& option : options) {
    if (option.rule != nullptr && option.rule->effect == OptionEffect::kUncacheable) {
      return fmt::format("option {}: {}", option.canonical, option.rule->reason);
    }
  }
  if (!traits.written.time_token.empty()) {
    return fmt::format(
        "the output can hold the time: {} is in the source, an inline header or an option",
        traits.written.time_token);
  }
  if (traits.pasted.time_token.empty()) return {};
  return fmt::format(
      "the output can hold the time: {} can be pasted (##) together from the source, "
      "an inline header or an option",
      traits.pasted.time_token);
}

bool ShowPaths(const std::vector<ParsedOption>& options) {
  return std::ranges::any_of(options, [](const ParsedOption& option) {
    return option.rule != nullptr && option.rule->shows_paths;
  });
}

bool AddsSeed(const std::vector<ParsedOption>& parsed, const Capabilities& capabilities) {
  return capabilities.random_seed && !Names(parsed, "-frandom-seed");
}

bool NamesScratch(const ParsedOption& option) {
  return option.rule != nullptr && option.rule->names_scratch;
}

// Returns whether the library contains headers. An older one refuses the option for them.
bool ContainsHeaders(const Toolchain& toolchain) {
  return std::pair(toolchain.major, toolchain.minor) >= std::pair(13, 3);
}

// Refuses an option for bundled headers of which the key can't leave out the value: an older
// library names the directory in its error message, and a directory in which the compiler also
// searches would have the headers at another place of the order.
Status CheckScratch(const std::vector<ParsedOption>& parsed, const BuildRequest& request,
                    const Toolchain& toolchain, const std::vector<Root>& roots) {
  const auto option = std::ranges::find_if(parsed, NamesScratch);
  if (option == parsed.end()) return Ok{};
  const auto refuse = [&](std::string_view reason) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("option {}: {}", option->rule->name, reason)};
  };
  if (!ContainsHeaders(toolchain)) {
    return refuse("the toolchain's NVRTC contains no headers (13.3 and later do); leave it out");
  }
  if (HoldsRoot(option->value, request.working_directory, roots)) {
    return refuse("the compiler also searches the directory for another reason; name an own one");
  }
  return Ok{};
}

// Returns the compiler's options: first the options that the daemon adds, then the client's. The
// toolchain's header directories come directly after the client's last -I. After the client's last
// option they could become its value, if that option lacks one.
std::vector<std::string> CompilerOptions(const std::vector<ParsedOption>& parsed,
                                         const std::vector<Root>& roots,
                                         const Capabilities& capabilities) {
  std::vector<std::string> options;
  if (AddsSeed(parsed, capabilities)) options.emplace_back("-frandom-seed=");
  if (capabilities.no_cache && !Names(parsed, "--no-cache")) options.push_back("--no-cache");
  size_t end_of_directories = options.size();
  size_t root = 1;
  for (const ParsedOption& option : parsed) {
    const bool directory = option.rule != nullptr && option.rule->names_directory;
    if (NamesScratch(option)) {
      // NVRTC searches these two directories at the place of the option.
      options.push_back(fmt::format("--include-path={}", kBundledDirectory));
      options.push_back(fmt::format("--include-path={}/cccl", kBundledDirectory));
    } else {
      options.push_back(directory
                            ? fmt::format("{}={}", option.rule->name, roots[root++].for_compiler)
                            : option.canonical);
    }
    if (directory) end_of_directories = options.size();
  }
  std::vector<std::string> appended;
  for (; root < roots.size(); ++root) {
    appended.push_back(fmt::format("--include-path={}", roots[root].for_compiler));
  }
  options.insert(options.begin() + static_cast<ptrdiff_t>(end_of_directories), appended.begin(),
                 appended.end());
  return options;
}

// Returns the hash of the user, the view of the file system, and the directories of the plan.
// `first_root` is the number of the first root that is covered.
Digest ViewOf(const BuildPlan& plan, size_t first_root) {
  Hasher hasher;
  hasher.AppendValue("uid", plan.uid);
  hasher.AppendValue("working directory", plan.directories.working_directory);
  for (size_t i = first_root; i < plan.directories.roots.size(); ++i) {
    hasher.AppendValue("root", plan.directories.roots[i]);
  }
  if (const auto& view = plan.directories.view) {
    hasher.AppendValue("mount namespace", view->mount_namespace);
    hasher.AppendValue("root's device", view->root_device);
    hasher.AppendValue("root's inode", view->root_inode);
    hasher.AppendValue("root's mount", view->root_mount);
  }
  return hasher.Finish();
}

Digest FlightOf(const BuildPlan& plan) {
  if (plan.job.request->kind() != BuildKind::kNvrtc) return plan.fingerprint;
  Hasher hasher;
  hasher.AppendValue("fingerprint", plan.fingerprint.View());
  hasher.AppendValue("headers", plan.job.toolchain->contents->Find("")->View());
  return hasher.Finish();
}

// Returns for each root the number of the first root that is the same directory. The fingerprint
// covers this, because compilers notice equal directories. None if all directories differ.
std::optional<std::vector<size_t>> TwinRoots(const std::vector<Root>& roots) {
  std::vector<size_t> first;
  bool any = false;
  for (const Root& root : roots) {
    const auto same = std::ranges::find(roots, root.mount.target,
                                        [](const Root& each) { return each.mount.target; });
    first.push_back(static_cast<size_t>(same - roots.begin()));
    any = any || (first.back() + 1 != first.size() && !root.mount.target.empty());
  }
  if (!any) return std::nullopt;
  return first;
}

void PlanNvrtc(const std::vector<ParsedOption>& parsed, const PlanOptions& options,
               const RequestTraits& traits, BuildPlan* plan, std::vector<Root>* roots) {
  const BuildRequest& request = *plan->job.request;
  const auto& program = std::get<NvrtcProgram>(request.program);
  plan->path_dependent = options.force_path_dependent || traits.path_token() || ShowPaths(parsed);
  const bool elsewhere =
      request.files_view && options.own_view && *request.files_view != *options.own_view;
  *roots = LayOutRoots(request, parsed, *plan->job.toolchain, {plan->path_dependent, elsewhere});

  CompileJob& job = plan->job;
  plan->bundled_headers = std::ranges::any_of(parsed, NamesScratch);
  job.bundled_headers = plan->bundled_headers;
  job.options = CompilerOptions(parsed, *roots, job.toolchain->capabilities);
  plan->seed_missing = AddsSeed(parsed, job.toolchain->capabilities);
  const std::string_view name = ProgramName(program);
  if (plan->path_dependent) {
    job.program_name = name;
    job.visible_working_directory =
        request.working_directory.empty() ? "/" : request.working_directory;
  } else {
    job.program_name =
        fmt::format("{}/{}", roots->front().mount.visible, name.substr(name.rfind('/') + 1));
    job.visible_working_directory = kCanonicalWorkingDirectory;
  }
  if (!request.working_directory.empty() || !plan->path_dependent) {
    plan->visible_roots.push_back({job.visible_working_directory, kWorkingDirectoryRoot});
  }
  for (const Root& root : *roots) {
    const auto number = static_cast<uint32_t>(plan->directories.roots.size());
    plan->client_prefixes.push_back(root.client_prefix);
    plan->directories.roots.push_back(root.mount.target);
    plan->includes_outside = plan->includes_outside || (number > 0 && !root.mount.trusted);
    if (!root.mount.visible.empty()) plan->visible_roots.push_back({root.mount.visible, number});
    if (root.mount.trusted || !plan->path_dependent) job.mounts.push_back(root.mount);
  }
}

Error HasNul(std::string_view what, size_t at) {
  return {ErrorCode::kInvalidRequest,
          fmt::format("{} has a NUL byte at offset {}; NVRTC would read it only up to there, "
                      "so send text without one",
                      what, at)};
}

// NVRTC appends the words of kAppendFlags to the options of every compile if the variable kSwitch
// has the value kSwitchedOn (12.9 and 13.0).
constexpr std::string_view kAppendFlags = "NVRTC_APPEND_FLAGS";
constexpr std::string_view kSwitch = "NVRTCWIZ";
constexpr std::string_view kSwitchedOn = "3153394";

}  // namespace

Result<BuildPlan> PlanBuild(std::shared_ptr<const BuildRequest> request, ToolchainPtr toolchain,
                            const PlanOptions& options) {
  const BuildKind kind = request->kind();
  if (const Status texts = CheckTexts(*request); !texts) return texts.error();
  auto outcome = ParseOptions(kind, OptionsOf(*request));
  if (const auto* refused = std::get_if<RefusedOption>(&outcome)) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("option {}: {}", refused->option, refused->reason)};
  }
  BuildPlan plan;
  plan.options = std::get<std::vector<ParsedOption>>(std::move(outcome));
  const std::vector<ParsedOption>& parsed = plan.options;
  plan.uid = options.uid;
  plan.job.toolchain = toolchain;
  plan.job.request = request;
  plan.directories.working_directory = request->working_directory;
  plan.directories.view = request->files_view;
  plan.directories.toolchain = toolchain->contents;
  const auto* program = std::get_if<NvrtcProgram>(&request->program);
  if (program != nullptr && program->header_set != nullptr) {
    plan.header_set = options.header_set;
    if (!plan.header_set) {
      if (const Status there = CheckHeaderSet(*request); !there) return there.error();
      plan.header_set = TraitsOf(*program->header_set);
    }
    if (const auto& nul = plan.header_set->nul) {
      return HasNul(fmt::format("the header \"{}\" of nvrtc.header_set_sha256", nul->header),
                    nul->offset);
    }
  }
  const RequestTraits traits =
      TraitsOf(*request, parsed, plan.header_set.value_or(HeaderSetTraits()));
  plan.uncacheable_reason = UncacheableReason(parsed, traits);
  plan.base_name_token = traits.written.base_name_token || traits.pasted.base_name_token;
  plan.function_token = traits.written.function_token || traits.pasted.function_token;
  std::vector<Root> roots;
  if (kind == BuildKind::kNvrtc) {
    PlanNvrtc(parsed, options, traits, &plan, &roots);
    if (const Status scratch = CheckScratch(parsed, *request, *toolchain, roots); !scratch) {
      return scratch.error();
    }
  } else {
    plan.job.visible_working_directory = kCanonicalWorkingDirectory;
    for (const ParsedOption& option : parsed) plan.job.options.push_back(option.canonical);
  }
  for (Root& root : roots) plan.fingerprint_roots.push_back(std::move(root.fingerprint));
  plan.fingerprint = Fingerprint({*request, toolchain->Library(kind)->id, parsed,
                                  plan.fingerprint_roots, plan.path_dependent});
  if (const auto twins = TwinRoots(roots)) {
    plan.fingerprint = FingerprintWithTwins(plan.fingerprint, *twins);
  }
  plan.key = KeyWithoutClosure(plan.fingerprint);
  plan.flight = FlightOf(plan);
  return plan;
}

Digest BuildPlan::View() const { return ViewOf(*this, 0); }

Digest BuildPlan::ViewBesideProgram() const { return ViewOf(*this, 1); }

void AddSeed(const BuildPlan& plan, CompileJob* job) {
  if (!plan.seed_missing) return;
  const auto& program = std::get<NvrtcProgram>(plan.job.request->program);
  job->options.front() += RandomSeed(program, plan.options);
}

PathUses PathUsesOf(const BuildPlan& plan) {
  const auto* program = std::get_if<NvrtcProgram>(&plan.job.request->program);
  if (program == nullptr) return {};
  return UsesIn(*program, plan.options, plan.header_set.value_or(HeaderSetTraits()));
}

std::vector<std::string> OptionsOf(const BuildRequest& request) {
  if (const auto* link = std::get_if<LinkProgram>(&request.program)) {
    return link->options;
  }
  if (const auto* nvvm = std::get_if<NvvmProgram>(&request.program)) {
    return nvvm->options;
  }
  const auto& program = std::get<NvrtcProgram>(request.program);
  std::vector<std::string> options = program.options;
  const bool on = std::ranges::any_of(program.environment, [](const auto& variable) {
    return variable.name == kSwitch && variable.value == kSwitchedOn;
  });
  for (const auto& [name, value] : program.environment) {
    if (on && name == kAppendFlags) AppendWords(value, &options);
  }
  return options;
}

Status CheckHeaderSet(const BuildRequest& request) {
  const auto* program = std::get_if<NvrtcProgram>(&request.program);
  if (program == nullptr || program->header_set == nullptr) return Ok{};
  const HeaderSet& set = *program->header_set;
  if (set.has_contents()) return Ok{};
  return Error{ErrorCode::kUploadNeeded,
               fmt::format("nvrtc.header_set_sha256: this user has no upload {}, or it was "
                           "forgotten: upload it again",
                           set.digest.Hex())};
}

Status CheckTexts(const BuildRequest& request) {
  const auto* program = std::get_if<NvrtcProgram>(&request.program);
  if (program == nullptr) return Ok{};
  if (const size_t at = program->source.find('\0'); at != program->source.npos) {
    return HasNul("nvrtc.source", at);
  }
  for (const InlineHeader& header : program->headers) {
    if (const size_t at = header.contents.find('\0'); at != header.contents.npos) {
      return HasNul(fmt::format("nvrtc.headers[\"{}\"]", header.name), at);
    }
  }
  return Ok{};
}

}  // namespace cccl_cache::daemon
