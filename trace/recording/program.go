package recording

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// How a program is identified.
const (
	IDBuild  = "build-id" // the note that the linker wrote
	IDSHA256 = "sha256"   // the file's hash: it has no build-id
)

// Program is an executable and its identity.
type Program struct {
	Path   string `json:"path"`
	ID     string `json:"id"`     // lower-case hexadecimal
	IDKind string `json:"idKind"` // IDBuild or IDSHA256
}

// IdentifyProgram reads the build-id of an ELF executable; of a file that has none, ELF or not (a script), it takes the
// SHA-256.
func IdentifyProgram(path string) (Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return Program{}, fmt.Errorf("identify program: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	if id := buildID(f); len(id) > 0 {
		return Program{Path: path, ID: hex.EncodeToString(id), IDKind: IDBuild}, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return Program{}, fmt.Errorf("identify program %s: %w", path, err)
	}
	return Program{Path: path, ID: hex.EncodeToString(h.Sum(nil)), IDKind: IDSHA256}, nil
}

// buildID returns nil for a file that is not ELF, or has no build-id that can be read: the hash serves then.
func buildID(r io.ReaderAt) []byte {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil && !errors.Is(err, io.EOF) {
			continue
		}
		if id := buildIDNote(notes, f.ByteOrder, max(p.Align, 4)); id != nil {
			return id
		}
	}
	return nil
}

// buildIDNote finds the note GNU/NT_GNU_BUILD_ID (3) in a note segment.
func buildIDNote(b []byte, order binary.ByteOrder, align uint64) []byte {
	if align != 4 && align != 8 {
		return nil
	}
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		nameLen, descLen, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		descAt := pad(12 + nameLen)
		if descAt+descLen > uint64(len(b)) {
			return nil
		}
		if kind == 3 && bytes.Equal(b[12:12+nameLen], []byte("GNU\x00")) {
			return b[descAt : descAt+descLen]
		}
		next := pad(descAt + descLen)
		if next > uint64(len(b)) {
			return nil
		}
		b = b[next:]
	}
	return nil
}
