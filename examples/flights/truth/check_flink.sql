-- A second opinion on truth.py: delays and top in Flink SQL 2.3, batch mode, over rows.csv of README.md.

SET 'execution.runtime-mode' = 'batch';
SET 'table.local-time-zone' = 'America/New_York';

CREATE TABLE f (
  `year` INT, `month` INT, `day` INT, dep_time STRING, sched_dep_time INT, dep_delay STRING, arr_time STRING,
  sched_arr_time STRING, arr_delay STRING, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
  air_time STRING, distance STRING, `hour` STRING, `minute` STRING, time_hour STRING
) WITH ('connector' = 'filesystem', 'path' = 'rows.csv', 'format' = 'csv');

CREATE VIEW d AS
SELECT origin, dest, CAST(dep_delay AS INT) AS delay,
       UNIX_TIMESTAMP(CONCAT(CAST(`year` AS STRING), '-', LPAD(CAST(`month` AS STRING), 2, '0'), '-',
         LPAD(CAST(`day` AS STRING), 2, '0'), ' ', LPAD(CAST(sched_dep_time / 100 AS STRING), 2, '0'), ':',
         LPAD(CAST(MOD(sched_dep_time, 100) AS STRING), 2, '0'), ':00')) + 60 * CAST(dep_delay AS INT) AS ts
FROM f WHERE dep_time <> 'NA';

SELECT origin, ts / 3600 * 3600 AS h, COUNT(*), SUM(delay), MAX(delay), AVG(CAST(delay AS DOUBLE))
FROM d GROUP BY origin, ts / 3600 * 3600;

SELECT origin, dy, rk, dest, n FROM (
  SELECT origin, dy, dest, n, ROW_NUMBER() OVER (PARTITION BY origin, dy ORDER BY n DESC, dest) AS rk FROM (
    SELECT origin, FROM_UNIXTIME(ts, 'yyyy-MM-dd') AS dy, dest, COUNT(*) AS n
    FROM d GROUP BY origin, FROM_UNIXTIME(ts, 'yyyy-MM-dd'), dest))
WHERE rk <= 3;
