"""A scheduler and workers to test with."""

import json
import os
import subprocess
import sys
import time

PATIENCE = 120  # seconds until a test gives up


class Processes:
    """A scheduler and workers, each a process of its own that nothing restarts."""

    def __init__(self, directory, **environment):
        self.file, self.running = directory / "scheduler.json", []
        self.environment = {**os.environ, **environment}
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def start_worker(self, **environment):
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        return self._start("dask_worker", *options, **environment)

    def _start(self, kind, *options, **environment):
        command = [sys.executable, "-m", f"distributed.cli.{kind}", "--scheduler-file", str(self.file)]
        with open(self.file.with_name(f"{len(self.running)}.log"), "w") as log:
            process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=subprocess.STDOUT, env=self.environment | environment
            )
        self.running.append(process)
        return process

    def stop(self):
        for process in self.running:
            process.kill()
            process.wait()


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.01)


def chunks_in(store):
    return len(list(store.glob("0*.npy")))
