from __future__ import annotations

from proctor.launch.graphics import Graphics
from proctor.launch.surroundings import host_environment, worker_environment

EGL = Graphics("egl", "probed")


def test_a_worker_has_one_thread_and_the_chosen_renderer() -> None:
    made = worker_environment(EGL, {"PATH": "/bin"})
    assert made["PATH"] == "/bin"
    assert (made["OMP_NUM_THREADS"], made["OPENBLAS_NUM_THREADS"]) == ("1", "1")
    assert made["MUJOCO_GL"] == "egl"


def test_a_thread_count_of_the_users_own_is_kept() -> None:
    assert worker_environment(EGL, {"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"] == "4"


def test_nothing_of_our_interpreter_reaches_a_foreign_one() -> None:
    ours = {"PYTHONPATH": "/ours", "PYTHONHOME": "/ours", "VIRTUAL_ENV": "/ours"}
    assert ours.keys().isdisjoint(worker_environment(EGL, ours))


def test_without_graphics_the_users_choice_stays() -> None:
    assert worker_environment(None, {"MUJOCO_GL": "osmesa"})["MUJOCO_GL"] == "osmesa"
    assert "MUJOCO_GL" not in worker_environment(None, {})


def test_a_policys_process_keeps_everything() -> None:
    assert host_environment({"PYTHONPATH": "/mine"}) == {"PYTHONPATH": "/mine", "PYTHONUNBUFFERED": "1"}
