// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/command_line.h"

#include <algorithm>
#include <optional>

#include "base/files/regular_file.h"
#include "client/standin/word_list.h"

namespace cccl_cache::nvcc {
namespace {

using standin::Has;
using standin::Words;

// The options of nvcc 12 and 13. In each list, every option has a space before and after it. Left
// out are options with which nvcc does not only compile or link (such as -run, -dryrun or -clean),
// leaves more files behind (such as -keep), or prints figures that differ in each run (-v, -time).

constexpr std::string_view kFlags =
    " --allow-unsupported-compiler -allow-unsupported-compiler --augment-host-linker-script "
    "-aug-hls "
    "--compile-as-tools-patch -astoolspatch --debug -g --device-debug -G --disable-warnings -w "
    "--display-error-number -err-no --dlink-time-opt -dlto --dont-use-profile -noprof "
    "--expt-extended-lambda -expt-extended-lambda --expt-relaxed-constexpr -expt-relaxed-constexpr "
    "--extended-lambda -extended-lambda --extensible-whole-program -ewp "
    "--extra-device-vectorization -extra-device-vectorization --fdevice-syntax-only "
    "-fdevice-syntax-only --forward-unknown-opts -forward-unknown-opts "
    "--forward-unknown-to-host-compiler -forward-unknown-to-host-compiler "
    "--forward-unknown-to-host-linker -forward-unknown-to-host-linker --gen-opt-lto -gen-opt-lto "
    "--generate-dependencies-with-compile -MD --generate-dependency-targets -MP "
    "--generate-line-info -lineinfo --generate-nonsystem-dependencies-with-compile -MMD "
    "--jobserver -jobserver --keep-device-functions -keep-device-functions --lto -lto "
    "--m64 -m64 --no-align-double --no-compress -no-compress --no-device-link -nodlink "
    "--no-display-error-number -no-err-no --no-exceptions -noeh --no-host-device-initializer-list "
    "-nohdinitlist --no-host-device-move-forward -nohdmoveforward --objdir-as-tempdir -objtemp "
    "--profile -pg --relocatable-ptx -reloc-ptx --resource-usage -res-usage --restrict -restrict "
    "--source-in-ptx -src-in-ptx --use-local-env -use-local-env --use_fast_math -use_fast_math "
    "--Wdefault-stream-launch -Wdefault-stream-launch --Wext-lambda-captures-this "
    "-Wext-lambda-captures-this --Wmissing-launch-bounds -Wmissing-launch-bounds "
    "--Wno-deprecated-declarations -Wno-deprecated-declarations --Wno-deprecated-gpu-targets "
    "-Wno-deprecated-gpu-targets --Wreorder -Wreorder ";

/// Options whose value is the next word, or follows a '='.
constexpr std::string_view kWithValue =
    " --archiver-binary -arbin --archive-options -Xarchive --brief-diagnostics -brief-diag "
    "--compiler-bindir -ccbin --compiler-options -Xcompiler --compress-mode -compress-mode "
    "--cudadevrt -cudadevrt --cudart -cudart --default-stream -default-stream --define-macro -D "
    "--dependency-output -MF --dependency-target-name -MT "
    "--device-entity-has-hidden-visibility -device-entity-has-hidden-visibility "
    "--device-stack-protector -device-stack-protector --diag-error -diag-error --diag-suppress "
    "-diag-suppress --diag-warn -diag-warn --dopt -dopt --entries -e --fmad -fmad --frandom-seed "
    "-frandom-seed --ftemplate-backtrace-limit -ftemplate-backtrace-limit --ftemplate-depth "
    "-ftemplate-depth --ftz -ftz --generate-code -gencode --gpu-architecture -arch --gpu-code "
    "-code "
    "--host-linker-script -hls --include-path -I --jump-table-density -jtd --libdevice-directory "
    "-ldir --library -l --library-path -L --linker-options -Xlinker --machine -m --maxrregcount "
    "-maxrregcount --nvlink-options -Xnvlink --Ofast-compile -Ofc --optimization-info -opt-info "
    "--optimize -O --options-file -optf --output-directory -odir --output-file -o --pre-include "
    "-include --prec-div -prec-div --prec-sqrt -prec-sqrt --ptxas-options -Xptxas "
    "--relocatable-device-code -rdc --sanitize -sanitize --static-global-template-stub "
    "-static-global-template-stub --std -std --system-include -isystem --target-directory "
    "-target-dir --threads -t --undefine-macro -U --Werror -Werror -Xfatbin --x -x ";

/// Options whose value may follow without a space. The other options that begin like one of these,
/// and are in none of the lists above.
constexpr std::string_view kAttached = "DILOUlmotx";
constexpr std::string_view kNotAttached = " -lib -time ";

/// Options of nvcc that are left out above, and would otherwise count as options for the host
/// compiler.
constexpr std::string_view kLeftOut =
    " --apply-controls -apply-controls --clean-targets -clean --concat -concat --cuda -cuda "
    "--dependency-drive-prefix -ddp --device-link -dlink --drive-prefix -dp --dryrun -dryrun "
    "--enable-tile -enable-tile --fdevice-time-trace -fdevice-time-trace "
    "--fdevice-time-trace-granularity -fdevice-time-trace-granularity --force-cl-env-setup "
    "-force-cl-env-setup --generate-dependencies -M --generate-nonsystem-dependencies -MM --help "
    "-h --input-drive-prefix -idp --keep -keep --keep-dir -keep-dir --lib -lib --list-gpu-arch "
    "-arch-ls --list-gpu-code -code-ls --nvprune-options -Xnvprune --preprocess -E --prune -prune "
    "--qpp-config -qpp-config --relocatable-link -r --run -run --run-args -run-args "
    "--safety-compatibility -safety-compat --save-temps -save-temps --tile-only -tile-only "
    "--tile-preview -tile-preview --tilebc -tilebc --tilecubin -tilecubin --tilefatbin -tilefatbin "
    "--tileiras-options -Xtileiras --time -time --verbose -v --verbose2 -v2 --version -V ";

/// Of these, the options with which nvcc prints something and compiles nothing.
constexpr std::string_view kQuestions =
    " --dryrun -dryrun --help -h --list-gpu-arch -arch-ls --list-gpu-code -code-ls --version -V ";

constexpr std::string_view kRelocatable =
    " --device-c -dc --device-w -dw --extensible-whole-program -ewp ";

/// A phase at which nvcc ends.
struct Phase {
  std::string_view options;  ///< its names
  std::string_view ending;   ///< of the output's default name; empty: the output is a.out
  bool replaces;             ///< see Output
};
constexpr Phase kPhases[] = {
    {" --compile -c --device-c -dc --device-w -dw ", ".o", true},
    {" --cubin -cubin ", ".cubin", false},
    {" --fatbin -fatbin ", ".fatbin", false},
    {" --ptx -ptx ", ".ptx", false},
    {" --optix-ir -optix-ir ", ".optixir", false},
    {" --ltoir -ltoir ", ".ltoir", false},
    {" --link -link --shared -shared ", "", true},
};

constexpr std::string_view kTexts = " .c .cc .cpp .cu .cxx .i .ii .ptx ";
constexpr std::string_view kOtherInputs = " .a .cubin .fatbin .lib .o .obj .so ";

constexpr std::string_view kTimes[] = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
/// Beginnings of options, also inside of values, with which a result depends on a program in a
/// plug-in, on a response file of another program, or on the number of processors.
constexpr std::string_view kUnkeptOptions[] = {
    "-fplugin",       "-plugin", "--plugin",       "@",
    "--options-file", "-optf",   "-split-compile", "--split-compile"};
/// Options whose values are paths or macros, and not words of another program.
constexpr std::string_view kPlainValues =
    " --define-macro -D --dependency-output -MF --dependency-target-name -MT --include-path -I "
    "--library -l --library-path -L --libdevice-directory -ldir --output-directory -odir "
    "--output-file -o --pre-include -include --system-include -isystem ";
/// The longest response file that is read.
constexpr size_t kMostWords = size_t{1} << 20;

bool HasTime(std::string_view word) {
  return std::ranges::any_of(
      kTimes, [word](std::string_view time) { return word.find(time) != std::string_view::npos; });
}

/// Splits a text at its white space. None if a part may be quoted: nvcc's rules for quotes are not
/// known.
std::optional<Words> Split(std::string_view text) {
  if (text.find_first_of("\"'\\#") != std::string_view::npos) return std::nullopt;
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  Words words;
  while (true) {
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    words.emplace_back(word);
    text.remove_prefix(word.size());
  }
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view Ending(std::string_view path) {
  const std::string_view name = BaseName(path);
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? "" : name.substr(dot);
}

std::string_view WithoutEnding(std::string_view path) {
  return path.substr(0, path.size() - Ending(path).size());
}

/// Reads the words of one command line, in their order.
class Reader {
 public:
  /// Returns "" or the reason why the run is left to nvcc.
  std::string Read(const Words& words, bool from_file = false);
  /// Returns the step that the words make, once all of them were read.
  std::variant<Step, Refusal> Finish();

  /// Returns whether Read() ended at an option with which nvcc compiles nothing.
  [[nodiscard]] bool is_question() const { return is_question_; }

  void Keep(std::string_view word) { step_.read_words.append(word).push_back('\0'); }

 private:
  std::string TakeInput(const std::string& word);
  /// Takes an option that ends nvcc's work at a phase. Returns false if it is another option.
  bool TakePhase(std::string_view word);
  std::string TakeValue(std::string_view name, const std::string& value);

  Step step_;
  std::vector<std::string> inputs_;
  std::string output_;
  std::string directory_;
  std::string dependencies_;  ///< the value of -MF
  const Phase* phase_ = nullptr;
  bool two_phases_ = false;
  bool lists_dependencies_ = false;
  bool forwards_unknown_ = false;
  bool is_question_ = false;
  std::string unknown_;  ///< the first unknown option, which the host compiler may get
};

std::string Reader::Read(const Words& words, bool from_file) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (HasTime(word)) return word;
    if (word.size() < 2 || word[0] != '-') {
      if (std::string why = TakeInput(word); !why.empty()) return why;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::string value;
    if (Has(kLeftOut, name)) {
      is_question_ = Has(kQuestions, word);
      return word;
    }
    if (Has(kRelocatable, word)) step_.links_device_code = true;
    if (Has(kFlags, word)) {
      if (word.starts_with("-forward-unknown") || word.starts_with("--forward-unknown")) {
        forwards_unknown_ = true;
      }
      if (Has(" -MD -MMD --generate-dependencies-with-compile "
              "--generate-nonsystem-dependencies-with-compile ",
              word)) {
        lists_dependencies_ = true;
      }
      continue;
    }
    if (TakePhase(word)) continue;
    std::string option = name;
    if (Has(kWithValue, word)) {
      if (++i == words.size()) return word;
      value = words[i];
      if (HasTime(value)) return value;
    } else if (equals != std::string::npos && Has(kWithValue, name)) {
      value = word.substr(equals + 1);
    } else if (Has(kNotAttached, name)) {
      return word;
    } else if (kAttached.find(word[1]) != std::string_view::npos) {
      option = word.substr(0, 2);
      value = word.substr(2);
    } else {
      if (DependsOnMore(word)) return word;
      if (unknown_.empty()) unknown_ = word;
      continue;
    }
    if (!Has(kPlainValues, option) && DependsOnMore(value)) return value;
    if (from_file && Has(" --options-file -optf ", option)) return word;
    if (std::string why = TakeValue(option, value); !why.empty()) return why;
  }
  return "";
}

std::string Reader::TakeInput(const std::string& word) {
  const std::string_view ending = Ending(word);
  // A word with a comma is a list of files.
  if (word.find_first_of(",@\"'\\") != std::string::npos) return word;
  if (Has(kTexts, ending)) {
    step_.sources.push_back(word);
  } else if (!Has(kOtherInputs, ending)) {
    return word.empty() ? "an empty word" : word;
  }
  inputs_.push_back(word);
  return "";
}

bool Reader::TakePhase(std::string_view word) {
  for (const Phase& phase : kPhases) {
    if (!Has(phase.options, word)) continue;
    two_phases_ = two_phases_ || (phase_ != nullptr && phase_ != &phase);
    phase_ = &phase;
    return true;
  }
  return false;
}

std::string Reader::TakeValue(std::string_view name, const std::string& value) {
  if (Has(" --output-file -o ", name)) {
    if (!output_.empty() || value.empty()) return "two -o";
    output_ = value;
  } else if (Has(" --output-directory -odir ", name)) {
    directory_ = value.substr(0, value.find_last_not_of('/') + 1) + "/";
  } else if (Has(" --dependency-output -MF ", name)) {
    dependencies_ = value;
  } else if (Has(" --relocatable-device-code -rdc ", name)) {
    if (value != "false") step_.links_device_code = true;
  } else if (Has(" --options-file -optf ", name)) {
    const auto text = ReadRegular(value, kMostWords);
    const auto words = text && text->size() < kMostWords ? Split(*text) : std::nullopt;
    if (!words) return "response file " + value;
    for (const std::string& word : *words) Keep(word);
    return Read(*words, true);
  }
  return "";
}

std::variant<Step, Refusal> Reader::Finish() {
  if (!unknown_.empty() && !forwards_unknown_) return Refusal{unknown_};
  if (step_.sources.empty()) return Refusal{"no source"};
  if (two_phases_) return Refusal{"two phases"};
  const Phase& phase = phase_ == nullptr ? std::end(kPhases)[-1] : *phase_;
  step_.makes_cubin = Has(phase.options, "-cubin");
  if (!output_.empty()) {
    step_.outputs.push_back({output_, phase.replaces});
  } else if (phase.ending.empty()) {
    step_.outputs.push_back({directory_ + "a.out", phase.replaces});
  } else {
    for (const std::string& input : inputs_) {
      std::string name = directory_ + std::string(BaseName(WithoutEnding(input)));
      step_.outputs.push_back({name.append(phase.ending), phase.replaces});
    }
  }
  if (!dependencies_.empty()) {
    step_.outputs.push_back({dependencies_, false});
  } else if (lists_dependencies_) {
    // nvcc derives the name from that of the output or of the source.
    for (const Output& output : std::vector<Output>(step_.outputs)) {
      step_.outputs.push_back({std::string(WithoutEnding(output.path)) + ".d", false});
      step_.outputs.push_back({output.path + ".d", false});
    }
    for (const std::string& input : inputs_) {
      std::string name = directory_ + std::string(BaseName(WithoutEnding(input)));
      step_.outputs.push_back({name + ".d", false});
    }
  }
  for (const Output& output : step_.outputs) {
    if (std::ranges::find(inputs_, output.path) != inputs_.end()) return Refusal{output.path};
  }
  return std::move(step_);
}

}  // namespace

bool DependsOnMore(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,=+[]'\"\\";
  while (true) {
    const std::string_view part = text.substr(0, text.find_first_of(kBetween));
    // --build-id=uuid of the linker is a random number.
    if (part == "native" || part == "uuid") return true;
    for (const std::string_view option : kUnkeptOptions) {
      if (part.starts_with(option)) return true;
    }
    if (part.size() == text.size()) return false;
    text.remove_prefix(part.size() + 1);
  }
}

bool IsQuestion(const Words& words) {
  if (words.size() < 2) return true;
  Reader reader;
  static_cast<void>(reader.Read(Words(words.begin() + 1, words.end())));
  return reader.is_question();
}

std::variant<Step, Refusal> ReadStep(const Words& words, std::string_view front,
                                     std::string_view back) {
  const auto before = Split(front);
  const auto after = Split(back);
  if (!before) return Refusal{"NVCC_PREPEND_FLAGS"};
  if (!after) return Refusal{"NVCC_APPEND_FLAGS"};
  Words all = *before;
  if (!words.empty()) all.insert(all.end(), words.begin() + 1, words.end());
  all.insert(all.end(), after->begin(), after->end());
  Reader reader;
  if (std::string why = reader.Read(all); !why.empty()) return Refusal{std::move(why)};
  return reader.Finish();
}

std::optional<standin::FreshDirectory> FreshDirectoryOf(const Words& words, const Step& step,
                                                        const std::string& working) {
  if (!step.makes_cubin || step.sources.size() != 1 || step.outputs.size() != 1) {
    return std::nullopt;
  }
  const std::string& source = step.sources[0];
  auto fresh = standin::FreshDirectory::Of(source[0] == '/' ? source : working + "/" + source);
  if (!fresh || Ending(source) != ".cu" || fresh->IsIn(step.read_words) || !fresh->Hide(working)) {
    return std::nullopt;
  }
  for (const std::string& word : words) {
    const bool is_path = word == source || word == step.outputs[0].path;
    if (is_path ? !fresh->Hide(word) : fresh->IsIn(word)) return std::nullopt;
  }
  return fresh;
}

}  // namespace cccl_cache::nvcc
