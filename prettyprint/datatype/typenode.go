package datatype

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Summary says in one line what the type is.
func (t *Type) Summary() string {
	switch {
	case t.Problem != nil:
		return t.Title() + ": " + t.Problem.Error()
	case t.Combiner() == abi.CombinerNamed:
		return t.Title()
	}
	f := t.Figures
	s := fmt.Sprintf("%s: %s, size %d, extent %d", t.Title(), t.Signature().Text(4), f.Size, f.Extent)
	if t.Freed {
		s += ", freed"
	} else if !t.Committed() {
		s += ", not committed"
	}
	if d := t.Differences(); len(d) > 0 {
		s += "; warning: " + d[0]
	}
	return s
}

// Told says what of a type matters in communication; written is how the program calls it, or "".
func (t *Type) Told(written string) string {
	told := t.Title()
	if t.isLeaf() || t.Problem != nil {
		if written == "" || strings.EqualFold(written, told) {
			return told
		}
		return written + " (" + told + ")"
	}
	signature := t.Signature().Text(4)
	if written == "" || written == told {
		return told + " (" + signature + ")"
	}
	return written + " (" + told + ": " + signature + ")"
}

// Node is all that is known of the datatype, as a tree: its constructor, its figures, its state.
func (t *Type) Node(name string) view.Node {
	kids := []view.Node{t.Constructor()}
	kids[0].Name = "constructor"
	if t.Problem == nil {
		f := t.Figures
		kids = append(
			kids, view.Number("size", f.Size), view.Number("extent", f.Extent), view.Number("lb", f.LB),
			view.Number("ub", f.UB()), view.Number("true_lb", f.TrueLB), view.Number("true_extent", f.TrueExtent),
			view.Number("elements", t.Elements), view.Leaf("signature", t.Signature().Text(32)),
			view.Leaf("blocks", t.blockText()), view.Leaf("gaps", t.Gaps().String()),
		)
		if s := t.unasked(); s != "" {
			kids = append(kids, view.Leaf("figures", s))
		}
	} else {
		kids = append(kids, view.Leaf("problem", t.Problem.Error()))
	}
	kids = append(kids, view.Number("depth", t.Depth), view.Leaf("state", t.stateText()))
	if s := t.Created(); s != "" {
		kids = append(kids, view.Leaf("created", s))
	}
	kids = append(kids, view.Leaf("handle", t.handleText()))
	for _, d := range t.Differences() {
		kids = append(kids, view.Leaf("warning", d))
	}
	n := view.Group(name, t.Summary(), kids)
	n.Type = "MPI_Datatype"
	return n
}

// unasked says where the figures come from, if not from the library: of the many types of a program that makes them
// without end it is not asked.
func (t *Type) unasked() string {
	if _, known := t.Reported(); known || t.Problem != nil || t.isLeaf() {
		return ""
	}
	return fmt.Sprintf("computed from the constructor; %s was not asked about this type", t.reg.MPI())
}

func (t *Type) blockText() string {
	if t.opaque {
		return "unknown: the type holds one that is not decoded yet"
	}
	return fmt.Sprint(t.blocks.n)
}

func (t *Type) stateText() string {
	switch {
	case t.Combiner() == abi.CombinerNamed:
		return "predefined"
	case t.Freed && t.Record.Refs > 0:
		return "freed, still used by another datatype or a pending call"
	case t.Freed:
		return "freed"
	case t.Committed():
		return "committed"
	}
	return "not committed: it cannot be used in communication"
}

func (t *Type) handleText() string {
	if t.FHandle == registry.NoFortran {
		return t.HandleText() + " (its Fortran handle is not known)"
	}
	return t.HandleText()
}

// Created says where and when the type was made; "" of a predefined one.
func (t *Type) Created() string {
	if t.Combiner() == abi.CombinerNamed {
		return ""
	}
	return t.reg.CreatedText(t.Record.CallSite, t.Record.Event)
}

// Text writes the datatype for the console: its constructor in the form of the paper's Fig. 5, then its figures. name
// stands for it.
func (t *Type) Text(w io.Writer, name string, opt view.Options) error {
	if err := view.Write(w, "%s = ", name); err != nil {
		return err
	}
	if err := t.Constructor().Text(w, opt); err != nil {
		return err
	}
	var lines []string
	if f := t.Figures; t.Problem == nil {
		lines = append(
			lines,
			fmt.Sprintf("size %d, extent %d (lb %d, ub %d), true extent %d (true lb %d)",
				f.Size, f.Extent, f.LB, f.UB(), f.TrueExtent, f.TrueLB),
			fmt.Sprintf("%s, contiguous blocks: %s, gaps: %s; depth %d",
				BasicElements(t.Elements), t.blockText(), t.Gaps(), t.Depth),
			"signature: "+t.Signature().Text(32),
		)
	}
	if s := t.unasked(); s != "" {
		lines = append(lines, "figures "+s)
	}
	state := t.stateText()
	if s := t.Created(); s != "" {
		state += "; created " + s
	}
	lines = append(lines, state+"; handle "+t.handleText())
	if t.Problem != nil {
		lines = append(lines, t.Problem.Error())
	}
	if err := view.Write(w, "%s\n", strings.Join(lines, "\n")); err != nil || t.Problem != nil {
		return err
	}
	return WriteWarnings(w, t)
}

func BasicElements(n int64) string { return view.Plural(n, "basic element") }

// WriteWarnings tells what the user should know before trusting or using the type.
func WriteWarnings(w io.Writer, t *Type) error {
	out := t.Differences()
	if t.Freed {
		out = slices.Insert(out, 0, "The datatype was freed; using its handle in an MPI call is an error.")
	} else if !t.Committed() {
		out = slices.Insert(out, 0, "The datatype is not committed; using it in communication is an error.")
	}
	for _, s := range out {
		if err := view.Write(w, "warning: %s\n", s); err != nil {
			return err
		}
	}
	return nil
}
