from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from proctor.errors import PolicyConfigError, UsageError
from proctor.launch.digests import digest_of, files_of_command
from proctor.launch.policies import (
    HIDDEN,
    ClassPolicy,
    CommandPolicy,
    HeldPolicy,
    RunningPolicy,
    policy_record,
    policy_source,
    shown,
    shown_command,
)
from proctor.testing.toy_policies import PixelPolicy


@pytest.fixture
def process_file(tmp_path: Path) -> Path:
    file = tmp_path / "policy.json"
    file.write_text(f'{{"schema_version": 1, "command": ["/bin/true"], "cwd": "{tmp_path}"}}')
    return file


class TestKinds:
    def test_object(self) -> None:
        policy = PixelPolicy()
        assert policy_source(policy) == HeldPolicy(policy)

    @pytest.mark.parametrize("spec", ["my.py:Mine", "/abs/my.py:Mine", "package.module:Mine", "unix.py:Mine"])
    def test_class(self, spec: str) -> None:
        assert policy_source(spec, {"a": 1}, "env:x") == ClassPolicy(spec, {"a": 1}, "env:x")

    def test_process_file(self, process_file: Path) -> None:
        source = policy_source(process_file)
        assert isinstance(source, CommandPolicy)
        assert source.config.command == ("/bin/true",)

    def test_process_file_that_is_not_there(self) -> None:
        with pytest.raises(PolicyConfigError, match=r"nothing\.json: no such file"):
            policy_source("nothing.json")

    def test_endpoint(self) -> None:
        assert policy_source("unix:/run/policy.sock") == RunningPolicy("unix:/run/policy.sock")

    @pytest.mark.parametrize("text", ["", "policy", "my.py", "some/folder"])
    def test_none_of_them(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"is none of file\.py:Class, module:Class, a policy process"):
            policy_source(text)

    @pytest.mark.parametrize("policy", [PixelPolicy(), "unix:/run/policy.sock"])
    @pytest.mark.parametrize(("args", "python"), [({"a": 1}, None), (None, "python3")])
    def test_options_that_nothing_would_use(
        self, policy: PixelPolicy | str, args: dict[str, int] | None, python: str | None
    ) -> None:
        with pytest.raises(UsageError, match="cannot be given: "):
            policy_source(policy, args, python)

    @pytest.mark.parametrize("value", [object(), {1, 2}, float("nan")])
    def test_arguments_that_cannot_travel(self, value: object) -> None:
        with pytest.raises(UsageError, match="policy arguments must be JSON values"):
            policy_source("m:C", {"a": value})


