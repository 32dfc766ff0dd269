"""A kernel went wrong while it ran. Some of these are flaky: tried once more before anything is concluded."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Advice, Family
from trials.outcome import FailureKind

_KIND: Final = FailureKind.KERNEL_FAULT
_BACKEND: Final = (Advice("flag.attention-backend", "change"), Advice("flag.moe-runner-backend", "change"))

FAULTS: Final[tuple[Family, ...]] = (
    Family(
        name="illegal memory access",
        kind=_KIND,
        signs=(r"illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS",),
        says="`CUDA error: an illegal memory access was encountered`",
        never=(r"NCCL error|ncclUnhandledCudaError",),
        summary="A GPU kernel accessed memory that is not its own.",
        means="A bug in a kernel, reported at some later call: the traceback does not name the culprit.",
        remedies=_BACKEND,
    ),
    Family(
        name="misaligned address",
        kind=_KIND,
        signs=(r"misaligned address|cudaErrorMisalignedAddress",),
        says="`CUDA error: misaligned address`",
        summary="A GPU kernel used a misaligned address.",
        means="A bug in a kernel for these shapes.",
        remedies=_BACKEND,
    ),
    Family(
        name="assertion on the device",
        kind=_KIND,
        signs=(r"device-side assert triggered|cudaErrorAssert|Assertion `.{1,200}` failed",),
        says="`CUDA error: device-side assert triggered`",
        summary="A GPU kernel's own assertion failed.",
        means="Often an index out of range: a draft token, a page or an expert that does not exist.",
        remedies=_BACKEND,
    ),
    Family(
        name="illegal instruction on the device",
        kind=_KIND,
        signs=(r"CUDA error: an illegal instruction|cudaErrorIllegalInstruction",),
        says="`CUDA error: an illegal instruction was encountered`",
        summary="A GPU kernel executed an illegal instruction.",
        means="A kernel built for another variant of the architecture, or corrupted memory.",
        remedies=_BACKEND,
    ),
    Family(
        name="launch failed",
        kind=_KIND,
        signs=(
            r"unspecified launch failure|cudaErrorLaunchFailure",
            r"the launch timed out|cudaErrorLaunchTimeout",
            r"CU(?:BLAS|DNN)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)",
            r"cooperative launch .{0,60}(?:fail|too large)",
        ),
        says="`CUDA error: unspecified launch failure`, `CUBLAS_STATUS_EXECUTION_FAILED`",
        summary="A GPU kernel failed to run.",
        means="As with illegal accesses, the kernel at fault is an earlier one.",
        remedies=_BACKEND,
    ),
    Family(
        name="not a number",
        kind=_KIND,
        signs=(
            r"probability tensor contains either `?inf`?, `?nan`?",
            r"(?:Detected errors during sampling|sampling).{0,40}NaN",
            r"\bNaN\b.{0,80}(?:logits|detected|hidden|found|tensor)|(?:logits|hidden states?).{0,60}\bNaN\b",
        ),
        says="`probability tensor contains either inf, nan or element < 0`, "
        "`Detected errors during sampling! NaN in the logits.`",
        summary="A kernel computed numbers that are none (NaN), and sampling stopped.",
        means="A wrong kernel or an overflow in a low-precision cache.",
        remedies=(*_BACKEND, Advice("flag.kv-cache-dtype", "change")),
    ),
    Family(
        name="crash in native code",
        kind=_KIND,
        signs=(
            r"Fatal Python error: (?:Segmentation fault|Aborted|Bus error)",
            r"Segfault encountered",
            r"Segmentation fault",
        ),
        says="`Fatal Python error: Segmentation fault`, `!!!!!!! Segfault encountered !!!!!!!`",
        summary="Native code crashed in a rank.",
        means="A kernel library or the driver; the frames below the line name it.",
        remedies=_BACKEND,
    ),
    Family(
        name="process crashed with a segmentation fault",
        kind=_KIND,
        signs=(r"(?:crashed with exit code|exit code:) -11\b",),
        says="`Subprocess scheduler_0 (pid=..) crashed with exit code -11`",
        summary="A rank crashed in native code (segmentation fault) without a word.",
        means="A kernel library or the driver.",
        remedies=_BACKEND,
        consequence=True,
    ),
)

OTHER_FAULTS: Final[tuple[Family, ...]] = (
    Family(
        name="other CUDA error",
        kind=_KIND,
        signs=(r"(?:CUDA|HIP) error: (?P<reason>[^\n]{1,120})", r"(?P<reason>CUDA_ERROR_\w+)"),
        says="any other `CUDA error: ...`",
        summary="A GPU operation failed: {reason}.",
        means="Not one of the known ones; read the line.",
        never=(r"invalid device ordinal", r"out of memory"),
    ),
)
