package recording

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
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
	section := f.Section(".note.gnu.build-id")
	if section == nil || section.Size > 1<<10 {
		return nil
	}
	// The sizes of name and id, the kind of note, the name, the id.
	note, err := section.Data()
	if err != nil || len(note) < 16 || string(note[12:16]) != "GNU\x00" {
		return nil
	}
	return note[16:min(len(note), 16+int(f.ByteOrder.Uint32(note[4:])))]
}
