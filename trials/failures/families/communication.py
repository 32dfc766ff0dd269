"""The ranks could not talk to each other: NCCL, peer access, all-to-all libraries."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Advice, Family
from trials.outcome import FailureKind

_KIND: Final = FailureKind.COMMUNICATION
_ALL_REDUCE: Final = Advice("all_reduce", "change")
_LAYOUT: Final = Advice("layout", "change")

COMMUNICATION: Final[tuple[Family, ...]] = (
    Family(
        name="two ranks on one card",
        kind=FailureKind.INVALID_SETTINGS,
        signs=(r"Duplicate GPU detected",),
        says="`Duplicate GPU detected : rank 1 and rank 0 both on CUDA device ...`",
        summary="Two ranks were put on the same GPU.",
        means="The layout asks for more GPUs than the server may use.",
        remedies=(_LAYOUT,),
    ),
    Family(
        name="collective timed out",
        kind=_KIND,
        signs=(
            r"Watchdog caught collective operation timeout",
            r"(?:failure|timeout\)) detected by watchdog at work|Timeout at NCCL work",
            r"(?:NCCL|collective) (?:operation )?time-?d? ?out",
            r"ProcessGroupNCCL.{0,120}timed out",
            r"Timed out waiting \d+ms for (?:recv|send)",
        ),
        says="`Watchdog caught collective operation timeout: WorkNCCL(SeqNum=.., OpType=ALLREDUCE, ...)`",
        summary="A collective operation between the GPUs never finished.",
        means="Torch's watchdog, not SGLang's: one rank did not take part, or the link does not work.",
        remedies=(_ALL_REDUCE,),
    ),
    Family(
        name="NCCL error",
        kind=_KIND,
        signs=(
            r"NCCL error",
            r"nccl(?:UnhandledCuda|System|Internal|Remote|InvalidUsage|InvalidArgument)\w*",
            r"NCCL_?\w* (?:failure|failed)",
            r"NCCL WARN",
            r"DistBackendError",
        ),
        says="`NCCL error in: ...`, `ncclUnhandledCudaError`, `ncclSystemError`, `DistBackendError`",
        never=(r"remote process exit|ncclRemoteError|communicator was aborted",),
        summary="NCCL failed between the GPUs.",
        means="Links, peer access, interfaces or its own settings; `NCCL_DEBUG=INFO` says more.",
        remedies=(_ALL_REDUCE,),
    ),
    Family(
        name="no peer access",
        kind=_KIND,
        signs=(
            r"peer access is not supported|cudaErrorPeerAccess\w+",
            r"cudaIpc\w+|cuIpc\w+",
            r"custom_all_reduce\w*\.(?:cuh|cu|hpp)",
            r"cuMem(?:ImportFromShareableHandle|ExportToShareableHandle|Map|AddressReserve|SetAccess)",
            r"mapping of buffer object failed",
            r"[Ff]ailed to (?:exchange|import|open) .{0,40}(?:IPC|ipc|shareable) handle",
        ),
        says="`peer access is not supported between these two devices`, `cudaIpcOpenMemHandle`",
        summary="The GPUs cannot reach each other's memory as this all-reduce needs it.",
        means="Peer access depends on the links, the IOMMU and the container's rights.",
        remedies=(_ALL_REDUCE,),
    ),
    Family(
        name="all-to-all library failed",
        kind=_KIND,
        signs=(
            r"(?i:nvshmem).{0,160}(?:fail|error|abort|timeout)",
            r"DeepEP (?:error|timeout)|deep_ep.{0,80}(?:timeout|error)",
            r"CPU recv timeout",
            r"(?:ibv_|[Ii]nfini[Bb]and|RDMA|rdma).{0,120}(?:fail|error|timeout)",
            r"(?:mooncake|Mooncake|nixl|NIXL).{0,120}(?:transfer|connect|init)\w* (?:fail|error)",
        ),
        says="`nvshmem ... failed`, `DeepEP timeout`, `CPU recv timeout`",
        summary="The all-to-all library of the experts failed between the GPUs.",
        means="DeepEP and its kin need NVLink or RDMA set up for them.",
        remedies=(Advice("flag.moe-a2a-backend", "change"), _LAYOUT),
    ),
    Family(
        name="ranks did not find each other",
        kind=_KIND,
        signs=(
            r"[Gg]loo.{0,160}(?:failed|error|timed? ?out)",
            r"client socket has timed out",
            r"Timed out (?:after \d+ seconds )?waiting for clients",
            r"store.{0,80}(?:timed? ?out|wait timeout)|wait timeout after \d+ms",
        ),
        says="`Gloo connectFullMesh failed`, `The client socket has timed out`",
        summary="The ranks did not find each other when the server started.",
        means="A rank died before, or a network interface or firewall is in the way.",
    ),
    Family(
        name="a peer went away",
        kind=_KIND,
        signs=(
            r"Connection (?:closed by|reset by) (?:remote )?peer",
            r"Broken pipe",
            r"remote process exit|ncclRemoteError|communicator was aborted",
            r"TCPStore|recvValue failed|sendBytes failed|failed to recv, got 0 bytes",
            r"Socket (?:Timeout|closed)",
        ),
        says="`Connection closed by peer`, `TCPStore ... Broken pipe`, `remote process exited`",
        summary="A rank lost its peer; why the peer died is not in the log.",
        means="The echo of another rank's death: it decides only when nothing else was said.",
        remedies=(_ALL_REDUCE,),
        never=(r"^BrokenPipeError",),
        consequence=True,
    ),
)
