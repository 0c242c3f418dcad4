from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from proctor.evaluation.platform import NO_RENDERER, fingerprint, renderer

X86 = "processor\t: 0\nmodel name\t: Some  CPU @ 2.60GHz\nflags\t\t: avx2 sse\n\nmodel name\t: Other\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"


def of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    return fingerprint(path)


def test_it_names_machine_processor_and_libc(tmp_path: Path) -> None:
    assert re.fullmatch(r"\w+ / Some CPU @ 2\.60GHz \(flags [0-9a-f]{8}\) / \S.*", of(tmp_path, X86))
    assert " / 0x41 0xd40 (flags " in of(tmp_path, ARM)


def test_the_order_of_flags_does_not_matter_and_a_missing_one_does(tmp_path: Path) -> None:
    assert of(tmp_path, X86) == of(tmp_path, X86.replace("avx2 sse", "sse avx2"))
    assert of(tmp_path, X86) != of(tmp_path, X86.replace("avx2 sse", "sse"))


def test_a_machine_that_does_not_say_still_has_one(tmp_path: Path) -> None:
    assert fingerprint(tmp_path / "missing").count(" / ") == 2
    assert of(tmp_path, "").count(" / ") == 2


class Drawing:
    """A fake environment that draws without OpenGL."""

    def __init__(self, drawn_by: str) -> None:
        self.drawn_by = drawn_by


@pytest.mark.parametrize("found", ["vulkan: llvmpipe (LLVM 15.0.6, 256 bits)", ""])
def test_an_environment_that_draws_itself_says_by_what(found: str) -> None:
    assert renderer(Drawing(found)) == (found or NO_RENDERER)


@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_before_anything_was_rendered_there_is_no_renderer(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("MUJOCO_GL", backend)
    assert renderer() == NO_RENDERER


def test_a_renderer_that_loaded_nothing_but_egl_is_found_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ctypes.create_string_buffer(b"a synthetic renderer")
    get_string = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint)(lambda name: ctypes.addressof(text))

    class Egl:
        @staticmethod
        def eglGetProcAddress(name: bytes) -> int | None:
            return ctypes.cast(get_string, ctypes.c_void_p).value

    def load(name: str, mode: int) -> Egl:
        if name != "libEGL.so.1":
            raise OSError
        return Egl()

    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setattr("proctor.evaluation.platform.ctypes.CDLL", load)
    assert renderer() == "egl: a synthetic renderer"
