package deploy

// WithoutDeathSignal leaves out what only Linux has, so that the other ways are tested.
func WithoutDeathSignal(c *Config) { c.noDeathSignal = true }
