"""Things found by name, built in or installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from proctor import plugins
from proctor.errors import ProtocolError, UnknownNameError
from proctor.plugins import Plugins

SHAPES = Plugins(
    what="shape",
    group="proctor.shapes",
    built_in={"square": "math:sqrt", "circle": "math:pi"},
    fault=ProtocolError,
)


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = [EntryPoint(name, value, SHAPES.group) for name, value in values.items()]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == SHAPES.group else [])


def test_names_are_listed_without_loading_them(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, mine="no_such_module:SHAPE")
    assert SHAPES.names() == ["circle", "mine", "square"]


def test_a_built_in_name_is_loaded() -> None:
    assert SHAPES.load("circle") == pytest.approx(3.14159, abs=1e-5)


def test_an_installed_plugin_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, mine="math:tau")
    assert SHAPES.load("mine") == pytest.approx(6.28318, abs=1e-5)


def test_a_broken_plugin_is_the_error_of_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, mine="no_such_module:SHAPE")
    assert SHAPES.load("circle") > 3
    with pytest.raises(ProtocolError, match=r"shape 'mine' \(no_such_module:SHAPE\) cannot be loaded"):
        SHAPES.load("mine")


def test_a_plugin_cannot_take_a_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(monkeypatch, circle="somewhere:ELSE")
    assert SHAPES.names() == ["circle", "square"]
    assert SHAPES.load("circle") > 3
    assert "shape 'circle' of somewhere:ELSE is ignored: the name is taken" in caplog.messages


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown shape 'cirle'; did you mean 'circle'"):
        SHAPES.load("cirle")
