"""Attacks a real planwrightd on the loopback, one numbered attack after the other, and says what held.

    run.py --daemon build/release/bin/planwrightd            all of them
    run.py --daemon ... 2 7                                  those with these numbers
    run.py --daemon ... --mixed=600                          ten minutes of all that mix, several at a time
    run.py --list                                            what there is

Exit code 1: something did not hold; 77: something that it needs is not installed.
"""
import argparse
import importlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import arena as arenas  # noqa: E402


def number_of(attack):
    digits = "".join(c for c in attack.number if c.isdigit())
    return int(digits or 0), attack.number


def load_attacks():
    for file in sorted(HERE.glob("*_attacks.py")):
        importlib.import_module(file.stem)
    return sorted(arenas.ATTACKS, key=number_of)


def run_one(attack, daemon, slack_ms):
    """Whether it held; prints a row."""
    start = time.monotonic()
    why = ""
    arena = None
    try:
        with arenas.open_arena(daemon, slack_ms) as arena:
            attack.run(arena)
    except arenas.Failure as failure:
        why = str(failure)
    except Exception:  # An attack that breaks has shown nothing.
        why = traceback.format_exc()
    seconds = time.monotonic() - start
    results = arena.results if arena is not None else []
    p99 = ", ".join(f"{r.quiet_p99_ms:.0f} -> {r.attacked_p99_ms:.0f}" for r in results) or "-"
    probe = f"{max(r.worst_probe_ms for r in results):.0f}" if results else "-"
    peak = max((server.peak_mib for server in arena.servers), default=0) if arena is not None else 0
    print(f"{attack.number:>4}  {'FAILED' if why else 'held':6}  {seconds:5.0f}  {p99:>16}  {probe:>5}  {peak:5.0f}  "
          f"{attack.title}", flush=True)
    if why:
        print("      " + why.rstrip().replace("\n", "\n      "), flush=True)
    return not why


# Of the server that is attacked by all at once: what it may take, and what measuring and malloc add.
MIXED_BUDGET_MIB = 1024
MIXED_SHARE_OVER_BUDGET = 1.2
MIXED_AT_A_TIME = 3
# Of one attack among the others, which is told to end then.
MIXED_SECONDS = 40
# Attackers have processors of their own; here they yield to the server and its ordinary client, searches included.
ATTACKER_NICENESS = 15


def start_share(attack, server):
    """A process that runs one attack against the server; what it finds of its own does not count."""
    return subprocess.Popen([sys.executable, __file__, attack.number, "--against", server.address, server.http,
                             str(server.pid), server.log_file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            preexec_fn=lambda: os.nice(ATTACKER_NICENESS))


def attack_for(seconds, attacks, server):
    """Runs the attacks in turn, MIXED_AT_A_TIME at a time; how many ran, the most memory that was seen in MiB, and beside
    which attacks."""
    end = time.monotonic() + seconds
    turns = itertools.cycle(attacks)
    running = []
    count = 0
    peak = 0.0
    beside = ""
    try:
        while time.monotonic() < end:
            arenas.expect(server.is_running(), f"planwrightd ended with {server.process.poll()}")
            for share in list(running):
                process, start, _ = share
                if process.poll() is not None or time.monotonic() > start + MIXED_SECONDS:
                    process.kill()
                    process.wait()
                    running.remove(share)
            while len(running) < MIXED_AT_A_TIME:
                attack = next(turns)
                running.append((start_share(attack, server), time.monotonic(), attack.number))
                count += 1
            if server.rss_mib() > peak:
                peak = server.rss_mib()
                beside = ", ".join(f"{number} for {time.monotonic() - start:.0f} s" for _, start, number in running)
            time.sleep(0.1)
    finally:
        for process, _, _ in running:
            process.kill()
            process.wait()
    return count, peak, beside


def mixed_attack(seconds, attacks):
    def run(arena):
        server = arena.serve(f"--memory_budget={MIXED_BUDGET_MIB}MiB", f"--store=sqlite:{arena.folder}/mixed.db")
        # The p99 of few calls is their slowest: a tenth of the time says what is usual here.
        with arena.bystander(server, options=(f"--quiet_seconds={max(4, min(60, seconds / 10)):.0f}",)):
            count, peak, beside = attack_for(seconds, attacks, server)
        print(f"      {count} attacks, at most {peak:.0f} MiB of a budget of {MIXED_BUDGET_MIB}, beside {beside}", flush=True)
        arenas.expect(peak <= MIXED_SHARE_OVER_BUDGET * MIXED_BUDGET_MIB, f"planwrightd took {peak:.0f} MiB")
    return arenas.Attack("all", f"{seconds:.0f} s of {len(attacks)} attacks mixed", run, mixes=False)


def run_share(attack, server):
    """One attack against a server that others attack as well."""
    with tempfile.TemporaryDirectory(prefix="planwright-attack-") as folder:
        attack.run(arenas.SharedArena(server, folder))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", help="the attacks to run; none: all")
    parser.add_argument("--daemon", default="build/release/bin/planwrightd")
    parser.add_argument("--slack_ms", type=float, default=50,
                        help="what an ordinary call may take beyond twice its undisturbed p99, a probe beyond 100 ms")
    parser.add_argument("--mixed", type=float, metavar="SECONDS", help="only the mixed attack, for this long")
    parser.add_argument("--against", nargs=4, metavar=("ADDRESS", "HTTP", "PID", "LOG"), help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    attacks = load_attacks()
    unknown = set(options.numbers) - {attack.number for attack in attacks}
    if unknown:
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; --list tells those that there are")
    if options.numbers:
        attacks = [attack for attack in attacks if attack.number in options.numbers]
    if options.list:
        for attack in attacks:
            print(f"{attack.number:>4}  {attack.title}")
        return 0
    if options.against:
        return run_share(attacks[0], arenas.SharedServer(*options.against))
    if options.mixed:
        attacks = [mixed_attack(options.mixed, [attack for attack in attacks if attack.mixes])]
    print("  no  outcome     s  p99, quiet -> ms  probe    MiB  attack", flush=True)
    held = [run_one(attack, options.daemon, options.slack_ms) for attack in attacks]
    print(f"{sum(held)} of {len(held)} attacks held", flush=True)
    return 0 if all(held) else 1


sys.exit(main())
