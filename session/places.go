package session

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/sourceline"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// Place is a call in the program. What is unknown is empty or 0.
type Place struct {
	Call     string `json:"call"` // "MPI_Recv"
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"` // the file that holds the code
	Offset   uint64 `json:"offset,omitempty"` // the address in it
}

// Where is "tsp.c:136", or what is known instead. The file is as in the debug information; short makes it shorter for
// people.
func (p Place) Where(short func(path string) string) string {
	switch {
	case p.File != "":
		return fmt.Sprintf("%s:%d", short(p.File), p.Line)
	case p.Module != "":
		return fmt.Sprintf("%s+%#x", short(p.Module), p.Offset)
	}
	return "an unknown place"
}

// places resolves call sites of a recording to places, and gives them numbers. Each file is read once; what cannot be
// read is said once.
type places struct {
	all     []Place
	numbers map[Place]int
	modules map[string]*module // by path
	program string             // where the program is now, if not where it was recorded
	was     string
	notes   []string
}

type module struct {
	file  *sourceline.File // nil: cannot be read
	build string           // build-id, in hexadecimal
}

func newPlaces(rec *recording.Recording, program string) *places {
	return &places{
		numbers: map[Place]int{}, modules: map[string]*module{}, program: program,
		was: rec.Meta.Program.Path,
	}
}

func (p *places) close() {
	for _, m := range p.modules {
		if m.file != nil {
			m.file.Close() //nolint:errcheck // read only
		}
	}
}

// number is a causal.PlaceFunc.
func (p *places) number(site causal.Site, known bool, op mpispec.Op) int {
	place := Place{Call: op.Call()}
	if known {
		p.locate(&place, site)
	}
	n, ok := p.numbers[place]
	if !ok {
		n = len(p.all)
		p.all = append(p.all, place)
		p.numbers[place] = n
	}
	return n
}

func (p *places) locate(place *Place, site causal.Site) {
	place.Module, place.Offset = site.Module, site.Offset
	m := p.module(site)
	if m.file == nil {
		return
	}
	l := m.file.At(site.Offset)
	place.Function = l.Function
	if l.File != "" {
		// Several addresses may be one line: they are one place.
		place.File, place.Line, place.Module, place.Offset = l.File, l.Line, "", 0
	}
}

func (p *places) module(site causal.Site) *module {
	m, ok := p.modules[site.Module]
	if !ok {
		m = p.open(site.Module)
		p.modules[site.Module] = m
	}
	if want := hex.EncodeToString([]byte(site.BuildID)); m.file != nil && want != "" && m.build != want {
		p.notes = append(p.notes, fmt.Sprintf("%s is not the build that was recorded (build-id %s, recorded was "+
			"%s): its lines are not known.", site.Module, m.build, want))
		m.file.Close() //nolint:errcheck // read only
		m.file = nil
	}
	return m
}

func (p *places) open(path string) *module {
	if p.program != "" && path == p.was {
		path = p.program
	}
	m := &module{}
	file, err := sourceline.Open(path)
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("The lines of calls in %s are not known: %v.", path, err))
		return m
	}
	m.file = file
	if id, err := recording.IdentifyProgram(path); err == nil && id.IDKind == recording.IDBuild { // else it has none
		m.build = id.ID
	}
	return m
}

// Below is for Place.Where: paths below a directory are relative to it.
func Below(dir string) func(string) string {
	return func(path string) string {
		if rel, err := filepath.Rel(dir, path); err == nil && dir != "" && filepath.IsLocal(rel) {
			return rel
		}
		return path
	}
}
