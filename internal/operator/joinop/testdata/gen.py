"""Writes join.sql, whose results on Apache Flink are join.jsonl: 4 kinds of join, by intervals and by tumbling windows.

Rows come up to 20 s out of order and none is late, since Flink's SQL pads late rows and Weir does not join them at all.
"""
import datetime
import random

random.seed(8)


def table(name, rows, parity):
    lines = []
    for i, (at, key, ts) in enumerate(rows):
        t = datetime.datetime(2024, 3, 1, 10) + datetime.timedelta(seconds=ts)
        lines.append('    {"at": %d, "row": [%d, "%s", "%s"]}' % (at * 2 + parity, i, key, t.strftime("%Y-%m-%d %H:%M:%S")))
    return """CREATE TABLE %s (id INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH (
  'connector' = 'replay',
  'rows' = '
%s
  ');
""" % (name, "\n".join(lines))


def rows(n):
    return [(i, random.choice("abcd"), max(0, 4 * i - random.randrange(19))) for i in range(n)]


out = [table("l", rows(50), 0), table("r", rows(50), 1)]
bounds = ["r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND",
          "r.ts > l.ts AND r.ts < l.ts + INTERVAL '12' SECOND",
          "r.ts BETWEEN l.ts - INTERVAL '25' SECOND AND l.ts - INTERVAL '5' SECOND"]
kinds = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
for b in bounds:
    for k in kinds:
        out.append("SELECT l.id, r.id FROM l %s r ON l.k = r.k AND %s;\n" % (k, b))
win = "(SELECT * FROM TABLE(TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '30' SECOND)))"
for k in kinds:
    out.append("SELECT l.id, r.id FROM %s l %s %s r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;\n" % (win % "l", k, win % "r"))
open("join.sql", "w").write("-- oracle: --materialize\n" + "\n".join(out))
