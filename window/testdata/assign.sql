-- Where Flink puts rows: tumbling and hopping windows with offsets and before 1970, and sessions that touch.
CREATE TABLE t (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()) WITH (
  'connector' = 'replay',
  'rows' = '
    ["a", "1970-01-01 00:00:00.000"]
    ["a", "1970-01-01 00:00:00.001"]
    ["a", "1969-12-31 23:59:59.999"]
    ["a", "1969-12-31 23:59:55.000"]
    ["a", "1969-12-31 23:59:50.000"]
    ["a", "1970-01-01 00:00:09.999"]
    ["a", "1970-01-01 00:00:10.000"]
    ["a", "1970-01-01 00:00:13.000"]
    ["a", "2013-03-10 06:59:59.999"]
    ["a", "2013-03-10 07:00:00.000"]
    ["a", "1901-02-03 04:05:06.789"]
  ');

SELECT ts, window_start, window_end FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND));

SELECT ts, window_start, window_end FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND));

SELECT ts, window_start, window_end FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '-3' SECOND));

SELECT ts, window_start, window_end FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '7' DAY));

SELECT ts, window_start, window_end FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND));

SELECT ts, window_start, window_end FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND, INTERVAL '2' SECOND));

SELECT ts, window_start, window_end FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND, INTERVAL '-2' SECOND));

-- The older form takes a size that is no multiple of the slide, and a slide above the size.
SELECT HOP_START(ts, INTERVAL '0.7' SECOND(1, 3), INTERVAL '1.6' SECOND(1, 3)) AS s, HOP_END(ts, INTERVAL '0.7' SECOND(1, 3), INTERVAL '1.6' SECOND(1, 3)) AS e, COUNT(*) AS c, MIN(ts) AS lo, MAX(ts) AS hi
FROM t GROUP BY HOP(ts, INTERVAL '0.7' SECOND(1, 3), INTERVAL '1.6' SECOND(1, 3));

SELECT HOP_START(ts, INTERVAL '7' SECOND, INTERVAL '3' SECOND) AS s, HOP_END(ts, INTERVAL '7' SECOND, INTERVAL '3' SECOND) AS e, COUNT(*) AS c, MIN(ts) AS lo, MAX(ts) AS hi
FROM t GROUP BY HOP(ts, INTERVAL '7' SECOND, INTERVAL '3' SECOND);

SELECT window_start, window_end, COUNT(*) AS c FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND)) GROUP BY window_start, window_end, k;

SELECT window_start, window_end, COUNT(*) AS c FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4.999' SECOND(1, 3))) GROUP BY window_start, window_end, k;

SELECT window_start, window_end, COUNT(*) AS c FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, k;
