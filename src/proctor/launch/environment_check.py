"""Looks a built environment over: is it what was locked, and can it render here?"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from proctor.benchmarks import checkouts
from proctor.benchmarks.checkouts import Finding, Source
from proctor.errors import EnvironmentMissing, UsageError
from proctor.launch import environments, graphics, vulkan

RENDER_TIMEOUT_S = 60.0
IMPORT_TIMEOUT_S = 900.0
"""A checkout's modules may compile their device code when they are imported first."""

_RENDER_ONE_FRAME = """
import mujoco
model = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><light pos='0 0 3'/><geom type='box' size='.3 .3 .3'/></worldbody></mujoco>"
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 32, 32) as renderer:
    renderer.update_scene(data)
    frame = renderer.render()
assert frame.std() > 1, "the frame is blank"
"""


_RENDER_ONE_FRAME_BY_RAY_TRACING = """
import sapien.core as sapien
engine = sapien.Engine()
engine.set_renderer(sapien.SapienRenderer())
sapien.render.set_camera_shader_dir("rt")
scene = engine.create_scene(sapien.SceneConfig())
scene.add_ground(-0.1)
scene.add_point_light([0, 0, 1], [1, 1, 1])
camera = scene.add_camera("probe", 32, 32, 1.0, 0.01, 10)
scene.step()
scene.update_render()
camera.take_picture()
assert camera.get_picture("Color").std() > 0, "the frame is blank"
"""

_RENDER_ONE_FRAME_BY_VULKAN = """
import sapien
try:
    scene = sapien.Scene()
except RuntimeError as error:
    raise SystemExit(f"SAPIEN renders on none of them: {error}")
scene.set_ambient_light([0.5, 0.5, 0.5])
scene.add_directional_light([0, 1, -1], [0.5, 0.5, 0.5])
builder = scene.create_actor_builder()
builder.add_box_visual(half_size=[0.3, 0.3, 0.3], material=[1.0, 0.0, 0.0])
builder.build_static(name="box").set_pose(sapien.Pose([2, 0, 0]))
camera = scene.add_camera("probe", 32, 32, 1.0, 0.01, 10)
scene.update_render()
camera.take_picture()
assert camera.get_picture("Color")[..., :3].std() > 0.01, "the frame is blank"
"""

_RENDER_ONE_FRAME_BY_PLUGIN = """
import importlib.util
import pybullet as p
client = p.connect(p.DIRECT)
plugin = p.loadPlugin(importlib.util.find_spec("eglRenderer").origin, "_eglRendererPlugin")
assert plugin >= 0, "pybullet's EGL plugin does not load"
shape = p.createVisualShape(p.GEOM_BOX, halfExtents=[0.3, 0.3, 0.3])
p.createMultiBody(baseVisualShapeIndex=shape)
view = p.computeViewMatrix([2, 2, 2], [0, 0, 0], [0, 0, 1])
frame = p.getCameraImage(32, 32, view, p.computeProjectionMatrixFOV(40, 1, 0.01, 10))[2]
assert frame[:, :, :3].std() > 1, "the frame is blank"
"""

_IMPORT = "import importlib, sys; sys.path[:0] = sys.argv[2:]; importlib.import_module(sys.argv[1])"

_VULKAN = (
    "an NVIDIA GPU that traces rays, its driver's Vulkan files, and: apt-get install libvulkan1 vulkan-tools"
)


def check(name: str) -> list[Finding]:
    """Return what was found, in the order it was looked at; stops where nothing further can be looked at."""
    definition = environments.find(name)
    source = definition.source
    found = [] if source is None else checkouts.examine(name, source, _place(name, source))
    if not environments.is_built(definition):
        place = environments.location(definition)
        found.append(Finding("built", False, f"{place} is missing", f"proctor env build {name}"))
        if definition.graphics == "sapien":
            found.append(Finding("renderer", False, "not looked at before the environment is built", _VULKAN))
        elif definition.graphics == "vulkan":
            found.append(_vulkan_devices())
        return found
    python = environments.interpreter(name)
    found += [Finding("built", True, str(python.parent.parent)), _packages(definition, python)]
    if source is not None:
        found += _imports(source, _place(name, source), python)
    if definition.graphics == "mujoco":
        found.append(_renderer(python))
    elif definition.graphics == "vulkan":
        found += _vulkan_renderer(python)
    elif definition.graphics == "sapien":
        found.append(_ray_tracer(python))
    elif definition.graphics == "pybullet":
        found.append(_egl_plugin(python))
    return found


