"""Examine a running policy server: what an evaluation would otherwise find out hours later."""

from proctor.wire.checks.examine import Examination, check_server
from proctor.wire.checks.report import Report

__all__ = ["Examination", "Report", "check_server"]
