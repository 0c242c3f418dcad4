from __future__ import annotations

import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proctor.errors import EnvironmentMissing, InfrastructureFault, UnknownNameError, UsageError
from proctor.launch import environments, vulkan
from proctor.launch.environment_check import check

Define = Callable[..., environments.EnvironmentDefinition]

GOOD = 'schema = 1\ntitle = "Tiny"\ngraphics = "none"\n'


def locked(package: str) -> str:
    """The entry of one package in a lock that ships with proctor."""
    lock = environments.find("metaworld").lock.read_text()
    entry = re.search(rf"^{package}==.*(?:\n    --hash=.*)+", lock, re.MULTILINE)
    assert entry is not None
    return entry.group() + "\n"


@pytest.fixture
def define(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Define:
    """Makes definitions in a working directory of their own, with a home of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))

    def write(
        text: str = GOOD, lock: str | None = "", name: str = "tiny"
    ) -> environments.EnvironmentDefinition:
        directory = tmp_path / "conf" / "environments" / name
        directory.mkdir(parents=True)
        (directory / "environment.toml").write_text(text)
        if lock is not None:
            (directory / "requirements.lock").write_text(lock)
        return environments.find(name)

    return write


class TestDefinition:
    def test_shipped_environments(self) -> None:
        assert {"aloha", "metaworld"} <= set(environments.names())

    def test_those_that_need_a_checkout_are_built_only_by_name(self) -> None:
        assert {"robotwin", "robopro"} <= set(environments.names())
        assert not {"robotwin", "robopro"} & set(environments.complete_names())
        assert "aloha" in environments.complete_names()

    def test_those_that_few_machines_render_are_built_only_by_name(self) -> None:
        assert "maniskill" in environments.names()
        assert "maniskill" not in environments.complete_names()

    @pytest.mark.parametrize("name", ["aloha", "maniskill", "metaworld", "robotwin", "robopro"])
    def test_shipped_locks_are_hashed_and_name_no_index(self, name: str) -> None:
        lock = environments.find(name).lock.read_text()
        assert "://" not in lock
        assert "--index" not in lock
        assert "--find-links" not in lock
        packages = re.findall(r"^\S+==\S+.*", lock, re.MULTILINE)
        assert packages
        assert all(line.endswith("\\") for line in packages), "every package is followed by its hashes"

    def test_the_working_directory_comes_first(self, define: Define) -> None:
        assert define(name="aloha").title == "Tiny"

    def test_unknown_name(self) -> None:
        with pytest.raises(UnknownNameError, match="unknown environment 'alhoa'; did you mean 'aloha'"):
            environments.find("alhoa")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("schema = 2\ngraphics = 'none'", "schema is 2; this proctor reads schema 1"),
            ("graphics = 'none'", "schema is None"),
            ("schema = 1\ngraphics = 'mujoko'", "did you mean 'mujoco'"),
            ("schema = 1\ngraphics = 'none'\ntitel = 'x'", "did you mean 'title'"),
            ("schema = ", "environment.toml: Invalid value"),
        ],
    )
    def test_wrong_field(self, define: Define, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=re.escape(message)):
            define(text)

    def test_no_lock(self, define: Define) -> None:
        with pytest.raises(UsageError, match=r"environment 'tiny' has no .*requirements\.lock"):
            environments.location(define(lock=None))


class TestAddress:
    def test_equal_locks_have_one_address(self) -> None:
        assert environments.address(b"a==1") == environments.address(b"a==1")

    def test_another_lock_is_another_address(self) -> None:
        assert environments.address(b"a==1") != environments.address(b"a==2")

    def test_another_python_is_another_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        here = environments.address(b"a==1")
        monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
        assert environments.address(b"a==1") != here

    def test_location_is_under_home_and_named(self, define: Define, tmp_path: Path) -> None:
        place = environments.location(define())
        assert place.parent == tmp_path / "home" / "environments"
        assert re.fullmatch(r"tiny-[0-9a-f]{12}", place.name)


class TestInterpreter:
    def test_host_is_the_running_one(self) -> None:
        assert environments.interpreter("host") == Path(sys.executable)

    def test_not_built_names_the_command(self, define: Define) -> None:
        define()
        with pytest.raises(
            EnvironmentMissing, match="environment 'tiny' is not built; run: proctor env build tiny"
        ):
            environments.interpreter("tiny")

    def test_half_a_directory_is_not_built(self, define: Define) -> None:
        definition = define()
        environments.location(definition).mkdir(parents=True)
        assert not environments.is_built(definition)

    def test_check_of_what_is_not_built_has_the_remedy(self, define: Define) -> None:
        define()
        (finding,) = check("tiny")
        assert (finding.ok, finding.remedy) == (False, "proctor env build tiny")

    def test_check_of_a_checkout_that_is_absent_says_so_before_anything_is_built(
        self, define: Define
    ) -> None:
        definition = define()
        (definition.directory / "environment.toml").write_text(
            'schema = 1\ntitle = "T"\ngraphics = "sapien"\n'
            '[source]\nrepository = "https://example.org/s"\ncommit = "c0ffee"\nvariable = "TINY_ROOT"\n'
        )
        findings = check("tiny")
        assert [(each.what, each.ok) for each in findings] == [
            ("source", False),
            ("built", False),
            ("renderer", False),
        ]

    def test_an_unknown_key_of_the_source_is_refused_with_the_nearest(self, define: Define) -> None:
        definition = define()
        (definition.directory / "environment.toml").write_text(
            'schema = 1\ngraphics = "none"\n[source]\nrepositry = "https://example.org/s"\n'
        )
        with pytest.raises(UnknownNameError, match="did you mean 'repository'"):
            environments.find("tiny")


@pytest.mark.process
class TestBuild:
    def test_built_from_the_lock_and_checked(self, define: Define) -> None:
        define(lock=locked("packaging"))
        said: list[str] = []
        place = environments.build("tiny", said.append)
        assert environments.interpreter("tiny") == place / "bin" / "python"
        assert set(environments.packages(place / "bin" / "python")) == {"packaging"}
        assert [finding.ok for finding in check("tiny")] == [True, True]
        assert said == [f"tiny: building {place}", "tiny: built"]

    def test_a_second_build_does_nothing(self, define: Define) -> None:
        define(lock=locked("packaging"))
        place = environments.build("tiny")
        before = (place / environments.MANIFEST).stat()
        said: list[str] = []
        environments.build("tiny", said.append)
        assert (place / environments.MANIFEST).stat() == before
        assert said == ["tiny: already built"]

    def test_builders_at_the_same_time_build_once(self, define: Define) -> None:
        define(lock=locked("packaging"))
        said: list[str] = []
        with ThreadPoolExecutor(3) as pool:
            places = set(pool.map(lambda _: environments.build("tiny", said.append), range(3)))
        assert len(places) == 1
        assert said.count("tiny: built") == 1

    def test_a_wrong_hash_leaves_nothing_behind(self, define: Define, tmp_path: Path) -> None:
        entry = locked("packaging").splitlines()[0]
        define(lock=f"{entry}\n    --hash=sha256:{'0' * 64}\n")
        with pytest.raises(InfrastructureFault, match="uv pip failed:"):
            environments.build("tiny")
        left = [path for path in (tmp_path / "home" / "environments").iterdir() if path.is_dir()]
        assert left == []

    def test_what_a_killed_build_left_is_removed(self, define: Define) -> None:
        place = environments.location(define(lock=locked("packaging")))
        left = place.with_name(f".{place.name}.killed")
        left.mkdir(parents=True)
        environments.build("tiny")
        assert not left.exists()

    def test_a_vanished_base_python_means_not_built(self, define: Define) -> None:
        definition = define(lock=locked("packaging"))
        python = environments.build("tiny") / "bin" / "python"
        python.unlink()
        python.symlink_to("/does/not/exist")
        assert not environments.is_built(definition)
        environments.build("tiny")
        assert environments.is_built(definition)

    def test_a_changed_package_is_found(self, define: Define) -> None:
        define(lock=locked("packaging"))
        place = environments.build("tiny")
        (metadata,) = place.glob("lib/*/site-packages/packaging-*/METADATA")
        changed = metadata.read_text().replace("\nVersion: ", "\nVersion: 9", 1)
        metadata.unlink()  # it may be a hard link into uv's cache, which must stay as it is
        metadata.write_text(changed)
        finding = check("tiny")[1]
        assert not finding.ok
        assert re.fullmatch(r"packaging 9\S+ \(locked \S+\)", finding.detail)
        assert finding.remedy == f"rm -r {place} && proctor env build tiny"

    def test_modules_of_a_checkout_are_imported_and_a_frame_is_traced_where_it_was_built(
        self, define: Define, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TINY_ROOT", str(tmp_path / "checkout"))
        (tmp_path / "checkout" / "src").mkdir(parents=True)
        (tmp_path / "checkout" / "src" / "tiny_planner.py").touch()
        define(
            'schema = 1\ngraphics = "sapien"\n[source]\nrepository = "https://example.org/s"\n'
            'commit = "c0ffee"\nvariable = "TINY_ROOT"\npython_path = ["src"]\n'
            'imports = ["tiny_planner", "tiny_absent"]\n',
            lock=locked("packaging"),
        )
        environments.build("tiny")
        present, absent, renderer = check("tiny")[-3:]
        assert (present.ok, present.detail) == (True, "tiny_planner")
        assert (absent.ok, absent.detail) == (
            False,
            "tiny_absent: ModuleNotFoundError: No module named 'tiny_absent'",
        )
        assert not renderer.ok
        assert "No module named 'sapien'" in renderer.detail
        assert "GPU" in renderer.remedy

    def test_a_machine_without_a_vulkan_device_is_told_before_and_after_building(
        self, define: Define, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vulkan, "manifests", lambda _: [])
        define('schema = 1\ngraphics = "vulkan"\n', lock=locked("packaging"))
        before = check("tiny")[-1]
        environments.build("tiny")
        after = check("tiny")[-1]
        assert before == after
        assert (after.what, after.ok) == ("Vulkan device", False)
        assert after.detail == "no Vulkan device on this machine (no driver is installed)"
        assert "bookworm-backports" in after.remedy

    def test_a_device_that_sapien_does_not_render_on_is_told_with_what_it_says(
        self, define: Define, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vulkan, "require", lambda: ["llvmpipe, Vulkan 1.3.230"])
        define('schema = 1\ngraphics = "vulkan"\n', lock=locked("packaging"))
        environments.build("tiny")
        device, renderer = check("tiny")[-2:]
        assert (device.ok, device.detail) == (True, "llvmpipe, Vulkan 1.3.230")
        assert (renderer.what, renderer.ok) == ("renderer", False)
        assert renderer.detail == "ModuleNotFoundError: No module named 'sapien'"
        assert "Mesa" in renderer.remedy

    def test_a_plugin_that_cannot_render_is_found_with_the_packages_it_may_lack(self, define: Define) -> None:
        define('schema = 1\ngraphics = "pybullet"\n', lock=locked("packaging"))
        environments.build("tiny")
        renderer = check("tiny")[-1]
        assert (renderer.what, renderer.ok) == ("renderer", False)
        assert renderer.detail == "ModuleNotFoundError: No module named 'pybullet'"
        assert "libegl1" in renderer.remedy
