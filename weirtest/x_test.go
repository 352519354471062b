package weirtest
import ("testing";"os";"strconv";"fmt")
func TestX(t *testing.T) {
	tr := soaks[os.Getenv("JOB")]
	n, _ := strconv.Atoi(os.Getenv("SEED"))
	s := draw(uint64(n), 40e6)
	if tr.change != nil { tr.change(&s, 40e6) }
	fmt.Println(s)
	fmt.Println(tr.try(t, s, outcome{}))
}
