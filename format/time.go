package format

import "time"

// ParseTime parses the commonest form of RFC 3339, "2006-01-02T15:04:05Z", in UTC. ok is false for every other form, which
// need not be wrong: the caller then asks time.Parse.
func ParseTime(b []byte) (t time.Time, ok bool) {
	if len(b) != 20 || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != 'Z' {
		return time.Time{}, false
	}
	var bad byte
	two := func(i int) int {
		h, l := b[i]-'0', b[i+1]-'0'
		if h > 9 || l > 9 {
			bad = 1
		}
		return int(h)*10 + int(l)
	}
	year, month, day := two(0)*100+two(2), two(5), two(8)
	hour, minute, sec := two(11), two(14), two(17)
	if bad != 0 || month < 1 || month > 12 || day < 1 || day > 28 && day > monthDays(year, month) || hour > 23 || minute > 59 || sec > 59 {
		return time.Time{}, false
	}
	return time.Unix(civilDays(year, month, day)*86400+int64(hour*3600+minute*60+sec), 0).UTC(), true
}

func monthDays(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays counts days since 1970-01-01 in the Gregorian calendar: years begin in March, so that the leap day comes last,
// and 400 years are one cycle of 146,097 days.
func civilDays(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yearOfEra := year - era*400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return int64(era)*146097 + int64(dayOfEra) - 719468
}
