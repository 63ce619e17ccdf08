// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/tool.h"

#include <algorithm>

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kPtxasVariables[] = {"PTXAS", "FINALIZER"};

// The options of ptxas 12 and 13, and one that Triton uses and --help does not list. Left out are
// options that read or write other files, and options whose output may depend on the machine
// (--split-compile).
constexpr Tool kPtxas = {
    .name = "ptxas",
    .name_space = "cccl.ptxas",
    .flags =
        " --compile-as-tools-patch -astoolspatch --compile-only -c --device-debug -g "
        "--disable-optimizer-constants -disable-optimizer-consts --disable-warnings -w "
        "--dont-merge-basicblocks -no-bb-merge --extensible-whole-program -ewp "
        "--generate-line-info -lineinfo --make-errors-visible-at-exit -make-errors-visible-at-exit "
        "--optimize-float-atomics -opt-fp-atomics --preserve-relocs -preserve-relocs "
        "--return-at-end -ret-end --sp-bounds-check -sp-bounds-check --suppress-debug-info "
        "-suppress-debug-info --suppress-double-demote-warning -suppress-double-demote-warning "
        "--suppress-stack-size-warning -suppress-stack-size-warning --verbose -v "
        "--warn-on-double-precision-use -warn-double-usage --warn-on-local-memory-usage "
        "-warn-lmem-usage --warn-on-spills -warn-spills --warning-as-error -Werror "
        "-O0 -O1 -O2 -O3 -O4 -m64 ",
    .with_value =
        " --Ofast-compile -Ofc --allow-expensive-optimizations -allow-expensive-optimizations "
        "--def-load-cache -dlcm --def-store-cache -dscm --device-function-maxrregcount "
        "-func-maxrregcount --device-stack-protector -device-stack-protector --entry -e --fmad "
        "-fmad --force-load-cache -flcm --force-store-cache -fscm --gpu-name -arch --machine -m "
        "--maxntid -maxntid --maxrregcount -maxrregcount --minnctapersm -minnctapersm --opt-level "
        "-O --position-independent-code -pic --regAllocOptLevel --register-usage-level "
        "-regUsageLevel ",
    .with_next_word =
        " --Ofast-compile -Ofc --gpu-name -arch --maxrregcount -maxrregcount "
        "--opt-level ",
    .outputs = " -o --output-file ",
    .showing_paths = " --device-debug -g ",
    .shows_times = true,
    .variables = kPtxasVariables,
};

// tileiras passes its environment to libNVVM, which contains LLVM, and to ptxas, so their variables
// also change its output.
constexpr std::string_view kTileirasVariables[] = {"TILE",    "MLIR",  "LLVM",     "NVVM",
                                                   "LIBNVVM", "PTXAS", "FINALIZER"};
