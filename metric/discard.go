package metric

// Discard returns a group whose handles work and are reported nowhere: for tests of functions that measure. It hands out a
// new handle at each call.
func Discard() Group { return discard{} }

type discard struct{}

func (discard) Counter(string) *Counter          { return new(Counter) }
func (discard) Gauge(string) *Gauge              { return new(Gauge) }
func (discard) GaugeFunc(string, func() float64) {}
func (discard) Meter(string) *Meter              { return new(Meter) }
func (discard) Histogram(string) *Histogram      { return new(Histogram) }
func (discard) Group(string) Group               { return discard{} }
func (discard) Label(string, string) Group       { return discard{} }
