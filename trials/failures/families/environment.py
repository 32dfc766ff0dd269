"""The machine is at fault: another setting would have died of it too."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Family
from trials.outcome import FailureKind

_KIND: Final = FailureKind.ENVIRONMENT

ENVIRONMENT: Final[tuple[Family, ...]] = (
    Family(
        name="port in use",
        kind=_KIND,
        signs=(
            r"\[Errno 98\]",
            r"[Aa]ddress already in use",
            r"EADDRINUSE",
            r"port \d+ is (?:already )?(?:in use|not available|occupied)",
        ),
        says="`[Errno 98] error while attempting to bind on address (...): address already in use`",
        summary="The port is held by another process.",
        means="A ready line that still follows is false: the warm-up talked to the other server.",
    ),
    Family(
        name="card lost or broken",
        kind=_KIND,
        signs=(
            r"GPU is lost|fallen off the bus",
            r"uncorrectable ECC|cudaErrorECCUncorrectable|ECC error",
            r"Xid \(PCI",
            r"uncorrectable NVLink|cudaErrorNvlinkUncorrectable",
            r"hardware stack error|cudaErrorHardwareStackError",
        ),
        says="`uncorrectable ECC error encountered`, `GPU is lost`",
        summary="A GPU has failed or vanished.",
        means="Hardware; the machine needs a look before anything else is tried.",
    ),
    Family(
        name="driver too old",
        kind=_KIND,
        signs=(
            r"NVIDIA driver on your system is too old",
            r"CUDA driver version is insufficient",
            r"cudaErrorInsufficientDriver",
            r"forward compatibility was attempted on non supported HW",
        ),
        says="`The NVIDIA driver on your system is too old`, `CUDA driver version is insufficient`",
        summary="The GPU driver is older than this build of torch needs.",
        means="Driver and CUDA runtime do not fit each other.",
    ),
    Family(
        name="no usable GPU",
        kind=_KIND,
        signs=(
            r"No accelerator \(CUDA",
            r"No CUDA GPUs are available",
            r"no CUDA-capable device is detected",
            r"Found no NVIDIA driver",
            r"Torch not compiled with CUDA enabled",
            r"has no attribute '_cuda_\w+'",
            r"CUDA unknown error",
            r"CUDA-capable device\(s\) is/are busy or unavailable",
            r"system not yet initialized|cudaErrorSystemNotReady",
            r"Can't initialize NVML|NVML_ERROR_\w+|NVMLError",
            r"could not select device driver .{0,40}gpu",
        ),
        says="`No CUDA GPUs are available`, `Found no NVIDIA driver`, `module 'torch._C' has no attribute "
        "'_cuda_setDevice'`",
        summary="The server sees no GPU that it can use.",
        means="No card, no driver, a torch without CUDA, or a fabric manager that does not run.",
    ),
    Family(
        name="shared memory of the host too small",
        kind=_KIND,
        signs=(
            # A model may lie there too.
            r"/dev/shm(?:/(?:nccl|torch|psm|sem|cuda)[-_.]|(?!/))",
            r"Error while creating shared memory segment",
            r"unable to (?:open|mmap|write to) (?:a )?shared memory (?:object|file)",
            r"Bus error",
        ),
        says="`Error while creating shared memory segment /dev/shm/nccl-...`, `Bus error`",
        summary="The host's shared memory (/dev/shm) is too small.",
        means="In a container it is 64 MB unless `--ipc=host` or `--shm-size` is given.",
    ),
    Family(
        name="disk full",
        kind=_KIND,
        signs=(r"No space left on device", r"\[Errno 28\]", r"[Dd]isk quota exceeded|\[Errno 122\]"),
        says="`[Errno 28] No space left on device`",
        summary="A disk is full.",
        means="Weights, compiled kernels and logs all need space.",
    ),
    Family(
        name="disk or share failed",
        kind=_KIND,
        signs=(r"\[Errno 5\]|Input/output error", r"Stale file handle|Transport endpoint is not connected"),
        says="`[Errno 5] Input/output error`, `Stale file handle`",
        summary="A disk or network share that the server reads from has failed.",
        means="The weights or a cache are on it.",
    ),
    Family(
        name="limit on files or threads",
        kind=_KIND,
        signs=(
            r"Too many open files|\[Errno 24\]",
            r"can't start new thread|Resource temporarily unavailable|\[Errno 11\]",
        ),
        says="`[Errno 24] Too many open files`, `can't start new thread`",
        summary="A limit of the operating system on files or threads is too low.",
        means="`ulimit -n` and `ulimit -u` of the starting process, or the container's limits.",
    ),
    Family(
        name="library version does not fit",
        kind=_KIND,
        signs=(
            r"[Pp]lease reinstall the latest version",
            r"is installed with version .{1,40} which is less than the minimum required",
            r"Please uninstall the old version and reinstall",
        ),
        says="`flashinfer_python is installed with version ..., which is less than the minimum ...`",
        summary="An installed library is of the wrong version for this SGLang.",
        means="SGLang checks its kernel packages when it starts.",
    ),
    Family(
        name="compiler or library missing",
        kind=_KIND,
        signs=(
            r"cannot open shared object file",
            r"undefined symbol",
            r"[Cc]ould not find nvcc|nvcc: (?:command )?not found|nvcc': No such file",
            r"CUDA_HOME environment variable is not set",
            r"cannot find -l\w+",
            r"(?:DeepEP|FlashInfer|flashinfer|mooncake|Mooncake|nixl|[\w-]+) is not (?:available|installed)\."
            r" Please install",
            r"[Pp]lease install (?:[\w-]+|the) ?(?:package|first|via|with|from|it|using|by)",
            r"(?:ModuleNotFoundError|ImportError)\b",
            r"python[\d.]*: No module named",
            r"Failed to find C compiler",
            r"No such file or directory: '(?:ninja|nvcc|gcc|g\+\+|cc|git)'",
        ),
        says="`cannot open shared object file`, `No module named 'deep_ep'`, `Could not find nvcc`",
        summary="A library or compiler that these settings need is not installed or does not load.",
        means="The installation lacks an optional package, or was built against another one.",
    ),
    Family(
        name="command not found",
        kind=_KIND,
        signs=(
            r"command not found",
            r"(?:can't open file|exec: .{0,120}: not found|\S+: not found$)",
            r"^\S*(?:bash|sh|env): .*No such file or directory",
        ),
        says="`bash: sglang: command not found`",
        summary="The server command does not exist on this machine.",
        means="Nothing was started.",
    ),
    Family(
        name="container did not start",
        kind=_KIND,
        signs=(
            r"(?:docker|podman|Error).{0,80}(?:Error response from daemon|OCI runtime)",
            r"OCI runtime \w+ failed",
            r"nvidia-container-cli: ",
            r"manifest (?:unknown|for .* not found)",
            r"Unable to find image|pull access denied",
            r"(?i:cannot connect to the docker daemon)",
        ),
        says="`docker: Error response from daemon: ...`, `OCI runtime create failed`",
        summary="The container runtime could not start the server's container.",
        means="Nothing of SGLang ran.",
    ),
    Family(
        name="no network",
        kind=_KIND,
        signs=(
            r"[Cc]ouldn't connect to 'https?://",
            r"Temporary failure in name resolution|Name or service not known|Failed to resolve '",
            r"(?:ConnectionError|ConnectTimeout|ReadTimeout).{0,200}huggingface\.co",
            r"[Cc]annot reach https?://",
            r"An error happened while trying to locate the file on the Hub",
            r"LocalEntryNotFoundError",
        ),
        says="`We couldn't connect to 'https://huggingface.co'`",
        summary="The model hub cannot be reached from this machine.",
        means="Download the model before, or give a local path.",
    ),
    Family(
        name="permission denied",
        kind=_KIND,
        signs=(r"PermissionError|Permission denied|\[Errno 13\]|Operation not permitted",),
        says="`PermissionError: [Errno 13] Permission denied`",
        summary="The server may not read or write something that it needs.",
        means="Another user owns the file, the cache or the port.",
    ),
    Family(
        name="processor too old",
        kind=_KIND,
        signs=(r"Illegal instruction", r"SIGILL"),
        says="`Illegal instruction (core dumped)`",
        summary="The processor lacks instructions that a library was built for.",
        means="Usually AVX-512 or AMX code on an older machine.",
        never=(r"CUDA error",),
    ),
)
