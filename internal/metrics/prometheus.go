package metrics

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weir-stream/weir/internal/netx"
)

// quantiles are those of Flink's Prometheus reporter.
var quantiles = []float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}

// promIdent is a metric's identity in Prometheus: weir_<scope>_<infix>_<name>, with the variables as labels.
type promIdent struct {
	name string
	key  string // name and labels: no two reported metrics may share it
	desc *prometheus.Desc
}

// newPromIdent names the metric as Flink's reporter does, with "weir" in place of "flink". A value that a user's label
// gives a second time under one name replaces the first.
func newPromIdent(g *Group, name string) promIdent {
	labels := prometheus.Labels{}
	for _, v := range g.vars {
		labels[promLabel(v.Name)] = strings.ToValidUTF8(v.Value, "\uFFFD")
	}
	name = promName(strings.Join(append(slices.Clone(g.short), name), "_"))
	id := promIdent{name: "weir_" + g.scope.String() + "_" + name}
	var key strings.Builder
	key.WriteString(id.name)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString("\x00" + k + "\x00" + labels[k])
	}
	id.key = key.String()
	id.desc = prometheus.NewDesc(id.name, name+" (scope: "+g.scope.String()+")", nil, labels)
	return id
}

// promLabel makes a valid label name of a user's one: no colon, no digit in front, no reserved prefix "__".
func promLabel(s string) string {
	s = strings.ReplaceAll(promName(s), ":", "_")
	if s == "" || s[0] >= '0' && s[0] <= '9' || strings.HasPrefix(s, "__") || s == "quantile" {
		return "label_" + strings.TrimLeft(s, "_")
	}
	return s
}

// collector shows a registry to Prometheus. It describes nothing in advance, because metrics come and go with their tasks.
type collector struct{ reg *Registry }

// Describe implements prometheus.Collector.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. Prometheus wants one type for all metrics of one name, and one metric for each set of
// labels; of those that disagree the first by full name is shown.
func (c collector) Collect(out chan<- prometheus.Metric) {
	types := map[string]prometheus.ValueType{}
	seen := map[string]bool{}
	for _, e := range c.reg.sorted() {
		typ := promType(e.kind)
		if first, ok := types[e.prom.name]; ok && first != typ || seen[e.prom.key] {
			continue
		}
		types[e.prom.name], seen[e.prom.key] = typ, true
		m, err := e.prometheus()
		if err != nil {
			m = prometheus.NewInvalidMetric(e.prom.desc, err)
		}
		out <- m
	}
}

// promType is the type under which a kind is shown. UntypedValue stands for a summary here.
func promType(k Kind) prometheus.ValueType {
	switch k {
	case KindCounter:
		return prometheus.CounterValue
	case KindHistogram:
		return prometheus.UntypedValue
	}
	return prometheus.GaugeValue
}

func (e *entry) prometheus() (prometheus.Metric, error) {
	if e.histogram == nil {
		return prometheus.NewConstMetric(e.prom.desc, promType(e.kind), e.value())
	}
	s := e.histogram.Statistics()
	values := map[float64]float64{}
	for _, q := range quantiles {
		values[q] = float64(s.Quantile(q))
	}
	return prometheus.NewConstSummary(e.prom.desc, uint64(s.Count), float64(s.Sum), values)
}

// Handler answers with the registry's metrics in Prometheus' text form. A metric that cannot be read is left out and
// logged; the others are served.
func (r *Registry) Handler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector{r})
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, ErrorLog: errorLog{r.log}, MaxRequestsInFlight: 4})
}

type errorLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(v ...any) { l.log.Warn("metrics are incomplete", "err", v) }

// Serve answers GET /metrics on ln until ctx is done, then closes it and returns nil; or it returns the error that ended
// it before. The listener's owner decides where it listens; it should be the loopback unless configured otherwise.
func (r *Registry) Serve(ctx context.Context, ln netx.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", r.Handler())
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	err := srv.Serve(ln)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
