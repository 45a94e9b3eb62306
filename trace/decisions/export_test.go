package decisions

import "github.com/cohort-debugger/cohort/trace"

// AddValues adds the values, threads and turns of records to the plan.
func (d *Plan) AddValues(records []trace.Record) {
	var values valueBuilder
	for _, r := range records {
		values.add(r)
	}
	values.finish(d)
}
