#!/usr/bin/env python3
"""The three jobs of the flights example, computed the plain way: read everything, sort, loop.

    python3 truth.py [--data DIR] [--out DIR]

It reads flights-2013-*.csv.zst through `zstd -dc`, writes delays.jsonl, top.jsonl and turnaround.jsonl, each sorted by
bytes, and counts.json. README.md defines what is computed. Only the standard library is used.
"""

import argparse
import csv
import io
import json
import os
import subprocess
from collections import Counter, defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LATE_MINUTES = 30
GAP_SECONDS = 12 * 3600
STREAK_MIN = 3


def scheduled(row):
    """The scheduled departure in seconds since 1970. README.md says what holds for hours that occur twice or never."""
    hhmm = int(row["sched_dep_time"])
    hour, minute = divmod(hhmm, 100)
    day = datetime(int(row["year"]), int(row["month"]), int(row["day"]))
    if hour == 24:  # 2400 is the midnight that ends the day
        day, hour = day + timedelta(days=1), 0
    local = day.replace(hour=hour, minute=minute, tzinfo=NEW_YORK, fold=0)
    utc = local.astimezone(timezone.utc)
    if utc.astimezone(NEW_YORK).replace(tzinfo=None) != local.replace(tzinfo=None):  # an hour that spring leaves out
        utc = local.replace(fold=1).astimezone(timezone.utc)
    return int((utc - EPOCH) / timedelta(seconds=1))


def rfc3339(seconds):
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_day(seconds):
    return (EPOCH + timedelta(seconds=seconds)).astimezone(NEW_YORK).strftime("%Y-%m-%d")


def number(x):
    """A float64 as Go's encoding/json writes it, for the magnitudes that occur here (no exponent)."""
    return str(int(x)) if x == int(x) else repr(x)


def read(folder):
    for name in sorted(folder.glob("flights-2013-*.csv.zst")):
        text = subprocess.run(["zstd", "-dcq", str(name)], check=True, stdout=subprocess.PIPE).stdout.decode()
        yield from csv.DictReader(io.StringIO(text))


def delays(flights):
    groups = defaultdict(list)
    for f in flights:
        groups[f["origin"], f["at"] // 3600 * 3600].append(f["delay"])
    for (origin, hour), values in groups.items():
        yield '{"origin":"%s","hour":"%s","flights":%d,"mean_dep_delay":%s,"max_dep_delay":%d}' % (
            origin, rfc3339(hour), len(values), number(sum(values) / len(values)), max(values))


def top(flights):
    groups = defaultdict(Counter)
    for f in flights:
        groups[f["origin"], local_day(f["at"])][f["dest"]] += 1
    for (origin, day), dests in groups.items():
        best = sorted(dests.items(), key=lambda item: (-item[1], item[0]))[:3]
        for rank, (dest, n) in enumerate(best, 1):
            yield '{"origin":"%s","day":"%s","rank":%d,"dest":"%s","flights":%d}' % (origin, day, rank, dest, n)


def streaks(departures):
    """All maximal streaks of late departures of one aircraft, short ones too."""
    streak, previous = [], None
    for f in departures:
        if streak and (f["delay"] <= LATE_MINUTES or f["at"] - previous > GAP_SECONDS):
            yield streak
            streak = []
        if f["delay"] > LATE_MINUTES:
            streak.append(f)
        previous = f["at"]
    if streak:
        yield streak


def turnaround(flights, counts):
    tails = defaultdict(list)
    for f in flights:
        if f["tailnum"] in ("", "NA"):
            counts["turnaround: unknown tail number"] += 1
        else:
            tails[f["tailnum"]].append(f)
    for tail, departures in tails.items():
        departures.sort(key=lambda f: (f["at"], f["scheduled"], f["flight"], f["origin"]))
        counts["turnaround: aircraft"] += 1
        counts["turnaround: not late"] += sum(f["delay"] <= LATE_MINUTES for f in departures)
        for a, b in zip(departures, departures[1:]):
            counts["turnaround: pairs of one aircraft at one instant"] += a["at"] == b["at"]
            counts["turnaround: pairs of late flights exactly 12 h apart"] += (
                b["at"] - a["at"] == GAP_SECONDS and min(a["delay"], b["delay"]) > LATE_MINUTES)
        for streak in streaks(departures):
            if len(streak) < STREAK_MIN:
                counts["turnaround: late in a streak below three"] += len(streak)
                continue
            counts["turnaround: late in a reported streak"] += len(streak)
            yield '{"tailnum":"%s","first":"%s","last":"%s","flights":%d,"delay_sum":%d}' % (
                tail, rfc3339(streak[0]["at"]), rfc3339(streak[-1]["at"]), len(streak), sum(f["delay"] for f in streak))


def main():
    here = Path(__file__).resolve().parent
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, default=here.parent / "data")
    args.add_argument("--out", type=Path, default=Path("."))
    args = args.parse_args()

    counts = Counter()
    flights = []
    for row in read(args.data):
        counts["rows read"] += 1
        if row["dep_time"] == "NA":
            counts["never departed"] += 1
            continue
        at = scheduled(row)
        delay = int(row["dep_delay"])
        flights.append({"at": at + 60 * delay, "scheduled": at, "delay": delay, "flight": int(row["flight"]),
                        "origin": row["origin"], "dest": row["dest"], "tailnum": row["tailnum"]})
    counts["departed"] = len(flights)

    os.makedirs(args.out, exist_ok=True)
    for name, lines in (("delays", delays(flights)), ("top", top(flights)), ("turnaround", turnaround(flights, counts))):
        lines = sorted(lines)
        counts[name + ": results"] = len(lines)
        (args.out / (name + ".jsonl")).write_text("".join(line + "\n" for line in lines))
    tops = [json.loads(line) for line in (args.out / "top.jsonl").read_text().splitlines()]
    counts["top: flights to the first three"] = sum(t["flights"] for t in tops)
    counts["top: flights to others"] = len(flights) - counts["top: flights to the first three"]
    (args.out / "counts.json").write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
