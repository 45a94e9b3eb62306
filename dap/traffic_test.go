package dap

import "testing"

func TestWithoutSecrets(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{`{"seq":1, "command":"next"}`, `{"seq":1, "command":"next"}`},
		{
			`{"arguments":{"args":["env"],"env":{"A":"1","B":"2"},"token":"xyz"}}`,
			`{"arguments":{"args":["env"],"env":{"A":"(hidden)","B":"(hidden)"},"token":"(hidden)"}}`,
		},
		{`{"arguments":{"list":[{"env":["A=1"]}]}}`, `{"arguments":{"list":[{"env":"(hidden)"}]}}`},
		{`{"arguments":{"token":"xyz"`, `(hidden)`},
	} {
		if got := withoutSecrets([]byte(tt.message)); got != tt.want {
			t.Errorf("%s is logged as %s, want %s", tt.message, got, tt.want)
		}
	}
}
