package metrics

import (
	"strings"

	"github.com/weir-stream/weir/config"
)

// Scope says what a group's metrics are about.
type Scope uint8

// The scopes, as Flink has them.
const (
	JobManager Scope = iota
	JobManagerJob
	TaskManager
	TaskManagerJob
	Task
	Operator
	scopes
)

// logical is the part of a Prometheus name that tells the scope.
var logical = [scopes]string{"jobmanager", "jobmanager_job", "taskmanager", "taskmanager_job", "taskmanager_job_task", "taskmanager_job_task_operator"}

// String is the scope as it stands in Prometheus names.
func (s Scope) String() string { return logical[s] }

// Label is one variable of a scope with its value, or one that a user's function added.
type Label struct{ Name, Value string }

// Config is what a registry is made of.
type Config struct {
	Host   string // this machine
	Worker string // this worker's id (Flink's tm_id)

	Delimiter string         // between the parts of a full name
	Formats   [scopes]string // of the scopes' part of full names, with variables such as <host>
}

// ConfigFrom takes the metrics.scope options.
func ConfigFrom(c *config.Config, host, worker string) Config {
	return Config{Host: host, Worker: worker, Delimiter: c.Get(config.MetricsDelimiter), Formats: [scopes]string{
		JobManager:     c.Get(config.MetricsScopeJobManager),
		JobManagerJob:  c.Get(config.MetricsScopeJobManagerJob),
		TaskManager:    c.Get(config.MetricsScopeTaskManager),
		TaskManagerJob: c.Get(config.MetricsScopeTaskManagerJob),
		Task:           c.Get(config.MetricsScopeTask),
		Operator:       c.Get(config.MetricsScopeOperator),
	}}
}

// fill replaces the variables of a format. A variable that the scope does not have stays as it is, so that it is seen.
func fill(format string, vars []Label) string {
	pairs := make([]string, 0, 2*len(vars))
	for _, v := range vars {
		pairs = append(pairs, "<"+v.Name+">", v.Value)
	}
	return strings.NewReplacer(pairs...).Replace(format)
}

// promName turns every character outside [a-zA-Z0-9:_] into "_", as Flink's reporter does.
func promName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ':' || r == '_' {
			return r
		}
		return '_'
	}, s)
}
