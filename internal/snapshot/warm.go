package snapshot

// Encoder and decoder hand out their workers through channels that they make at the first use. They are made when the program
// starts: a channel that is made within a bubble of testing/synctest is of no use to the next bubble.
func init() {
	if enc, err := encoder(); err == nil {
		if dec, err := decoder(); err == nil {
			_, _ = dec.DecodeAll(enc.EncodeAll([]byte{0}, nil), nil)
		}
	}
}
