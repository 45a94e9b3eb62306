package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/trace"
)

// Pack packs the traces of all ranks that are not packed yet. Each is written beside the trace, read back and compared,
// forced to disk and renamed before the trace is removed: whenever that is interrupted, what was recorded is there.
// What cannot be packed, because it is not whole, or the disk is full, stays as it is; all such errors are
// joined. The end of ctx leaves the rest unpacked. progress, if not nil, is called from several goroutines with numbers
// of bytes that have been packed.
func (rec *Recording) Pack(ctx context.Context, progress func(int64)) error {
	return rec.EachRank(func(rank int) error {
		path := filepath.Join(rec.Dir, RankFile(rank))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // packed, or missing, which Open tells
		}
		if _, err := os.Lstat(path + trace.PackedSuffix); err == nil {
			// Cohort was killed between the last two steps.
			if _, err := trace.Locate(path); err != nil {
				return err
			}
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("pack trace: %w", err)
			}
			return atomicfile.SyncDir(rec.Dir)
		}
		if err := trace.PackFile(ctx, path, progress); err != nil {
			return fmt.Errorf("pack the trace of rank %d: %w", rank, err)
		}
		return nil
	})
}

// Unpack is the inverse of Pack, with the same care.
func (rec *Recording) Unpack(ctx context.Context) error {
	return rec.EachRank(func(rank int) error {
		path := filepath.Join(rec.Dir, RankFile(rank))
		if _, err := os.Lstat(path + trace.PackedSuffix); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := trace.UnpackFile(ctx, path); err != nil {
			return fmt.Errorf("unpack the trace of rank %d: %w", rank, err)
		}
		return nil
	})
}

// EachRank runs f for all ranks, as many at once as there are processors. The errors are joined in the order of the
// ranks.
func (rec *Recording) EachRank(f func(rank int) error) error {
	errs := make([]error, rec.Meta.Ranks)
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for rank := range rec.Meta.Ranks {
		slots <- struct{}{}
		group.Go(func() {
			errs[rank] = f(rank)
			<-slots
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// TraceSize is how many bytes the traces of all ranks have on disk; what is missing counts nothing.
func (rec *Recording) TraceSize() int64 {
	var size int64
	for rank := range rec.Meta.Ranks {
		for _, suffix := range []string{"", trace.PackedSuffix} {
			if info, err := os.Stat(filepath.Join(rec.Dir, RankFile(rank)+suffix)); err == nil {
				size += info.Size()
			}
		}
	}
	return size
}