def _place(name: str, source: Source) -> Path:
    return checkouts.location(name, source.variable)


def _imports(source: Source, place: Path, python: Path) -> Iterator[Finding]:
    directories = [str(place / each) for each in source.python_path]
    for module in source.imports:
        fault = _fault([str(python), "-I", "-c", _IMPORT, module, *directories], os.environ, IMPORT_TIMEOUT_S)
        if fault:
            remedy = f"see {source.repository} for what {module} needs to be built on this machine"
            yield Finding("import", False, f"{module}: {fault}", remedy)
        else:
            yield Finding("import", True, module)


def _ray_tracer(python: Path) -> Finding:
    command = [str(python), "-I", "-c", _RENDER_ONE_FRAME_BY_RAY_TRACING]
    fault = _fault(command, os.environ, RENDER_TIMEOUT_S)
    return Finding("renderer", not fault, fault or "traces rays", _VULKAN if fault else "")


def _vulkan_devices() -> Finding:
    try:
        return Finding("Vulkan device", True, "; ".join(vulkan.require()))
    except (EnvironmentMissing, UsageError) as error:
        return Finding("Vulkan device", False, str(error).partition(". ")[0], vulkan.REMEDY)


def _vulkan_renderer(python: Path) -> Iterator[Finding]:
    devices = _vulkan_devices()
    yield devices
    if devices.ok:
        command = [str(python), "-I", "-W", "ignore", "-c", _RENDER_ONE_FRAME_BY_VULKAN]
        fault = _fault(command, os.environ, RENDER_TIMEOUT_S)
        yield Finding("renderer", not fault, fault or "SAPIEN", vulkan.REMEDY if fault else "")


def _egl_plugin(python: Path) -> Finding:
    command = [str(python), "-I", "-c", _RENDER_ONE_FRAME_BY_PLUGIN]
    fault = _fault(command, os.environ, RENDER_TIMEOUT_S)
    return Finding("renderer", not fault, fault or "EGL plugin", graphics.APT_LINES["egl"] if fault else "")


def _fault(command: list[str], environ: Mapping[str, str], timeout_s: float) -> str:
    """The last line of what a command says when it fails; empty where it succeeds."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environ, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done within {timeout_s:g} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def _packages(definition: environments.EnvironmentDefinition, python: Path) -> Finding:
    expected = environments.manifest(definition)["packages"]
    found = environments.packages(python)
    differing = sorted(
        f"{package} {found.get(package, 'missing')} (locked {expected.get(package, 'without it')})"
        for package in expected.keys() | found.keys()
        if expected.get(package) != found.get(package)
    )
    if not differing:
        return Finding("packages", True, f"{len(found)} as locked")
    place = python.parent.parent
    remedy = f"rm -r {place} && proctor env build {definition.name}"
    return Finding("packages", False, "; ".join(differing), remedy)


def _renderer(python: Path) -> Finding:
    try:
        chosen = graphics.choose()
    except (EnvironmentMissing, UsageError) as error:
        return Finding("renderer", False, str(error).partition(". ")[0], graphics.APT_LINES["egl"])
    command = [str(python), "-I", "-c", _RENDER_ONE_FRAME]
    fault = _fault(command, {**os.environ, "MUJOCO_GL": chosen.backend}, RENDER_TIMEOUT_S)
    backend = f"MUJOCO_GL={chosen.backend}"
    if not fault:
        return Finding("renderer", True, backend)
    return Finding(
        "renderer", False, f"{backend}: {fault}", graphics.APT_LINES.get(chosen.backend, "unset MUJOCO_GL")
    )
