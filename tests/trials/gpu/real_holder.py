"""Takes memory on a real card through CUDA's driver library and keeps it until it is ended.

Run as ``python real_holder.py MIB [CARD]``; prints ``held`` when the memory is taken.
"""

from __future__ import annotations

import ctypes
import sys
import time


def main() -> None:
    mib, card = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    _check(cuda.cuInit(0))
    _check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), card))
    _check(cuda.cuCtxSetCurrent(context))
    _check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(mib << 20)))
    print("held", flush=True)
    while True:
        time.sleep(0.5)


def _check(code: int) -> None:
    if code:
        sys.exit(f"CUDA driver error {code}")


if __name__ == "__main__":
    main()
