"""Looks at the frames of a small model from inside a simulator environment's interpreter:

    python mujoco_frames_probe.py

prints one JSON value. The tests in `test_mujoco_frames.py` say what it must be.
"""

from __future__ import annotations

import json
from typing import Any

import mujoco
import numpy as np

from proctor.benchmarks.definition import FeatureDefinition, RenderProfile
from proctor.benchmarks.mujoco_frames import Frame, Frames, View
from proctor.errors import ProctorError

# From above: a red square above the middle of the picture, a green one to its right, on black.
MODEL = """
<mujoco>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <worldbody>
    <camera name="above" pos="0 0 2" fovy="60"/>
    <camera name="aside" pos="2 0 0" xyaxes="0 1 0 0 0 1" fovy="60"/>
    <geom type="box" size=".2 .2 .01" pos="0 .6 0" rgba="1 0 0 1"/>
    <geom type="box" size=".2 .2 .01" pos=".6 0 0" rgba="0 1 0 1"/>
  </worldbody>
</mujoco>
"""
# The same squares, one of them larger, and on the floor a texture that is made by two numbers.
TEXTURED = """
<mujoco>
  <statistic extent="2"/>
  <asset>
    <texture name="t" type="2d" builtin="checker" rgb1="{} 0 0" rgb2="0 0 1" width="32" height="32"/>
    <material name="m" texture="t" texrepeat="4 4"/>
  </asset>
  <worldbody>
    <camera name="above" pos="0 0 2" fovy="60"/>
    <geom type="box" size="{} .2 .01" pos="0 .6 0" rgba="0 1 0 1"/>
    <geom type="plane" size="{} 1 .1" material="m"/>
  </worldbody>
</mujoco>
"""
PROFILE = RenderProfile("reference", shadows=False, multisamples=0)
RED, GREEN = 0, 1


def feature(name: str, height: int = 48, width: int = 64, **changes: Any) -> FeatureDefinition:
    given = {"camera": "above", "orientation": "upright"} | changes
    return FeatureDefinition(f"images.{name}", "image", "uint8", (height, width, 3), codec="raw", **given)


def model_and_data(text: str = MODEL) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def places(frame: Frame) -> dict[str, list[str]]:
    """In which half of the picture, by rows and columns, the middle of each colour is."""
    found = {}
    for name, channel in (("red", RED), ("green", GREEN)):
        rows, columns = np.nonzero(frame[..., channel] > 200)
        place = []
        for values, size, low, high in (
            (rows, frame.shape[0], "top", "bottom"),
            (columns, frame.shape[1], "left", "right"),
        ):
            offset = values.mean() / (size - 1) - 0.5
            place.append("middle" if abs(offset) < 0.05 else (low if offset < 0 else high))
        found[name] = place
    return found


def orientations() -> dict[str, Any]:
    model, data = model_and_data()
    turns = ("upright", "rotated-180", "flipped-vertical")
    frames = Frames(model, [feature(name.replace("-", "_"), orientation=name) for name in turns], PROFILE)
    found = {name: places(frames.render(data, f"images.{name.replace('-', '_')}")) for name in turns}
    frames.close()
    return found


def sizes() -> dict[str, Any]:
    """Two features of one context, smaller and larger than MuJoCo's own buffer."""
    model, data = model_and_data()
    frames = Frames(model, [feature("small", 24, 32), feature("large", 600, 800, camera="aside")], PROFILE)
    seen = {name: frames.render(data, f"images.{name}") for name in ("small", "large")}
    frames.close()
    return {
        name: [list(frame.shape), str(frame.dtype), places_of(name, frame)] for name, frame in seen.items()
    }


def places_of(name: str, frame: Frame) -> Any:
    return places(frame) if name == "small" else None


def views() -> dict[str, Any]:
    """A picture that starts with its bottom row, and one without the group that all geometries are in."""
    model, data = model_and_data()
    found = {}
    for name, view in (("bottom", View(first_row="bottom")), ("hidden", View(hidden_groups=(0,)))):
        frames = Frames(model, [feature("one")], PROFILE, view)
        frame = frames.render(data, "images.one")
        frames.close()
        found[name] = places(frame) if frame.any() else None
    return found


def copies() -> dict[str, bool]:
    model, data = model_and_data()
    frames = Frames(model, [feature("one")], PROFILE)
    first = frames.render(data, "images.one")
    kept = first.copy()
    model.geom_rgba[:] = 1.0
    second = frames.render(data, "images.one")
    untouched = np.array_equal(first, kept) and not np.array_equal(first, second)
    second.fill(0)
    third = frames.render(data, "images.one")
    frames.close()
    return {"a frame stays": untouched, "a frame is the caller's": bool(third.any())}


def contexts() -> bool:
    """Whether a lane's frames are the same after another, made earlier, was closed."""
    (model, data), (other, _) = model_and_data(), model_and_data()
    first, second = Frames(other, [feature("one")], PROFILE), Frames(model, [feature("one")], PROFILE)
    first.render(data, "images.one")
    before = second.render(data, "images.one")
    first.close()
    after = second.render(data, "images.one")
    second.close()
    return bool(np.array_equal(before, after))


def models() -> dict[str, dict[str, bool]]:
    """Going on with a model of another size, texture or floor: whether the frame is a new context's own and
    whether the context was kept."""
    changes = {"box": (1, 0.4, 1), "texture": (0.5, 0.2, 1), "floor": (1, 0.2, 0.5)}
    found = {}
    for name, numbers in changes.items():
        first, second = model_and_data(TEXTURED.format(1, 0.2, 1)), model_and_data(TEXTURED.format(*numbers))
        fresh = Frames(second[0], [feature("one")], PROFILE)
        expected = fresh.render(second[1], "images.one")
        fresh.close()
        frames = Frames(first[0], [feature("one")], PROFILE)
        before, context = frames.render(first[1], "images.one"), frames._context
        frames.show(second[0])
        after = frames.render(second[1], "images.one")
        found[name] = {
            "other picture": not np.array_equal(before, after),
            "as new": np.array_equal(expected, after),
            "kept": frames._context is context,
        }
        frames.close()
    return found


def closing() -> bool:
    """Frames may be closed before the first, and twice."""
    model, data = model_and_data()
    unused = Frames(model, [feature("one")], PROFILE)
    unused.close()
    frames = Frames(model, [feature("one")], PROFILE)
    frames.render(data, "images.one")
    frames.close()
    frames.close()
    return True


def refusals() -> dict[str, str]:
    found = {}
    for name, camera in (("another", "abvoe"), ("none", None)):
        try:
            Frames(model_and_data()[0], [feature("one", camera=camera)], PROFILE)
        except ProctorError as error:
            found[name] = f"{type(error).__name__}: {error}"
    found["no OpenGL"] = without_opengl()
    return found


def without_opengl() -> str:
    """What a frame says where MuJoCo has no context to offer, as with MUJOCO_GL=disable."""
    model, data = model_and_data()
    frames = Frames(model, [feature("one")], PROFILE)
    kept = mujoco.GLContext
    del mujoco.GLContext
    try:
        frames.render(data, "images.one")
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        mujoco.GLContext = kept
    return ""


if __name__ == "__main__":
    probes = (orientations, sizes, views, copies, contexts, models, closing, refusals)
    print(json.dumps({probe.__name__: probe() for probe in probes}))
