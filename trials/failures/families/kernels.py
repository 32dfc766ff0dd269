"""The architecture has no such kernel. Tried before any memory word: several of these speak of memory."""

from __future__ import annotations

from typing import Final

from trials.failures.case import Case
from trials.failures.family import Advice, Family
from trials.outcome import FailureKind

_KIND: Final = FailureKind.UNSUPPORTED_KERNEL
_BACKEND: Final = (Advice("flag.attention-backend", "change"), Advice("flag.moe-runner-backend", "change"))


def _in_symmetric_memory(case: Case) -> bool:
    return "torch_symm_mem.py" in case.frames


KERNELS: Final[tuple[Family, ...]] = (
    Family(
        name="shared memory of a block exceeded",
        kind=_KIND,
        signs=(
            r"out of resources?: shared memory, Required: (?P<required>\d+), Hardware limit: (?P<limit>\d+)",
            r"too much shared data \((?P<required>0x[0-9a-f]+) bytes, (?P<limit>0x[0-9a-f]+) max\)",
        ),
        says="`out of resource: shared memory, Required: 147456, Hardware limit: 101376`",
        summary="A kernel needs {required} bytes of shared memory per block; this GPU has {limit}.",
        means="A limit of the GPU's architecture (SM120: 99 KB), not a lack of memory: no fraction helps.",
        remedies=_BACKEND,
    ),
    Family(
        name="no kernel for this architecture",
        kind=_KIND,
        signs=(
            r"no kernel image is available",
            r"device kernel image is invalid",
            r"cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU|cudaErrorInvalidDeviceFunction",
            r"invalid device function",
            r"CU(?:BLAS|DNN)_STATUS_(?:ARCH_MISMATCH|NOT_SUPPORTED)",
            r"named symbol not found",
        ),
        says="`no kernel image is available for execution on the device`, `device kernel image is invalid`",
        summary="A library has no kernel for this GPU's architecture.",
        means="The installed wheel was not built for it; another back end may have been.",
        remedies=_BACKEND,
    ),
    Family(
        name="no CUDA architecture in the list",
        kind=_KIND,
        signs=(r"No supported CUDA architectures found for major versions \[(?P<majors>[\d, ]+)\]",),
        says="`No supported CUDA architectures found for major versions [9, 10].` (FlashInfer's JIT)",
        summary="FlashInfer builds this kernel only for compute capability {majors}, which this GPU is not.",
        means="Its build list lacks the architecture; fused all-reduce on SM120 is the usual case.",
        remedies=(Advice("all_reduce", "change"), *_BACKEND),
    ),
    Family(
        name="architecture not in symmetric memory's table",
        kind=_KIND,
        signs=(r"KeyError: ", r"not supported", r"IndexError: "),
        says="a `KeyError` from `torch_symm_mem.py`, `multicast operations are not supported`",
        summary="Torch symmetric memory does not know this GPU's architecture.",
        means="Its table has SM90 and SM100 only.",
        remedies=(Advice("all_reduce", "change"),),
        when=_in_symmetric_memory,
    ),
    Family(
        name="architecture unknown to a kernel",
        kind=_KIND,
        signs=(
            r"[Uu]nsupported (?:GPU |CUDA |device )?(?:architecture(?!s)|arch\b|compute capability)",
            r"Unknown (?:recipe|SF (?:transformation|layout))",
            r"[Mm]inimum (?:required )?capability",
            r"not supported (?:in|on|for) this (?:architecture|arch|GPU|device)",
            r"[Uu]nsupported gpu architecture '(?P<arch>\w+)'",
            r"is not supported by (?:the )?(?:current|this) (?:GPU|device|architecture)",
            r"Value '\w+' is not defined for option 'gpu-",
            r"no (?:valid|supported) (?:tactic|kernel|config|cubin)s? (?:found|available)",
            r"Could not find (?:a )?(?:valid )?(?:kernel|tactic|cubin)",
        ),
        says="`Unsupported architecture`, `Unknown recipe`, `Unsupported compute capability`",
        summary="A kernel library does not know this GPU's architecture.",
        means="It dispatches on the compute capability and has no case for this one.",
        remedies=_BACKEND,
    ),
    Family(
        name="kernel does not compile",
        kind=_KIND,
        signs=(
            r"ptxas (?:fatal|error)",
            r"PTX (?:JIT|was compiled|.{0,40}(?:target|version))",
            r"[Uu]nsupported toolchain|cudaErrorUnsupportedPtxVersion|the provided PTX was compiled",
            r"Feature '.{1,60}' (?:requires|not supported)",
            r"PassManager::run failed",
            r"failed to legalize operation",
            r"LLVM ERROR: Cannot select",
            r"Cannot select: intrinsic",
            r"Internal Triton PTX codegen error",
            r"type fp8\w+ not supported",
            r"CompilationError: at \d+:\d+",
        ),
        says="`ptxas fatal`, `unsupported toolchain`, `PassManager::run failed`, "
        "`type fp8e4nv not supported in this architecture`",
        summary="A kernel cannot be compiled for this GPU.",
        means="Its code uses instructions or types that the architecture, or the toolkit, lacks.",
        remedies=_BACKEND,
    ),
    Family(
        name="architecture refused by name",
        kind=_KIND,
        signs=(
            r"(?m:^)(?P<sentence>.*(?:requires?|needs?|supports?|supported|available|works|runs)"
            r"(?: only)?(?: on| by| for| with| at least)?[^\n]{0,40}?"
            r"\b(?:SM ?>?=? ?\d{2,3}\w?|sm_?\d{2,3}\w?|SM\d+X|Hopper|Blackwell|Ampere|"
            r"[Cc]ompute [Cc]apability)\b.*)",
            r"(?m:^)(?P<sentence>.*(?:SM ?\d{2,3}\w?|sm_?\d{2,3}\w?|Hopper|Blackwell|"
            r"[Cc]ompute capability [\d.]+)"
            r"[^\n]{0,60}(?:is|are) (?:not|un)[ -]?(?:supported|available).*)",
            r"(?m:^)(?P<sentence>.*\bon (?:Ampere|Ada|Hopper|Blackwell|SM ?\d{2,3}).{0,40}only supports?.*)",
            r"(?m:^)(?P<sentence>.*(?:not supported|unsupported) (?:on|for|by) "
            r"[^\n]{0,40}(?:SM ?\d{2,3}|sm_?\d{2,3}|Hopper|Blackwell|[Cc]ompute [Cc]apability).*)",
        ),
        says="`requires SM90 or SM10X`, `only supported on Blackwell`, `SM>=80 and SM<=90`",
        summary="A kernel refuses this GPU: {sentence}",
        means="The back end was written for other architectures and says so.",
        remedies=_BACKEND,
        never=(r"HTTP|checkpoint format",),
    ),
    Family(
        name="kernel build failed",
        kind=_KIND,
        signs=(r"Ninja build failed", r"Error building extension", r"nvcc (?:fatal|error)"),
        says="`RuntimeError: Ninja build failed. Ninja output: ...`",
        summary="A kernel that is compiled at the first use could not be built.",
        means="JIT kernels are built for the GPU at hand; the log shows the compiler's reason.",
        remedies=_BACKEND,
        never=(r"cannot find -l", r"No space left", r"nvcc: (?:command )?not found", r"nvcc': No such file"),
    ),
    Family(
        name="CUTLASS refuses the problem",
        kind=_KIND,
        signs=(
            r"(?:cutlass|CUTLASS|[Gg]emm|GEMM).{0,120}Error Internal",
            r"Error Internal.{0,80}(?:cutlass|gemm)",
            r"(?i:(?:failed|unable) to (?:initialize|run) (?:the )?cutlass)",
            r"cutlass cannot (?:implement|initialize)",
        ),
        says="`Failed to run cutlass ... Error Internal`, raised as an exception",
        summary="CUTLASS has no working kernel for this operation on this GPU.",
        means="Harmless after `[Autotuner]: Skipping tactic`, fatal when raised.",
        remedies=_BACKEND,
    ),
    Family(
        name="shape or type without kernel",
        kind=_KIND,
        signs=(
            r"(?:head[_ ](?:dim|size)|hidden size|page size) ?(?:of )?=? ?\d+ (?:is )?not supported",
            r"[Uu]nsupported (?:head|hidden)[ _](?:dim|size)",
            r"(?:not implemented for|no kernel for) '?(?:Float8|BFloat16|Half|UInt8)",
        ),
        says="`Unsupported head dim 576`, `\"...\" not implemented for 'Float8_e4m3fn'`",
        summary="The chosen back end has no kernel for this model's shapes or types.",
        means="Every back end covers some head sizes and types only.",
        remedies=_BACKEND,
    ),
    Family(
        name="kernel cannot be captured",
        kind=_KIND,
        signs=(
            r"operation not permitted when stream is capturing",
            r"operation failed due to a previous error during capture",
            r"cudaErrorStreamCapture\w+",
            r"dependency created on uncaptured work",
        ),
        says="`operation not permitted when stream is capturing`",
        summary="A kernel of the chosen back end cannot be captured in a CUDA graph.",
        means="It synchronises or allocates in a way that capture forbids.",
        remedies=_BACKEND,
    ),
)
