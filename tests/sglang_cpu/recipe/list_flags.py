"""All CLI flags of `sglang serve` without torch, transformers, triton, sgl_kernel: everything missing is faked at import.

Usage: list_flags.py DIR OUT.json VERSION, where DIR holds an unpacked wheel's sglang/."""
import sys, types, importlib.abc, importlib.machinery, json, argparse, time, os
t0 = time.time()
SG = sys.argv[1]            # directory that holds sglang/
os.environ["SGLANG_USE_CPU_ENGINE"] = "1"   # else platform discovery asks the faked torch for xpu
import abc
class Meta(abc.ABCMeta):
    def __new__(m, n, b, d, **k): return super().__new__(m, n, b, d)   # drop class keywords (total=False)
    def __init__(c, n, b, d, **k): super().__init__(n, b, d)
    def __getattr__(c, n):
        if n.startswith("__") and n not in ("__version__",): raise AttributeError(n)
        return "2.99.0" if n == "__version__" else Fake(n)
    def __call__(c, *a, **k):
        if _cache.get(c.__name__) is not c: return abc.ABCMeta.__call__(c, *a, **k)
        if len(a) == 1 and not k and callable(a[0]) and isinstance(a[0], (types.FunctionType, type)): return a[0]  # decorator
        return c
    def __getitem__(c, k): return c
    def __or__(c, o): return c
    __ror__ = __or__
    def __setitem__(c, k, v): pass
    def __contains__(c, k): return False
    def register(c, *a, **k): return c
    def __iter__(c): return iter(())
    def __bool__(c): return False
    def __lt__(c, o): return False
    __gt__ = __le__ = __lt__
    def __ge__(c, o): return True   # every faked version is new enough
    def __hash__(c): return id(c)
    def __enter__(c): return c
    def __exit__(c, *a): return False
    def __len__(c): return 0
    def __int__(c): return 0
    def __index__(c): return 0
    def __float__(c): return 0.0
    def __add__(c, o): return c
    __sub__ = __mul__ = __truediv__ = __mod__ = __neg__ = __radd__ = __add__
_cache = {}
def Fake(n):
    if n not in _cache: _cache[n] = Meta(n, (), {})
    return _cache[n]
class Mod(types.ModuleType):
    def __getattr__(self, n):
        if n == "__version__": return "2.99.0"
        if self.__name__ == "torch" and n in ("npu", "xpu", "musa", "mps", "hpu", "sail"): raise AttributeError(n)
        if self.__name__ == "triton" and n == "runtime": raise AttributeError(n)   # 0.5.9 asks it for a device name
        if n.startswith("__"): raise AttributeError(n)
        if n == "dumps": return lambda *a, **k: b""   # dill
        return Fake(n)
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sglang", "google", "torch_npu", "torchada", "sgl_kernel_npu", "deep_gemm", "flashinfer", "mlx", "chardet") or name in sys.stdlib_module_names or name.split(".")[0] in sys.stdlib_module_names: return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec): m = Mod(spec.name); m.__path__ = []; faked.add(spec.name.split(".")[0]); return m
    def exec_module(self, m): pass
faked = set()
sys.meta_path.append(Finder())
pkg = types.ModuleType("sglang"); pkg.__path__ = [os.path.join(SG, "sglang")]; sys.modules["sglang"] = pkg   # skip sglang/__init__.py
from sglang.srt.server_args import ServerArgs
p = argparse.ArgumentParser(prog="sglang serve"); ServerArgs.add_cli_args(p)
rows = [dict(flags=a.option_strings, dest=a.dest, action=type(a).__name__, type=getattr(a.type, "__name__", a.type), nargs=a.nargs,
    choices=sorted(map(str, a.choices)) if a.choices else None, default=repr(a.default), required=a.required, new_flag=getattr(a, "new_flag", None),
    deprecated=("deprecat" in (a.help or "").lower()) or type(a).__name__.startswith("Deprecated")) for a in p._actions]
lines = [json.dumps({k: v for k, v in row.items() if v is not None and v is not False}, default=str) for row in rows]
with open(sys.argv[2], "w") as f: f.write('{"version": "%s", "actions": [\n' % sys.argv[3] + ",\n".join(lines) + "\n]}\n")
print(f"{len(rows)} actions in {time.time()-t0:.2f}s, faked: {sorted(faked)}")
