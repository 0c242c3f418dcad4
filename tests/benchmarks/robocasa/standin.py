"""A stand-in for upstream's Gymnasium environments: the shape of their objects, observations and cameras.

Nothing here is a result of RoboCasa; its numbers are made up, and its sentences are not upstream's.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.robocasa.layouts import LAYOUTS, Kind

Array = NDArray[Any]

CAMERAS = {
    "gr1": {"video.ego_view_bg_crop_pad_res256_freq20": "egoview"},
    "365": {
        "video.robot0_agentview_left": "robot0_agentview_left",
        "video.robot0_agentview_right": "robot0_agentview_right",
        "video.robot0_eye_in_hand": "robot0_eye_in_hand",
    },
}


class StandInObservable:
    """What samples one camera."""

    def __init__(self, sensor: Callable[[Any], Array]) -> None:
        self._sensor = sensor


class StandInRobosuite:
    """The parts of the robosuite environment inside that are touched."""

    def __init__(self, kind: Kind) -> None:
        self.rng: Any = None
        self.rendered: list[str] = []
        self.position = np.zeros(3)
        self._get_observations: Callable[..., dict[str, Any]]
        self.time = 0.0
        self.sim = SimpleNamespace(get_state=lambda: SimpleNamespace(flatten=self._flat))
        self._cameras = tuple(CAMERAS[kind].values())
        self._observables: dict[str, StandInObservable] = {}
        self.make_observables()

    @property
    def observation_names(self) -> set[str]:
        return {*self._observables, "robot0_joint_pos"}

    def make_observables(self) -> None:
        self._observables = {f"{name}_image": StandInObservable(self._camera(name)) for name in self._cameras}

    def modify_observable(self, name: str, attribute: str, modifier: Callable[[Any], Array]) -> None:
        assert attribute == "sensor"
        assert modifier.__modality__ == "image"  # type: ignore[attr-defined]
        self._observables[name]._sensor = modifier
        modifier({})  # upstream tries what it is given

    def frame(self, name: str) -> Array:
        return self._observables[f"{name}_image"]._sensor({})

    def _flat(self) -> Array:
        return np.array([self.time, *self.position])

    def _camera(self, name: str) -> Callable[[Any], Array]:
        def look(_: Any) -> Array:
            self.rendered.append(name)
            shade = int(100 + 50 * np.tanh(self.position.sum())) + len(name)
            return np.full((256, 256, 3), shade, np.uint8)

        look.__modality__ = "image"  # type: ignore[attr-defined]
        return look


class StandIn:
    """What `gymnasium.make` of upstream's returns, unwrapped."""

    def __init__(self, kind: Kind, raises: str = "") -> None:
        self.env = StandInRobosuite(kind)
        self.commands: list[dict[str, Array]] = []
        self.closed = 0
        self._kind, self._raises = kind, raises
        self._layout = LAYOUTS[kind]
        self._sentence = ""
        self.env._get_observations = lambda force_update: self._observed()

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self._fail("reset")
        self.env.make_observables()
        self.env.time = 0.0
        # As upstream draws: from its own generator, and from numpy's.
        self.env.position = np.append(self.env.rng.uniform(-1, 1, 2), np.random.RandomState(seed).rand())
        self._sentence = f"move the {self.env.rng.choice(['cup', 'can', 'corn'])}"
        return self._observed(), {"success": False}

    def step(self, command: dict[str, Array]) -> tuple[Any, ...]:
        self._fail("step")
        self.commands.append({key: value.copy() for key, value in command.items()})
        for value in command.values():
            self.env.position += 0.01 * float(np.tanh(value).sum())
        command.clear()  # upstream empties what it is given
        self.env.time += 0.05
        observed = self._observed()
        reached = round(self.env.time / 0.05) == 3
        return observed, float(reached), False, False, {"success": reached}

    def get_observation(self, raw: dict[str, Any]) -> dict[str, Any]:
        return raw

    def close(self) -> None:
        self._fail("close")
        self.closed += 1

    def _observed(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            key: (np.arange(size, dtype=np.float32) / 10 + self.env.position[0]).astype(np.float32)
            for key, size in self._layout.state
        }
        found |= {key: self.env.frame(camera) for key, camera in CAMERAS[self._kind].items()}
        return {**found, self._layout.language: self._sentence}

    def _fail(self, what: str) -> None:
        if self._raises == what:
            raise ValueError(f"no place for the cup in {what}")
