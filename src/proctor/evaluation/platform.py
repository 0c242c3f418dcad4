"""Which machine, interpreter and renderer a worker ran on.

Bit equality of a simulation is promised within one fingerprint: results of floating-point code depend on the
processor's instruction sets and on the C library's mathematics.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from proctor.benchmarks.contract import DrawsItself

_GL_RENDERER: Final = 0x1F01
_GLVND: Final = ("libOpenGL.so.0", "libGL.so.1")
_EGL: Final = "libEGL.so.1"
_GET_STRING: Final = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)
_OSMESA: Final = ("libOSMesa.so.8", "libOSMesa.so.6")
NO_RENDERER: Final = "none"


def fingerprint(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Machine, processor model with a digest of its instruction sets, C library.

    For example `x86_64 / AMD EPYC 7B13 (flags 3f9ac2d1) / glibc 2.36`.
    """
    return f"{platform.machine()} / {_processor(cpuinfo)} / {_libc()}"


def renderer(environment: object = None) -> str:
    """What draws an environment, if it says so, else OpenGL's backend and this thread's current context.

    For example `egl: llvmpipe (LLVM 15.0.6, 256 bits)`; `none` before anything was rendered.
    """
    if isinstance(environment, DrawsItself):
        return environment.drawn_by or NO_RENDERER
    backend = os.environ.get("MUJOCO_GL", "default")
    for get_string in _loaded(backend):
        name = get_string(_GL_RENDERER)
        if name:
            return f"{backend}: {name.decode(errors='replace')}"
    return NO_RENDERER


def _loaded(backend: str) -> Iterator[Callable[[int], bytes | None]]:
    """`glGetString` of every library that is loaded already: only those can have a context."""
    for library in _OSMESA if backend == "osmesa" else (*_GLVND, _EGL):
        try:
            loaded = ctypes.CDLL(library, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
            address = _address_by_egl(loaded) if library == _EGL else loaded.glGetString
        except (OSError, AttributeError):
            continue
        if address:
            yield ctypes.cast(address, _GET_STRING)


def _address_by_egl(library: ctypes.CDLL) -> ctypes.c_void_p:
    """Renderers that load nothing but EGL, as pybullet's, ask it for every function."""
    find = library.eglGetProcAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return ctypes.c_void_p(find(b"glGetString"))


def _processor(cpuinfo: Path) -> str:
    """From the first processor's lines; the keys are those of x86 and of ARM."""
    try:
        first = cpuinfo.read_text().strip().split("\n\n")[0]
    except OSError:
        return platform.processor() or "unknown processor"
    fields = dict(line.replace("\t", "").split(":", 1) for line in first.splitlines() if ":" in line)
    model = fields.get("model name") or f"{fields.get('CPU implementer', '?')} {fields.get('CPU part', '?')}"
    flags = " ".join(sorted((fields.get("flags") or fields.get("Features") or "").split()))
    return f"{' '.join(model.split())} (flags {hashlib.sha256(flags.encode()).hexdigest()[:8]})"


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown libc"
    except (ValueError, OSError):
        return "unknown libc"
