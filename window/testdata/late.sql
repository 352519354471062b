-- Which rows come too late, and which late ones join a session. The watermark is the latest time so far.
CREATE TABLE t (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'replay',
  'rows' = '
    ["a", 1, "1970-01-01 00:01:02.000"]
    ["a", 2, "1970-01-01 00:01:04.000"]
    ["a", 4, "1970-01-01 00:01:03.000"]
    ["a", 8, "1970-01-01 00:01:09.998"]
    ["a", 16, "1970-01-01 00:01:00.000"]
    ["a", 32, "1970-01-01 00:01:09.999"]
    ["a", 64, "1970-01-01 00:01:05.000"]
    ["a", 128, "1970-01-01 00:01:10.000"]
    ["a", 256, "1970-01-01 00:01:30.000"]
    ["a", 512, "1970-01-01 00:01:20.000"]
    ["a", 1024, "1970-01-01 00:01:25.000"]
    ["a", 2048, "1970-01-01 00:01:25.001"]
  ');

SELECT window_start, window_end, COUNT(*) AS c, SUM(n) AS s FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

SELECT window_start, window_end, COUNT(*) AS c, SUM(n) AS s FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end;

SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS s, HOP_END(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS e, COUNT(*) AS c, SUM(n) AS n FROM t GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

SELECT SESSION_START(ts, INTERVAL '5' SECOND) AS s, SESSION_END(ts, INTERVAL '5' SECOND) AS e, COUNT(*) AS c, SUM(n) AS n FROM t GROUP BY SESSION(ts, INTERVAL '5' SECOND), k;