class TestRecord:
    def test_class_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "my.py").write_text("x")
        record = policy_record(ClassPolicy(f"{tmp_path / 'my.py'}:Mine", {"size": 2}), None)
        assert record.args == {"size": 2}
        assert record.file_sha256 == hashlib.sha256(b"x").hexdigest()

    def test_class_of_a_module_is_known_by_its_file_without_being_imported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "__init__.py").write_text("raise RuntimeError('imported')")
        (tmp_path / "mine" / "model.py").write_text("raise RuntimeError('imported')")
        monkeypatch.chdir(tmp_path)
        record = policy_record(ClassPolicy("mine.model:Mine"), None)
        assert record.file_sha256 == digest_of(tmp_path / "mine" / "model.py")
        assert record.verified is True

    def test_a_module_that_only_another_interpreter_has_is_not_verified(self) -> None:
        record = policy_record(ClassPolicy("msgspec:Mine", python="env:x"), None)
        assert (record.file_sha256, record.verified) == (None, False)

    def test_a_process_file_is_known_by_the_files_its_command_names(self, tmp_path: Path) -> None:
        script, file = tmp_path / "serve.py", tmp_path / "policy.json"
        script.write_text("1")
        command = '["/usr/bin/env", "python", "serve.py", "--size", "2"]'
        file.write_text(f'{{"schema_version": 1, "command": {command}, "cwd": "{tmp_path}"}}')
        before = policy_record(policy_source(file), None)
        script.write_text("2")
        after = policy_record(policy_source(file), None)
        assert before.verified is True
        assert before.file_sha256 == after.file_sha256
        assert set(before.files_sha256) == {"/usr/bin/env", "serve.py"}
        assert before.files_sha256["serve.py"] != after.files_sha256["serve.py"]

    def test_a_process_file_whose_command_names_a_module(self, tmp_path: Path) -> None:
        (tmp_path / "serve.py").write_text("1")
        command = (sys.executable, "-m", "serve")
        assert files_of_command(command, tmp_path) == {"serve": digest_of(tmp_path / "serve.py")}
        assert files_of_command((sys.executable, "-m", "elsewhere"), tmp_path) == {}

    def test_a_running_server_is_not_verified(self) -> None:
        assert policy_record(RunningPolicy("unix:/x"), None).verified is False

    def test_class_of_a_module_that_is_nowhere(self) -> None:
        record = policy_record(ClassPolicy("package:Mine"), "hub/model")
        assert (record.spec, record.file_sha256) == ("package:Mine", None)
        assert (record.checkpoint, record.checkpoint_sha256) == ("hub/model", None)

    def test_object_is_known_by_its_class_and_source(self) -> None:
        record = policy_record(HeldPolicy(PixelPolicy()), None)
        assert record.spec == "object:proctor.testing.toy_policies.PixelPolicy"
        assert record.file_sha256 is not None

    def test_checkpoint_digest_changes_with_content_and_names(self, tmp_path: Path) -> None:
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        (folder / "a").write_text("1")
        first = policy_record(ClassPolicy("m:C"), str(folder)).checkpoint_sha256
        (folder / "a").rename(folder / "b")
        second = digest_of(folder)
        (folder / "b").write_text("2")
        assert len({first, second, digest_of(folder)}) == 3

    @pytest.mark.parametrize("name", ["token", "hf_token", "API_KEY", "password", "client_secret"])
    def test_secrets_are_not_written_down(self, name: str) -> None:
        assert shown({name: "s3cr3t", "size": 2}) == {name: HIDDEN, "size": 2}
        assert policy_record(ClassPolicy("m:C", {name: "s3cr3t"}), None).args == {name: HIDDEN}

    @pytest.mark.parametrize(
        ("value", "left"),
        [
            ({"hub": {"token": "s3cr3t"}}, {"hub": {"token": HIDDEN}}),
            ([{"password": "s3cr3t"}], [{"password": HIDDEN}]),
            ("https://me:s3cr3t@hub/model", f"https://{HIDDEN}@hub/model"),
            ("s3://bucket/model?key=s3cr3t&b=s3cr3t", f"s3://bucket/model?key={HIDDEN}&b={HIDDEN}"),
            ("a=b", "a=b"),
            (None, None),
        ],
    )
    def test_secrets_are_found_wherever_they_are(self, value: object, left: object) -> None:
        assert shown(value) == left

    def test_a_checkpoints_address_opens_nothing(self) -> None:
        record = policy_record(ClassPolicy("m:C"), "https://me:s3cr3t@hub/model")
        assert record.checkpoint == f"https://{HIDDEN}@hub/model"

    @pytest.mark.parametrize(
        ("word", "left"),
        [
            ("api_key=s3cr3t", f"api_key={HIDDEN}"),
            ("--policy-arg=api_key=s3cr3t", f"--policy-arg=api_key={HIDDEN}"),
            ('hub={"token": "s3cr3t", "n": 1}', f'hub={{"token": "{HIDDEN}", "n": 1}}'),
            ("url=https://me:s3cr3t@hub", f"url=https://{HIDDEN}@hub"),
            ("https://hub/model?sig=s3cr3t", f"https://hub/model?sig={HIDDEN}"),
            ("n=[1,  2]", "n=[1,  2]"),
            ("--run", "--run"),
        ],
    )
    def test_a_command_is_written_down_without_secrets(self, word: str, left: str) -> None:
        assert shown_command(("proctor", word)) == ("proctor", left)
