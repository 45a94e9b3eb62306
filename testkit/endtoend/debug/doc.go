// Package debug holds tests only: sessions over DAP with `cohort dap`, as editors have them.
package debug
