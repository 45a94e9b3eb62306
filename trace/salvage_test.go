package trace

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// A packed trace unpacks as far as it goes.
func TestUnpackWhatThereIs(t *testing.T) {
	if n, err := unpackWhatThereIs(io.Discard, strings.NewReader("no frame")); n != 0 || err != nil {
		t.Error(n, err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	_, packed := orderTrace(t)
	if _, err := unpackWhatThereIs(full, bytes.NewReader(packed)); err == nil {
		t.Error("writing failed, and nothing is said")
	}
}
