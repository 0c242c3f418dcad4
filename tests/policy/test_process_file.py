"""The policy process file: both schemas, and a code for every way it can be wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor import limits
from proctor.errors import UsageError
from proctor.policy import (
    POLICY_CONFIG_PATH,
    POLICY_CONFIG_SCHEMA_VERSION,
    PolicyConfigError,
    PolicyRuntimeConfig,
    load_policy_runtime_config,
)


def write(folder: Path, data: object) -> Path:
    file = folder / "policy.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


def valid(folder: Path, **changes: Any) -> dict[str, Any]:
    data = {"schema_version": 2, "command": [sys.executable, "policy.py"], "cwd": str(folder), **changes}
    return {name: value for name, value in data.items() if value is not ...}


def refusal(file: Path) -> PolicyConfigError:
    with pytest.raises(PolicyConfigError) as caught:
        load_policy_runtime_config(file)
    return caught.value


def test_the_fixed_path_and_the_newest_schema() -> None:
    assert (str(POLICY_CONFIG_PATH), POLICY_CONFIG_SCHEMA_VERSION) == ("/workspace/evostudio-policy.json", 2)


def test_schema_1(tmp_path: Path) -> None:
    file = write(tmp_path, valid(tmp_path, schema_version=1))
    assert load_policy_runtime_config(file) == PolicyRuntimeConfig(
        path=file, command=(sys.executable, "policy.py"), cwd=tmp_path, benchmark_config={}
    )


def test_schema_2_may_configure_benchmarks(tmp_path: Path) -> None:
    settings = {"metaworld": {"cameras": [{"feature": "images.primary"}]}}
    file = write(tmp_path, valid(tmp_path, benchmark_config=settings))
    assert load_policy_runtime_config(str(file)).benchmark_config == settings


def test_a_config_survives_json(tmp_path: Path) -> None:
    config = load_policy_runtime_config(write(tmp_path, valid(tmp_path, benchmark_config={"toy": {"a": 1}})))
    assert PolicyRuntimeConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_error_is_a_usage_error_and_a_value_error_that_names_the_file(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none.json")
    assert isinstance(error, UsageError)
    assert isinstance(error, ValueError)
    assert error.code == "missing_policy_config"
    assert str(tmp_path / "none.json") in str(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "must be an object, got list"),
        ("\ufeff{}", "not valid JSON"),
        ('{"schema_version": NaN}', "NaN is not a JSON value"),
        ('{"schema_version": 2, "schema_version": 1}', "field 'schema_version' appears more than once"),
        ("[" * 100_000, "not valid JSON"),
        ("{}", "schema_version must be 1 or 2, got None"),
        ('{"schema_version": "2"}', "schema_version must be 1 or 2, got '2'"),
        ('{"schema_version": true}', "schema_version must be 1 or 2, got True"),
        ('{"schema_version": 2.0}', "schema_version must be 1 or 2, got 2.0"),
    ],
)
def test_what_is_no_config_is_invalid(tmp_path: Path, content: str, message: str) -> None:
    error = refusal(write(tmp_path, content))
    assert error.code == "invalid_policy_config"
    assert message in str(error)


def test_bytes_that_are_no_text_are_invalid(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(b"\xff\xfe")
    assert refusal(file).code == "invalid_policy_config"


def test_a_folder_is_invalid(tmp_path: Path) -> None:
    assert refusal(tmp_path).code == "invalid_policy_config"


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(b" " * (limits.MAX_DEFINITION_BYTES + 1))
    assert f"larger than {limits.MAX_DEFINITION_BYTES} bytes" in str(refusal(file))


@pytest.mark.parametrize("version", [0, 3, -1])
def test_other_schemas_are_unsupported(tmp_path: Path, version: int) -> None:
    error = refusal(write(tmp_path, valid(tmp_path, schema_version=version)))
    assert error.code == "unsupported_policy_config_version"
    assert "supported: 1, 2" in str(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"comand": []}, "unknown field 'comand'; did you mean 'command'"),
        ({"schema_version": 1, "benchmark_config": {}}, "field 'benchmark_config' needs schema_version 2"),
        ({"command": ...}, "missing field 'command'"),
        ({"cwd": ...}, "missing field 'cwd'"),
        ({"benchmark_config": []}, "benchmark_config must be a mapping, got list"),
        ({"benchmark_config": {"toy": 3}}, "benchmark_config.toy must be a mapping, got int"),
    ],
)
def test_fields_are_exact(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    error = refusal(write(tmp_path, valid(tmp_path, **changes)))
    assert error.code == "invalid_policy_config"
    assert message in str(error)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("python policy.py", "command must be a list of strings, got str"),
        ([], "command must have 1 to 32 items, got 0"),
        (["/bin/sh"] * 33, "command must have 1 to 32 items, got 33"),
        (["/bin/sh", 3], "command[1] must be a string, got int"),
        (["/bin/sh", ""], "command[1] must have 1 to 1024 characters, got 0"),
        (["/bin/sh", "x" * 1025], "command[1] must have 1 to 1024 characters, got 1025"),
        (["/bin/sh", "a\0b"], "command[1] must not contain NUL"),
        (["python", "policy.py"], "command[0] must be an absolute path, got 'python'"),
    ],
)
def test_commands_that_are_none(tmp_path: Path, command: object, message: str) -> None:
    error = refusal(write(tmp_path, valid(tmp_path, command=command)))
    assert error.code == "invalid_policy_command"
    assert message in str(error)


def test_the_longest_command_is_accepted(tmp_path: Path) -> None:
    command = [sys.executable, *["x" * 1024] * 31]
    assert load_policy_runtime_config(write(tmp_path, valid(tmp_path, command=command))).command == tuple(
        command
    )


@pytest.mark.parametrize("program", ["missing", "plain.txt", "."])
def test_programs_that_cannot_be_executed(tmp_path: Path, program: str) -> None:
    (tmp_path / "plain.txt").write_text("text")
    error = refusal(write(tmp_path, valid(tmp_path, command=[str(tmp_path / program)])))
    assert error.code == "invalid_policy_executable"


@pytest.mark.parametrize(
    ("cwd", "message"),
    [
        (3, "cwd must be a string, got int"),
        ("", "cwd must have 1 to 1024 characters, got 0"),
        ("/" + "x" * 1024, "cwd must have 1 to 1024 characters, got 1025"),
        ("/a\0b", "cwd must not contain NUL"),
        ("here", "cwd must be an absolute path, got 'here'"),
        ("/no/such/folder", "cwd '/no/such/folder' is not an existing directory"),
        (sys.executable, "is not an existing directory"),
    ],
)
def test_working_directories_that_are_none(tmp_path: Path, cwd: object, message: str) -> None:
    error = refusal(write(tmp_path, valid(tmp_path, cwd=cwd)))
    assert error.code == "invalid_policy_cwd"
    assert message in str(error)


def test_from_dict_checks_as_the_file_does(tmp_path: Path) -> None:
    with pytest.raises(PolicyConfigError, match="unknown field 'comand'; did you mean 'command'"):
        PolicyRuntimeConfig.from_dict({"path": "x", "comand": [], "command": ["/bin/sh"], "cwd": "/"})
    with pytest.raises(PolicyConfigError, match="invalid_policy_cwd"):
        PolicyRuntimeConfig.from_dict({"path": "x", "command": ["/bin/sh"], "cwd": str(tmp_path / "none")})
