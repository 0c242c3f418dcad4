"""The HTTP episode protocol: init, one action a step, finalize; `docs/reference/dialect-episode-http.md`."""

from proctor.wire.episode_http.client import EpisodeHttpSession
from proctor.wire.episode_http.dialect import DIALECT

__all__ = ["DIALECT", "EpisodeHttpSession"]
