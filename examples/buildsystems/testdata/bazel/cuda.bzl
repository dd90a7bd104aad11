"""CUDA without rules of others: an object by one command, run in Bazel's sandbox."""

def _cuda_object(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".o")
    args = ctx.actions.args()
    args.add_all(["-O3", "-arch=sm_90", "-c", ctx.file.src, "-o", out])
    ctx.actions.run(
        outputs = [out],
        inputs = [ctx.file.src] + ctx.files.hdrs,
        executable = ctx.var["nvcc"],  # --define nvcc=...
        arguments = [args],
        use_default_shell_env = True,  # --action_env, and nothing else
        mnemonic = "Cuda",
    )
    return [DefaultInfo(files = depset([out]))]

cuda_object = rule(
    implementation = _cuda_object,
    attrs = {
        "src": attr.label(allow_single_file = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h"]),
    },
)
