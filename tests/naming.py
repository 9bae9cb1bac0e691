"""Names a test that failed when it fails, not at the end of the run; also with several workers."""

import pytest


class Naming:
    """A plugin of the process that writes to the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._name(report.nodeid, report.when)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._name(report.nodeid, "collect")

    def _name(self, test: str, stage: str) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"FAILED NOW {test} ({stage})", red=True)
            terminal.flush()


def name_failures(config: pytest.Config) -> None:
    """Register the plugin, once and not in a worker: what it writes is seen by nobody."""
    if not hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("naming"):
        config.pluginmanager.register(Naming(config), "naming")
