package launch

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Version is the release of this binary for people, such as "v0.1.0" or "(devel) 32dacbd6".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" && len(setting.Value) >= 12 {
			version += " " + setting.Value[:12]
		}
	}
	return version
}

// Build names this very binary: the version, and Go's build id of the running executable, which differs as soon as one
// byte of the code does. cohort and its agents compare it, because they share unversioned types.
var Build = sync.OnceValue(func() string {
	return Version() + " build " + executableID("/proc/self/exe")
})

func executableID(path string) string {
	var id []byte
	if file, err := elf.Open(path); err == nil {
		defer file.Close() //nolint:errcheck // read only
		if section := file.Section(".note.go.buildid"); section != nil {
			id, _ = section.Data() // else the file itself is hashed
		}
	}
	h := sha256.New()
	if len(id) > 0 {
		h.Write(id)
		return hex.EncodeToString(h.Sum(nil))[:16]
	}
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close() //nolint:errcheck // read only
	if _, err := io.Copy(h, file); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
