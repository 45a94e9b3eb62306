// Package rewrite makes recordings from others: the whole part of a damaged one, and one with fewer decisions.
package rewrite
