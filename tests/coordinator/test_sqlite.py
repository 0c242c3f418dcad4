from pathlib import Path

import pytest

from proctor.testing.stores import StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/run.db"
