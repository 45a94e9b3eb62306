package hitcondition

import (
	"fmt"
	"strings"
	"testing"
)

func TestStops(t *testing.T) {
	for _, tt := range []struct{ condition, stops string }{
		{"", "1 2 3 4 5 6 7 8 9"},
		{" 3 ", "3 4 5 6 7 8 9"},
		{">=3", "3 4 5 6 7 8 9"},
		{"> 3", "4 5 6 7 8 9"},
		{"> 0", "1 2 3 4 5 6 7 8 9"},
		{"= 3", "3"},
		{"==3", "3"},
		{"% 3", "3 6 9"},
		{"%1", "1 2 3 4 5 6 7 8 9"},
	} {
		rule, err := Parse(tt.condition)
		if err != nil {
			t.Errorf("%q: %v", tt.condition, err)
			continue
		}
		var stops, passed []string
		pass := rule.First - 1 // as a debugger does that counts down what it passes
		for n := 1; n < 10; n++ {
			if rule.Stops(n) {
				stops = append(stops, fmt.Sprint(n))
			}
			if pass--; pass < 0 {
				passed = append(passed, fmt.Sprint(n))
				pass = rule.PassAfter()
			}
		}
		if got := strings.Join(stops, " "); got != tt.stops || strings.Join(passed, " ") != tt.stops {
			t.Errorf("%q stops at %s; by counting down at %s; want %s", tt.condition, got, passed, tt.stops)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, condition := range []string{
		"0", "-1", "often", "%", "% 0", "%0.5", "== 0", "< 3", "!= 3", ">= 0", "3 4",
		"99999999999999999999",
	} {
		if rule, err := Parse(condition); err == nil || !strings.Contains(err.Error(), condition) {
			t.Errorf("%q: %+v, %v", condition, rule, err)
		}
	}
}
