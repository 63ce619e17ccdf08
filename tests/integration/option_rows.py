# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of options, each compared with a base without them. Each set gives another key. In the programs of
test_different_when_it_matters with CUDA 13.0, the difference shows in the code, in the log, or in neither."""

CODE, LOG, NOTHING = "code", "log", "nothing"  # where the difference shows


def row(*words, shows=NOTHING):
    return words, shows


NVRTC_OPTIONS = (
    # Target and kind of output.
    row("-rdc=true", shows=CODE), row("-dc", shows=CODE), row("-dw"), row("-ewp"), row("-dlto", shows=CODE),
    row("--optix-ir", shows=CODE), row("-dlto", "--gen-opt-lto", shows=CODE), row("--cuda-api-version=13.0"),
    # Debugging.
    row("-G", shows=CODE), row("-lineinfo", shows=CODE), row("-lineinfo", "--no-lineinfo-inlined-at", shows=CODE),
    row("--device-stack-protector=true", shows=CODE),
    # Code generation.
    row("--dopt=on"), row("-G", "--dopt=on", shows=CODE), row("--Ofast-compile=max", shows=CODE),
    row("--Ofast-compile=min", shows=CODE), row("-Xptxas=-O0", shows=CODE), row("-Xptxas", "-O1", shows=CODE),
    row("-Xptxas=-v", shows=LOG), row("-Xnvvm=-opt=0", shows=CODE), row("-maxrregcount=16", shows=CODE),
    row("-maxrregcount=24", shows=CODE), row("-ftz=true", shows=CODE), row("-prec-sqrt=false", shows=CODE),
    row("-prec-div=false", shows=CODE), row("-fmad=false", shows=CODE), row("-use_fast_math", shows=CODE),
    row("-extra-device-vectorization"), row("--modify-stack-limit=false"), row("-restrict", shows=CODE),
    row("-jtd=50"), row("-split-compile=2", shows=CODE), row("--fdevice-syntax-only", shows=CODE), row("-minimal"),
    row("-frandom-seed=1"), row("-frandom-seed=2"),
    # The preprocessor, in its order.
    row("-DN=7", shows=CODE), row("-DN=8", shows=CODE), row("-DN=7", "-UN"), row("-UN"),
    row("-DN=7", "-UN", "-DN=8", shows=CODE), row("-DN=8", "-UN", "-DN=7", shows=CODE), row("-DN", shows=CODE),
    row("-DN=", shows=LOG), row("-D", "N=9", shows=CODE), row("-DM", "-DN=7", shows=CODE),
    row("-DM-DN=7", shows=LOG), row("--pre-include=cuda_fp16.h", shows=CODE), row("--no-source-include"),
    # The language.
    row("-std=c++14"), row("-std=c++20", shows=CODE), row("--builtin-move-forward=false"),
    row("--builtin-initializer-list=false"), row("-default-device"), row("--device-int128"),
    row("--device-float128", shows=LOG), row("--version-ident=true", shows=CODE),
    # The diagnostics.
    row("-w", shows=LOG), row("-err-no"), row("-no-err-no", shows=LOG), row("-diag-error=177", shows=LOG),
    row("-diag-suppress=177", shows=LOG), row("-diag-warn=177"), row("-brief-diag=true", shows=LOG),
    row("-opt-info=inline", shows=LOG), row("-Xcudafe=--diag_suppress=177", shows=LOG),
    # Options that the table and later compilers know.
    *(row(word, shows=LOG) for word in (
        "--enable-tile", "--tile-only", "--simt-only", "-default-tile", "--tile-preview=all",
        "--diagnose-implicit-tile-var", "--ffinite-math-only", "--fno-signed-zeros", "--utf-8", "--Wreorder",
        "--Wconversion", "--warning-as-error=all-warnings", "--fmax-errors=1",
    )),
    row("-G", "--numba-debug", shows=LOG),
    # Options that the table does not know.
    row("--no-such-option", shows=LOG), row("--no-such-option", "-w", shows=LOG),
)

LINK_BASE = ("-arch=sm_90", "-lto")
LINK_OPTIONS = (
    row("-arch=sm_80", "-lto", shows=CODE), row("-arch=sm_90", shows=LOG),
    *(row(*LINK_BASE, word, shows=CODE) for word in (
        "-O0", "-O3", "--Ofast-compile=max", "-lineinfo", "-g", "-ptx", "-maxrregcount=24", "-Xptxas=-O0",
        "-Xnvvm=-opt=0", "--device-stack-protector=true",
    )),
    *(row(*LINK_BASE, word) for word in (
        "-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=0", "-kernels-used=k", "-variables-used=v",
        "-optimize-unused-variables", "-split-compile=2", "-split-compile-extended=2", "-jump-table-density=50", "-r",
    )),
    *(row(*LINK_BASE, word, shows=LOG) for word in ("-verbose", "-nvvm-latest", "-device-stack-protector")),
)

NVVM_BASE = ("-arch=compute_90",)
NVVM_OPTIONS = (
    row("-arch=compute_80", shows=CODE),
    *(row(*NVVM_BASE, *words, shows=CODE) for words in (
        ("-opt=0",), ("-ftz=1",), ("-prec-div=0",), ("-gen-lto",), ("-opt=0", "-ftz=1"),
    )),
    *(row(*NVVM_BASE, word) for word in (
        "-g", "-generate-line-info", "-prec-sqrt=0", "-fma=0", "-jump-table-density=50",
    )),
)
