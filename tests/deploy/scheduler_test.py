"""The example scheduler on a real planwrightd: scheduler_test.py PLANWRIGHTD."""
import contextlib
import io
import pathlib
import sys
import unittest

from fleet import Server, connect

sys.path.append(str(pathlib.Path("docs/examples").absolute()))
import scheduler  # noqa: E402  (once the stubs are there)

DAEMON = sys.argv[1]
SMALL = "zoo:transformer?layers={}&hidden=512&heads=8&vocab=1000&sequence=128"


class SchedulerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(DAEMON, "none")
        cls.stub, cls.channel = connect([cls.server])

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        assert cls.server.stop() == 0

    def test_a_queue_is_planned_and_no_device_is_given_twice(self):
        pools = [scheduler.Pool(self.stub, "a", "zoo:dgx-h100:1?devices=4"), scheduler.Pool(self.stub, "b", "zoo:dgx-a100:1?devices=2")]
        jobs = [scheduler.Job(f"job{i}", SMALL.format(2 + i % 3), pace_ms=0.35 + 0.1 * (i % 4), micro_batches=1000 * (1 + i % 5))
                for i in range(30)]
        jobs.insert(7, scheduler.Job("hopeless", SMALL.format(4), pace_ms=1e-6, micro_batches=1))
        said = list(scheduler.schedule(pools, jobs))
        self.assertEqual([job.name for job, start in said if start is None], ["hopeless"])
        starts = [start for _, start in said if start is not None]
        self.assertEqual(len({start.job.name for start in starts}), 30)
        self.assertEqual(starts, sorted(starts, key=lambda start: start.begin_ms))
        for start in starts:
            self.assertLessEqual((start.end_ms - start.begin_ms) / start.job.micro_batches, start.job.pace_ms * (1 + 1e-9))
            self.assertLessEqual(set(start.devices), start.pool.devices)
            for other in starts:
                at_once = other.begin_ms < start.end_ms and start.begin_ms < other.end_ms
                if other is not start and other.pool is start.pool and at_once:
                    self.assertFalse(set(start.devices) & set(other.devices))
        # Some had to wait, and both pools were of use.
        self.assertGreater(starts[-1].begin_ms, 0)
        self.assertEqual({start.pool.name for start in starts}, {"a", "b"})

    def test_the_example_runs_as_it_is(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            scheduler.main(self.server.address)
        print(printed.getvalue())
        lines = printed.getvalue().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertIn("never   hopeless", lines[-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
