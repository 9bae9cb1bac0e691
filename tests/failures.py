"""Print the name of a failed test at once, not at the end of the run, even with workers."""

import pytest


class Naming:
    """Plugin of the process that writes to the terminal."""

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
    """Register the plugin once, but not in a worker, whose output is not shown."""
    if not hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("naming"):
        config.pluginmanager.register(Naming(config), "naming")
