package scripts

import (
	"testing"

	"github.com/cohort-debugger/cohort/testkit/cohorttest"
)

func TestMain(m *testing.M) { cohorttest.Main(m) }
