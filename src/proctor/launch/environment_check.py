"""Looks a built environment over: is it what was locked, and can it render here?"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import EnvironmentMissing, UsageError
from proctor.launch import environments, graphics

RENDER_TIMEOUT_S = 60.0

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


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    remedy: str = ""
    """The command that mends it; empty when there is nothing to mend."""


def check(name: str) -> list[Finding]:
    """Return what was found, in the order it was looked at; stops where nothing further can be looked at."""
    definition = environments.find(name)
    if not environments.is_built(definition):
        place = environments.location(definition)
        return [Finding("built", False, f"{place} is missing", f"proctor env build {name}")]
    python = environments.interpreter(name)
    findings = [Finding("built", True, str(python.parent.parent)), _packages(definition, python)]
    if definition.graphics == "mujoco":
        findings.append(_renderer(python))
    return findings


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
    environment = {**os.environ, "MUJOCO_GL": chosen.backend}
    command = [str(python), "-I", "-c", _RENDER_ONE_FRAME]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=RENDER_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        fault = f"no frame within {RENDER_TIMEOUT_S:g} s"
    else:
        fault = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]
    backend = f"MUJOCO_GL={chosen.backend}"
    if not fault:
        return Finding("renderer", True, backend)
    return Finding(
        "renderer", False, f"{backend}: {fault}", graphics.APT_LINES.get(chosen.backend, "unset MUJOCO_GL")
    )
