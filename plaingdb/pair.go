package plaingdb

import (
	"encoding/json"
	"fmt"
)

// unmarshalPair reads a JSON array of two.
func unmarshalPair(text []byte, first, second any) error {
	pair := []any{first, second}
	if err := json.Unmarshal(text, &pair); err != nil {
		return fmt.Errorf("a pair is expected: %w", err)
	}
	if len(pair) != 2 {
		return fmt.Errorf("a pair is expected, and %d values came", len(pair))
	}
	return nil
}
