// Package golden compares texts with files under testdata.
//
// The files are the expected results, read by people in review. WEIR_GOLDEN=write (make golden) writes them anew; the diff
// is then the change to be judged. A missing file fails with that advice.
package golden
