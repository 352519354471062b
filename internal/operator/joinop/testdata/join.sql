-- oracle: --materialize
CREATE TABLE l (id INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH (
  'connector' = 'replay',
  'rows' = '
    {"at": 0, "row": [0, "b", "2024-03-01 10:00:00"]}
    {"at": 2, "row": [1, "d", "2024-03-01 10:00:00"]}
    {"at": 4, "row": [2, "b", "2024-03-01 10:00:07"]}
    {"at": 6, "row": [3, "a", "2024-03-01 10:00:08"]}
    {"at": 8, "row": [4, "b", "2024-03-01 10:00:00"]}
    {"at": 10, "row": [5, "b", "2024-03-01 10:00:08"]}
    {"at": 12, "row": [6, "a", "2024-03-01 10:00:10"]}
    {"at": 14, "row": [7, "d", "2024-03-01 10:00:14"]}
    {"at": 16, "row": [8, "d", "2024-03-01 10:00:17"]}
    {"at": 18, "row": [9, "b", "2024-03-01 10:00:24"]}
    {"at": 20, "row": [10, "a", "2024-03-01 10:00:25"]}
    {"at": 22, "row": [11, "b", "2024-03-01 10:00:44"]}
    {"at": 24, "row": [12, "c", "2024-03-01 10:00:32"]}
    {"at": 26, "row": [13, "d", "2024-03-01 10:00:37"]}
    {"at": 28, "row": [14, "d", "2024-03-01 10:00:53"]}
    {"at": 30, "row": [15, "c", "2024-03-01 10:00:57"]}
    {"at": 32, "row": [16, "a", "2024-03-01 10:00:52"]}
    {"at": 34, "row": [17, "d", "2024-03-01 10:01:05"]}
    {"at": 36, "row": [18, "a", "2024-03-01 10:01:02"]}
    {"at": 38, "row": [19, "b", "2024-03-01 10:01:14"]}
    {"at": 40, "row": [20, "d", "2024-03-01 10:01:04"]}
    {"at": 42, "row": [21, "b", "2024-03-01 10:01:06"]}
    {"at": 44, "row": [22, "b", "2024-03-01 10:01:26"]}
    {"at": 46, "row": [23, "a", "2024-03-01 10:01:17"]}
    {"at": 48, "row": [24, "b", "2024-03-01 10:01:32"]}
    {"at": 50, "row": [25, "d", "2024-03-01 10:01:22"]}
    {"at": 52, "row": [26, "d", "2024-03-01 10:01:35"]}
    {"at": 54, "row": [27, "c", "2024-03-01 10:01:35"]}
    {"at": 56, "row": [28, "b", "2024-03-01 10:01:47"]}
    {"at": 58, "row": [29, "a", "2024-03-01 10:01:39"]}
    {"at": 60, "row": [30, "c", "2024-03-01 10:01:49"]}
    {"at": 62, "row": [31, "d", "2024-03-01 10:01:48"]}
    {"at": 64, "row": [32, "b", "2024-03-01 10:01:59"]}
    {"at": 66, "row": [33, "b", "2024-03-01 10:02:01"]}
    {"at": 68, "row": [34, "c", "2024-03-01 10:02:00"]}
    {"at": 70, "row": [35, "a", "2024-03-01 10:02:04"]}
    {"at": 72, "row": [36, "b", "2024-03-01 10:02:13"]}
    {"at": 74, "row": [37, "b", "2024-03-01 10:02:28"]}
    {"at": 76, "row": [38, "c", "2024-03-01 10:02:22"]}
    {"at": 78, "row": [39, "b", "2024-03-01 10:02:28"]}
    {"at": 80, "row": [40, "a", "2024-03-01 10:02:27"]}
    {"at": 82, "row": [41, "c", "2024-03-01 10:02:32"]}
    {"at": 84, "row": [42, "c", "2024-03-01 10:02:35"]}
    {"at": 86, "row": [43, "b", "2024-03-01 10:02:40"]}
    {"at": 88, "row": [44, "a", "2024-03-01 10:02:51"]}
    {"at": 90, "row": [45, "a", "2024-03-01 10:02:54"]}
    {"at": 92, "row": [46, "b", "2024-03-01 10:02:55"]}
    {"at": 94, "row": [47, "a", "2024-03-01 10:03:08"]}
    {"at": 96, "row": [48, "d", "2024-03-01 10:03:02"]}
    {"at": 98, "row": [49, "b", "2024-03-01 10:02:58"]}
  ');

CREATE TABLE r (id INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND) WITH (
  'connector' = 'replay',
  'rows' = '
    {"at": 1, "row": [0, "d", "2024-03-01 10:00:00"]}
    {"at": 3, "row": [1, "b", "2024-03-01 10:00:00"]}
    {"at": 5, "row": [2, "d", "2024-03-01 10:00:00"]}
    {"at": 7, "row": [3, "d", "2024-03-01 10:00:10"]}
    {"at": 9, "row": [4, "a", "2024-03-01 10:00:07"]}
    {"at": 11, "row": [5, "a", "2024-03-01 10:00:19"]}
    {"at": 13, "row": [6, "a", "2024-03-01 10:00:21"]}
    {"at": 15, "row": [7, "c", "2024-03-01 10:00:24"]}
    {"at": 17, "row": [8, "d", "2024-03-01 10:00:28"]}
    {"at": 19, "row": [9, "a", "2024-03-01 10:00:30"]}
    {"at": 21, "row": [10, "a", "2024-03-01 10:00:36"]}
    {"at": 23, "row": [11, "c", "2024-03-01 10:00:32"]}
    {"at": 25, "row": [12, "a", "2024-03-01 10:00:39"]}
    {"at": 27, "row": [13, "c", "2024-03-01 10:00:42"]}
    {"at": 29, "row": [14, "c", "2024-03-01 10:00:56"]}
    {"at": 31, "row": [15, "d", "2024-03-01 10:00:54"]}
    {"at": 33, "row": [16, "a", "2024-03-01 10:01:03"]}
    {"at": 35, "row": [17, "b", "2024-03-01 10:01:03"]}
    {"at": 37, "row": [18, "c", "2024-03-01 10:00:59"]}
    {"at": 39, "row": [19, "d", "2024-03-01 10:01:13"]}
    {"at": 41, "row": [20, "a", "2024-03-01 10:01:14"]}
    {"at": 43, "row": [21, "b", "2024-03-01 10:01:09"]}
    {"at": 45, "row": [22, "d", "2024-03-01 10:01:24"]}
    {"at": 47, "row": [23, "d", "2024-03-01 10:01:29"]}
    {"at": 49, "row": [24, "a", "2024-03-01 10:01:18"]}
    {"at": 51, "row": [25, "d", "2024-03-01 10:01:36"]}
    {"at": 53, "row": [26, "d", "2024-03-01 10:01:28"]}
    {"at": 55, "row": [27, "a", "2024-03-01 10:01:33"]}
    {"at": 57, "row": [28, "d", "2024-03-01 10:01:41"]}
    {"at": 59, "row": [29, "d", "2024-03-01 10:01:49"]}
    {"at": 61, "row": [30, "a", "2024-03-01 10:01:54"]}
    {"at": 63, "row": [31, "a", "2024-03-01 10:01:50"]}
    {"at": 65, "row": [32, "a", "2024-03-01 10:02:05"]}
    {"at": 67, "row": [33, "b", "2024-03-01 10:02:12"]}
    {"at": 69, "row": [34, "a", "2024-03-01 10:02:05"]}
    {"at": 71, "row": [35, "d", "2024-03-01 10:02:04"]}
    {"at": 73, "row": [36, "a", "2024-03-01 10:02:08"]}
    {"at": 75, "row": [37, "b", "2024-03-01 10:02:12"]}
    {"at": 77, "row": [38, "b", "2024-03-01 10:02:22"]}
    {"at": 79, "row": [39, "d", "2024-03-01 10:02:20"]}
    {"at": 81, "row": [40, "b", "2024-03-01 10:02:40"]}
    {"at": 83, "row": [41, "c", "2024-03-01 10:02:35"]}
    {"at": 85, "row": [42, "a", "2024-03-01 10:02:38"]}
    {"at": 87, "row": [43, "d", "2024-03-01 10:02:45"]}
    {"at": 89, "row": [44, "c", "2024-03-01 10:02:54"]}
    {"at": 91, "row": [45, "d", "2024-03-01 10:02:49"]}
    {"at": 93, "row": [46, "c", "2024-03-01 10:02:48"]}
    {"at": 95, "row": [47, "c", "2024-03-01 10:02:57"]}
    {"at": 97, "row": [48, "c", "2024-03-01 10:03:09"]}
    {"at": 99, "row": [49, "b", "2024-03-01 10:03:01"]}
  ');

SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND;

SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND;

SELECT l.id, r.id FROM l RIGHT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND;

SELECT l.id, r.id FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '15' SECOND;

SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND r.ts > l.ts AND r.ts < l.ts + INTERVAL '12' SECOND;

SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND r.ts > l.ts AND r.ts < l.ts + INTERVAL '12' SECOND;

SELECT l.id, r.id FROM l RIGHT JOIN r ON l.k = r.k AND r.ts > l.ts AND r.ts < l.ts + INTERVAL '12' SECOND;

SELECT l.id, r.id FROM l FULL JOIN r ON l.k = r.k AND r.ts > l.ts AND r.ts < l.ts + INTERVAL '12' SECOND;

SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '25' SECOND AND l.ts - INTERVAL '5' SECOND;

SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '25' SECOND AND l.ts - INTERVAL '5' SECOND;

SELECT l.id, r.id FROM l RIGHT JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '25' SECOND AND l.ts - INTERVAL '5' SECOND;

SELECT l.id, r.id FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '25' SECOND AND l.ts - INTERVAL '5' SECOND;

SELECT l.id, r.id FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '30' SECOND))) l JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '30' SECOND))) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;

SELECT l.id, r.id FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '30' SECOND))) l LEFT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '30' SECOND))) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;

SELECT l.id, r.id FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '30' SECOND))) l RIGHT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '30' SECOND))) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;

SELECT l.id, r.id FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '30' SECOND))) l FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '30' SECOND))) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;
