"""Which OpenGL backend MuJoCo renders with on this machine.

Uses the standard library and `proctor.errors` alone, so that it can be asked before anything is installed:

    PYTHONPATH=src python3 -m proctor.launch.graphics

prints the backend, or the apt line that is missing and status 5. Each backend is tried in a child process:
a broken driver may crash, and a driver that was loaded stays in the process.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.errors import EnvironmentMissing, UsageError

APT_LINES = {
    "egl": "apt-get install libegl1 libgl1-mesa-dri libopengl0",
    "osmesa": "apt-get install libosmesa6",
}
"""What makes a backend work on Debian and Ubuntu. PyOpenGL needs libOpenGL, which libegl1 does not bring."""

VALID = ("egl", "osmesa", "glfw", "glx", "wgl", "cgl", "disable", "off", "0")
PROBE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Graphics:
    """A value for MUJOCO_GL and where it came from."""

    backend: str
    source: Literal["user", "probed"]


def choose(environ: Mapping[str, str] = os.environ, probe: Callable[[str], str] | None = None) -> Graphics:
    """Return the user's MUJOCO_GL as it is, else the first of EGL and OSMesa that works here.

    `probe(backend)` returns what is wrong with a backend, or "" if it works. Raises UsageError for a
    MUJOCO_GL that MuJoCo does not know, EnvironmentMissing with the apt line when nothing works.
    """
    wanted = environ.get("MUJOCO_GL", "").strip().lower()
    if wanted:
        if wanted not in VALID:
            raise UsageError(f"MUJOCO_GL is {wanted!r}; valid: {', '.join(VALID)}, or unset")
        return Graphics(wanted, "user")
    faults = {}
    for backend in APT_LINES:
        faults[backend] = (probe or probe_in_child)(backend)
        if not faults[backend]:
            return Graphics(backend, "probed")
    raise EnvironmentMissing(missing_message(faults))


def missing_message(faults: Mapping[str, str]) -> str:
    """Say what was tried, what was wrong, and the lines that mend it."""
    tried = "; ".join(f"{backend}: {fault}" for backend, fault in faults.items())
    return (
        f"no OpenGL backend works on this machine ({tried}). Install one, as root:\n"
        f"    {APT_LINES['egl']}\n"
        f"or  {APT_LINES['osmesa']}\n"
        "(run 'apt-get update' first on a new machine)"
    )


def probe_in_child(backend: str) -> str:
    """Try a backend in a process of its own; returns what is wrong, or ""."""
    bootstrap = Path(__file__).resolve().parents[1] / "_bootstrap.py"
    command = [sys.executable, str(bootstrap), "proctor.launch.graphics", "--probe", backend]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"did not answer within {PROBE_TIMEOUT_S:g} s"
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or f"the driver ended the process with status {done.returncode}"


def probe_osmesa() -> str:
    """Create an OSMesa context in this process; returns what is wrong, or ""."""
    try:
        library = ctypes.CDLL("libOSMesa.so.8")
    except OSError:
        try:
            library = ctypes.CDLL("libOSMesa.so.6")
        except OSError:
            return "libOSMesa.so.8 is not installed"
    library.OSMesaCreateContextExt.restype = ctypes.c_void_p
    rgba, depth, stencil, accumulation = 0x1908, 24, 8, 0
    context = library.OSMesaCreateContextExt(rgba, depth, stencil, accumulation, None)
    return "" if context else "OSMesaCreateContextExt made no context"


def probe_egl() -> str:
    """Do in this process what MuJoCo does to get an EGL context; returns what is wrong, or ""."""
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return "libEGL.so.1 is not installed"
    if not _loads("libOpenGL.so.0") and not _loads("libGL.so.1"):
        return "libOpenGL.so.0 is not installed"
    displays = _egl_displays(egl)
    if displays is None:
        return "EGL cannot enumerate devices"
    faults = [_egl_context_fault(egl, display) for display in displays]
    if "" in faults:
        return ""
    return faults[0] if faults else "EGL has no device (libgl1-mesa-dri has a software one)"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _egl_function(egl: ctypes.CDLL, name: str, restype: Any, *argtypes: Any) -> Callable[..., Any] | None:
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    address = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(restype, *argtypes)(address) if address else None


def _egl_displays(egl: ctypes.CDLL) -> list[int] | None:
    """One display per device, as MuJoCo makes them; None if EGL lacks the extension."""
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    query = _egl_function(egl, "eglQueryDevicesEXT", integer, integer, pointer, pointer)
    display_of = _egl_function(egl, "eglGetPlatformDisplayEXT", pointer, integer, pointer, pointer)
    if query is None or display_of is None:
        return None
    devices, count = (pointer * 16)(), integer()
    if not query(16, devices, ctypes.byref(count)):
        return []
    egl_platform_device = 0x313F
    displays = [display_of(egl_platform_device, devices[i], None) for i in range(count.value)]
    return [display for display in displays if display]


def _egl_context_fault(egl: ctypes.CDLL, display: int) -> str:
    """Make a desktop OpenGL context with an off-screen configuration; returns what is wrong, or ""."""
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    egl.eglCreateContext.restype = pointer
    egl.eglCreateContext.argtypes = [pointer, pointer, pointer, pointer]
    if not egl.eglInitialize(pointer(display), None, None):
        return "eglInitialize failed on every device"
    egl_opengl_api, surface_type, pbuffer, renderable, opengl, none = 0x30A2, 0x3033, 1, 0x3040, 8, 0x3038
    if not egl.eglBindAPI(egl_opengl_api):
        return "EGL has no desktop OpenGL"
    wanted = (integer * 5)(surface_type, pbuffer, renderable, opengl, none)
    config, count = pointer(), integer()
    found = egl.eglChooseConfig(pointer(display), wanted, ctypes.byref(config), 1, ctypes.byref(count))
    if not found or not count.value:
        return "EGL has no off-screen configuration"
    context = egl.eglCreateContext(display, config, None, None)
    return "" if context else "eglCreateContext made no context"


PROBES = {"egl": probe_egl, "osmesa": probe_osmesa}


def main(arguments: list[str]) -> int:
    """Print the chosen backend; with `--probe BACKEND`, print what is wrong with that one."""
    if arguments[:1] == ["--probe"]:
        fault = PROBES[arguments[1]]()
        print(fault)
        return 1 if fault else 0
    try:
        print(choose().backend)
    except (EnvironmentMissing, UsageError) as error:
        print(f"proctor: {error}", file=sys.stderr)
        return 5 if isinstance(error, EnvironmentMissing) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