constexpr std::string_view kTileirasLibraries[] = {"nvvm/lib64/libnvvm.so", "lib/libnvvm.so.4"};
constexpr std::string_view kTileirasDirectories[] = {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"};

// The options of tileiras 13.1 to 13.5. Left out are options that read or write other files or
// print remarks. Also left out is --preview: with it, a kernel may be linked with files that the
// tool chooses.
constexpr Tool kTileiras = {
    .name = "tileiras",
    .name_space = "cccl.tileiras",
    .flags = " --device-debug -g --lineinfo -O0 -O1 -O2 -O3 ",
    .with_value = " --gpu-name --arch --opt-level --sanitize ",
    .with_next_word = " --gpu-name --arch --opt-level --sanitize ",
    .outputs = " -o --output-file ",
    .showing_paths = "",  // paths in the output are from the bytecode, the input
    .variables = kTileirasVariables,
    .program = "bin/ptxas",
    .libraries = kTileirasLibraries,
    .directory_variables = kTileirasDirectories,
};

// cudafe++ and cicc have the same front end, so that the lists of their options are the same. These
// are the options that nvcc 13.0 and 13.5 give them. Left out are options that write other files
// or print times, and those whose output may depend on the machine (-split-compile).
constexpr std::string_view kFrontEndFlags =
    " --allow_managed --brief_diagnostics --clang --c++03 --c++11 --c++14 --c++17 --c++20 --c++23 "
    "--debug_mode --device-c --device-hidden-visibility --device-syntax-only "
    "--display_error_number --extended-lambda --gen_div_approx_ftz --gen_module_id_file "
    "--host-stub-linkage-explicit --keep-device-functions --m64 --no-version-ident "
    "--parse_templates --partial-link --promote_warnings --relaxed_constexpr --simt-only "
    "--static-host-stub --uumn --version-ident -extra-device-vectorization -fast-math -g "
    "-generate-line-info -inline-info -kernel-params-are-restrict -lto -m64 -olto -show-src -tused "
    "-w -O0 -O1 -O2 -O3 ";
constexpr std::string_view kFrontEndValues =
    " --Ofast-compile --clang_version --context_limit --diag_default --diag_error --diag_once "
    "--diag_remark "
    "--diag_suppress --diag_warning --gnu_version --pending_instantiations --unicode_source_kind "
    "-fmad -ftz -prec_div "
    "-prec_sqrt ";
constexpr std::string_view kCudafeVariables[] = {"EDG_", "USR_INCLUDE", "NOCOLOR"};

// cudafe++ gets the name of the stub for an #include; cicc writes the stub.
constexpr Tool kCudafe = {
    .name = "cudafe++",
    .name_space = "cccl.cudafe",
    .flags = kFrontEndFlags,
    .with_value = kFrontEndValues,
    .with_next_word =
        " --diag_error --diag_suppress --diag_warn --frandom-seed --orig_src_file_name "
        "--orig_src_path_name --stub_file_name ",
    .inputs = " --module_id_file_name ",
    .outputs = " --gen_c_file_name ",
    .writing_inputs = "--gen_module_id_file",
    .shows_inputs = true,
    .shows_outputs = true,
    .variables = kCudafeVariables,
};

constexpr std::string_view kCiccVariables[] = {"EDG_", "USR_INCLUDE", "NOCOLOR", "CICC",
                                               "NVVM", "LIBNVVM",     "LLVM",    "LIBDEVICE"};
constexpr std::string_view kCiccLibraries[] = {"libdevice/libdevice.10.bc"};
constexpr std::string_view kCiccDirectories[] = {"NVVMIR_LIBRARY_DIR"};

constexpr Tool kCicc = {
    .name = "cicc",
    .name_space = "cccl.cicc",
    .flags = kFrontEndFlags,
    .with_value = kFrontEndValues,
    .with_next_word =
        " --diag_error --diag_suppress --diag_warn --frandom-seed --include_file_name "
        "--orig_src_file_name --orig_src_path_name -arch -maxreg ",
    .inputs = " --module_id_file_name ",
    .outputs = " -o --gen_c_file_name --gen_device_file_name --stub_file_name ",
    .writing_inputs = "--gen_module_id_file",
    .shows_inputs = true,
    .shows_outputs = true,
    .variables = kCiccVariables,
    .libraries = kCiccLibraries,
    .directory_variables = kCiccDirectories,
    .directory = "libdevice/",
};

constexpr std::string_view kHostVariables[] = {
    "GCC_",     "COMPILER_PATH", "COLLECT_", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "LIBRARY_", "SOURCE_DATE_",  "LANG",     "LC_"};

// The options of GCC that need no other file and write no other one. Left out are those whose
// output would hide temporary names (-flto, -gz), and -g3, whose output has the definitions of
// macros.
constexpr Tool kHostCompiler = {
    .name_space = "cccl.host",
    .flags =
        " -c -w -ansi -pedantic -pedantic-errors -pthread -pipe -pg -g -g0 -g1 -g2 -ggdb "
        "-fPIC -fpic -fPIE -fpie -fexceptions -frtti -fopenmp -fopenmp-simd -fpermissive "
        "-ffast-math -funsafe-math-optimizations -ffinite-math-only -fassociative-math "
        "-freciprocal-math -fstrict-aliasing -fomit-frame-pointer -fwrapv -ftrapv -funroll-loops "
        "-ftree-vectorize -ffunction-sections -fdata-sections -fvisibility-inlines-hidden "
        "-fconcepts -fcoroutines -fsigned-char -funsigned-char -fcommon -fgnu-unique "
        "-fsized-deallocation -faligned-new -fsemantic-interposition -fnon-call-exceptions "
        "-fasynchronous-unwind-tables -funwind-tables -fstack-clash-protection "
        "-fdiagnostics-color ",
    .prefixes =
        " -D -U -I -O -W -m -std= -gdwarf -fno- -fabi-version= -falign- -fcf-protection "
        "-fconstexpr- -fdebug-prefix-map= -fdiagnostics-color= -ffile-prefix-map= -ffp-contract= "
        "-finline-limit= -fmacro-prefix-map= -fmax-errors= -fmessage-length= -frandom-seed= "
        "-fstack-protector -ftemplate-backtrace-limit= -ftemplate-depth -ftls-model= "
        "-fvisibility= ",
    .refused = " -Wa, -Wl, -Wp, -mllvm -fno-working-directory ",
    .with_next_word = " -x -D -U -I -isystem -iquote -idirafter -include ",
    .outputs = " -o ",
    .shows_inputs = true,
    .drives = true,
    .variables = kHostVariables,
};

/// Returns whether the words compile what cudafe++ wrote for the host.
bool CompilesHostCode(const Words& words) {
  return std::ranges::find(words, "-c") != words.end() &&
         std::ranges::any_of(words,
                             [](std::string_view word) { return word.ends_with(".cudafe1.cpp"); });
}

}  // namespace

const Tool* FindTool(std::string_view name, const Words& words) {
  for (const Tool* tool : {&kPtxas, &kTileiras, &kCudafe, &kCicc}) {
    if (name.starts_with(tool->name)) return tool;
  }
  return CompilesHostCode(words) ? &kHostCompiler : nullptr;
}

}  // namespace cccl_cache::standin
