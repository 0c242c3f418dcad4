"""Which Vulkan devices a simulator could render on here, and how to get one.

A driver is a shared library that a manifest names. Each is asked in a child process, without a loader or any
package: a broken driver may crash, and one that was loaded stays in the process. Whether a simulator accepts
a device is the simulator's own business: `proctor env check` renders a frame with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from proctor.errors import EnvironmentMissing, UsageError

USERS: Final = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Variables by which a user names manifests; the loader reads nothing else then. The first one set counts."""

FOLDERS: Final = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")
"""Where the loader finds them otherwise."""

REMEDY: Final = (
    "a GPU driver with Vulkan, or Mesa's software driver, 24.3 or newer, as root: "
    "apt-get install mesa-vulkan-drivers (on Debian 12 from bookworm-backports: apt-get install -t"
    " bookworm-backports mesa-vulkan-drivers); it may also be unpacked anywhere and named by"
    " VK_ICD_FILENAMES: docs/how-to/environments.md"
)
PROBE_TIMEOUT_S: Final = 20.0

Probe = Callable[[str], list[str]]


def require(environ: Mapping[str, str] = os.environ, probe: Probe | None = None) -> list[str]:
    """Names of the devices that drivers here offer, such as `llvmpipe (...), Vulkan 1.4.305`.

    Raises `UsageError` for a variable that names no manifest, `EnvironmentMissing` with what was looked at
    and how to get a driver where there is no device.
    """
    found: list[str] = []
    looked = []
    for manifest in manifests(environ):
        devices = (probe or devices_in_child)(library_of(manifest))
        looked.append(f"{manifest}: {', '.join(devices) or 'no device'}")
        found += devices
    if not found:
        raise EnvironmentMissing(
            f"no Vulkan device on this machine ({'; '.join(looked) or 'no driver is installed'}). "
            f"Install {REMEDY}"
        )
    return found


def manifests(environ: Mapping[str, str]) -> list[Path]:
    """Manifests of the drivers that the loader would use, in its order."""
    for variable in USERS:
        if named := environ.get(variable, ""):
            return [_existing(variable, Path(entry)) for entry in named.split(os.pathsep) if entry]
    return [path for folder in FOLDERS for path in sorted(Path(folder).glob("*.json"))]


def _existing(variable: str, path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"{variable} names {path}, which is no file; valid: a driver's manifest, or unset")
    return path


def library_of(manifest: Path) -> str:
    """The driver that a manifest names: a path, or a name that the system's loader knows.

    Raises `UsageError` for a file that is no manifest.
    """
    try:
        library = str(json.loads(manifest.read_text())["ICD"]["library_path"])
    except (ValueError, KeyError, TypeError, OSError):
        raise UsageError(f"{manifest} is no manifest of a Vulkan driver") from None
    return str(manifest.parent / library) if "/" in library else library


def devices_in_child(library: str) -> list[str]:
    """Ask a driver in a process of its own; none where it cannot be loaded, crashes, or is silent."""
    bootstrap = Path(__file__).resolve().parents[1] / "_bootstrap.py"
    command = [sys.executable, str(bootstrap), "proctor.launch.vulkan", library]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


class _InstanceCreateInfo(ctypes.Structure):
    """`VkInstanceCreateInfo`; nothing but the kind is set."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.c_void_p),
        ("layers", ctypes.c_uint32),
        ("layer_names", ctypes.c_void_p),
        ("extensions", ctypes.c_uint32),
        ("extension_names", ctypes.c_void_p),
    )


_KIND_OF_INSTANCE: Final = 1
_INTERFACE: Final = 5
"""Of drivers with their loader: the newest that every driver since 2016 speaks or knows to refuse."""
_PROPERTIES_BYTES: Final = 4096
"""More than `VkPhysicalDeviceProperties` takes."""


def devices_of(library: str) -> Iterator[str]:
    """Do in this process what the Vulkan loader does to list a driver's devices. Raises `OSError`."""
    driver = ctypes.CDLL(library)
    if negotiate := getattr(driver, "vk_icdNegotiateLoaderICDInterfaceVersion", None):
        negotiate(ctypes.byref(ctypes.c_uint32(_INTERFACE)))
    pointer, result = ctypes.c_void_p, ctypes.c_int
    instance = pointer()
    create = _function(driver, instance, "vkCreateInstance", result, pointer, pointer, pointer)
    wanted = _InstanceCreateInfo(kind=_KIND_OF_INSTANCE)
    if create(ctypes.byref(wanted), None, ctypes.byref(instance)):
        return
    listed = _function(driver, instance, "vkEnumeratePhysicalDevices", result, pointer, pointer, pointer)
    count = ctypes.c_uint32()
    listed(instance, ctypes.byref(count), None)
    devices = (pointer * count.value)()
    listed(instance, ctypes.byref(count), devices)
    describe = _function(driver, instance, "vkGetPhysicalDeviceProperties", None, pointer, pointer)
    for device in devices:
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        describe(device, properties)
        yield _described(properties.raw)


def _function(driver: ctypes.CDLL, instance: Any, name: str, result: Any, *kinds: Any) -> Callable[..., Any]:
    driver.vk_icdGetInstanceProcAddr.restype = ctypes.c_void_p
    driver.vk_icdGetInstanceProcAddr.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    address = driver.vk_icdGetInstanceProcAddr(instance, name.encode())
    if not address:
        raise OSError(f"the driver has no {name}")
    return ctypes.CFUNCTYPE(result, *kinds)(address)


def _described(properties: bytes) -> str:
    """Name and version, from `VkPhysicalDeviceProperties`: five numbers, then the name in 256 bytes."""
    version = struct.unpack_from("<I", properties)[0]
    name = properties[20:276].partition(b"\0")[0].decode(errors="replace")
    return f"{name}, Vulkan {version >> 22}.{(version >> 12) & 0x3FF}.{version & 0xFFF}"


def main(arguments: list[str]) -> int:
    """Print the devices of one driver, a line each."""
    try:
        for device in devices_of(arguments[0]):
            print(device)
    except (OSError, AttributeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
