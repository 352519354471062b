-- A second opinion on truth.py: the same three jobs in SQLite, with the C library's time zones and window functions.
-- README.md has the command.

CREATE TABLE f AS
SELECT CAST(strftime('%s', printf('%04d-%02d-%02d %02d:%02d:00', year, month, day, sched_dep_time / 100, sched_dep_time % 100), 'utc')
         AS INTEGER) AS scheduled,
       CAST(dep_delay AS INTEGER) AS delay, flight + 0 AS flight, tailnum, origin, dest, 0 AS at
FROM raw WHERE dep_time <> 'NA';
UPDATE f SET at = scheduled + 60 * delay;

.mode list
.headers off
.once delays.txt
SELECT origin, strftime('%Y-%m-%dT%H:00:00Z', at, 'unixepoch') AS hour, count(*), sum(delay), max(delay)
FROM f GROUP BY 1, 2 ORDER BY 1, 2;

.once top.txt
SELECT origin, day, rank, dest, n FROM (
  SELECT *, row_number() OVER (PARTITION BY origin, day ORDER BY n DESC, dest) AS rank FROM (
    SELECT origin, strftime('%Y-%m-%d', at, 'unixepoch', 'localtime') AS day, dest, count(*) AS n FROM f GROUP BY 1, 2, 3))
WHERE rank <= 3 ORDER BY 1, 2, 3;

.once turnaround.txt
WITH a AS (SELECT *, delay > 30 AS late, lag(at) OVER w AS prev_at, lag(delay > 30) OVER w AS prev_late
           FROM f WHERE tailnum NOT IN ('', 'NA') WINDOW w AS (PARTITION BY tailnum ORDER BY at, scheduled, flight, origin)),
     b AS (SELECT *, sum(NOT (late AND coalesce(prev_late, 0) AND at - prev_at <= 12 * 3600))
                       OVER (PARTITION BY tailnum ORDER BY at, scheduled, flight, origin) AS island FROM a)
SELECT tailnum, strftime('%Y-%m-%dT%H:%M:%SZ', min(at), 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch'),
       count(*), sum(delay)
FROM b WHERE late GROUP BY tailnum, island HAVING count(*) >= 3 ORDER BY 1, 2;
