// Package recovery_test runs whole jobs that lose tasks, worker processes and their coordinator, and compares what they have
// counted with what an undisturbed run counts.
package recovery_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/print"
)

// printLanes prints n numbers and the processes that they came through, in lanes without an exchange.
func printLanes(env *weir.Env, n int64, rate float64) {
	pid := int64(os.Getpid())
	weir.From(env, "numbers", generator.Of(func(i int64) counted { return counted{i, 0} }, generator.Count(n), generator.RowsPerSecond(rate))).
		Map(func(c counted) counted { return counted{c.Key, pid} }).
		To("out", print.Func(func(dst []byte, c counted) []byte {
			dst = strconv.AppendInt(dst, c.Key, 10)
			return strconv.AppendInt(append(dst, ' '), c.N, 10)
		}))
}

// programEnv makes the test's binary a program of its own: a job that counts so many rows by key, at so many a second, or, if a
// folder is named behind that, writes them to files.
const programEnv = "WEIR_TEST_RECOVERY"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		weir.Main(func(env *weir.Env) error {
			args := env.Args()
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			rate, err := strconv.ParseFloat(args[1], 64)
			if err != nil {
				return err
			}
			if len(args) > 2 && args[2] == "lanes" {
				printLanes(env.Name("lanes"), n, rate)
				return nil
			}
			if len(args) > 2 {
				numbers(env.Name("files"), args[2], n, rate, func(int64) error { return nil })
				return nil
			}
			countRows(env.Name("count"), n, rate, func(int64) error { return nil }).To("out", print.Func(func(dst []byte, c counted) []byte {
				dst = strconv.AppendInt(dst, c.Key, 10)
				return strconv.AppendInt(append(dst, ' '), c.N, 10)
			}))
			return nil
		})
	}
	os.Exit(m.Run())
}
