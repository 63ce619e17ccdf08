# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The package's own tests, and tests that need several sessions or several daemons."""

from places import PLACES

PTX = r"""
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 func_retval0) julia_square_COUNTER(.param .b32 julia_square_COUNTER_param_0)
{                                       // @julia_square_COUNTER
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [julia_square_COUNTER_param_0];
  mul.lo.s32 %r2, %r1, %r1;
  st.param.b32 [func_retval0], %r2;
  ret;
}
.visible .entry julia_kernel_COUNTER1(.param .u64 julia_kernel_COUNTER1_param_0)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [julia_kernel_COUNTER1_param_0];
  ld.global.u32 %r1, [%rd1];
  {
  .param .b32 param0;
  st.param.b32 [param0], %r1;
  .param .b32 retval0;
  call.uni (retval0), julia_square_COUNTER, (param0);
  ld.param.b32 %r2, [retval0];
  }
  st.global.u32 [%rd1], %r2;
  ret;
}
"""


def test_the_package_s_own_tests_pass(depot, lasting):
    told = depot.run("import Pkg; Pkg.test()", lasting.socket, project=depot.place / "CcclCache")
    assert "tests passed" in told.stdout + told.stderr


def test_a_session_with_other_counters_hits(depot, lasting):
    def assemble(counter):
        ptx = depot.place / f"{counter}.ptx"
        ptx.write_text(PTX.replace("COUNTER", str(counter)))
        told = depot.run(f"""
            using CcclCache
            result = CcclCache.assemble(read("{ptx}", String); arch = "sm_90")
            write("{counter}.cubin", result.cubin)
            print(result.outcome, " ", result.names["julia_kernel_{counter}1"])
            """, lasting.socket)
        return told.stdout.split(), (depot.place / f"{counter}.cubin").read_bytes()

    (first, first_name), first_cubin = assemble(7)
    (second, second_name), second_cubin = assemble(123456)
    assert (first, second) == ("built", "hit")
    assert first_name == second_name
    assert first_name.encode() in first_cubin == second_cubin


SCALE = """
    using ScaleKernels
    cubin, name, outcome = ScaleKernels.scale_kernel("TYPE"; arch = "sm_90")
    print(length(ScaleKernels.cache), " ", outcome, " ", length(cubin), " ", name)
    """


def compiles(daemon):
    return daemon.stats()["compiles_total"]


def test_a_package_gives_its_users_daemon_the_kernels_of_its_workload(depot, make_daemon):
    author, user = (make_daemon(roots=(PLACES.cuda13,), name=name).start() for name in ("author", "user"))
    depot.run("using ScaleKernels", author.socket)
    told = depot.run(SCALE.replace("TYPE", "float"), user.socket).stdout.split()
    assert told[:2] == ["4", "hit"]
    assert told[3].startswith("_Z5scaleIf")
    assert compiles(user) == 0
    # A build that the workload did not make is compiled, so the daemon does compile.
    assert depot.run(SCALE.replace("TYPE", "short"), user.socket).stdout.split()[:2] == ["4", "built"]
    assert compiles(user) == 1


def test_a_package_keeps_kernels_that_were_hits_of_its_workload(depot, make_daemon):
    author, user = (make_daemon(roots=(PLACES.cuda13,), name=name).start() for name in ("author", "user"))
    for _ in range(2):
        depot.forget_compiled()
        depot.run("using ScaleKernels", author.socket)
    assert compiles(author) == 4
    assert depot.run(SCALE.replace("TYPE", "double"), user.socket).stdout.split()[:2] == ["4", "hit"]


def test_a_package_is_precompiled_and_loaded_without_a_daemon(depot):
    depot.forget_compiled()
    told = depot.run(SCALE.replace("TYPE", "float"), depot.place / "nobody").stdout.split()
    assert told[:2] == ["0", "local"]
