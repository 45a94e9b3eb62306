package command

import (
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// pictured evaluates TYPE [COUNT] of a picture.
func (c *command) pictured(args []string) (p datatype.Part, count int64, err error) {
	if p, err = c.typeArgument(args[0]); err != nil {
		return p, 0, err
	}
	if !p.At.IsZero() {
		return p, 0, fault.Errorf(fault.Usage, 0, "The picture is one of a whole datatype, and %s names a part of "+
			"it, %s. "+
			"mpipp --tree %s shows where that is.", p.Name, p.At, args[0])
	}
	count = 1
	if len(args) == 2 {
		count, err = c.count(args[1])
	}
	return p, count, err
}

func (c *command) layout(args []string) (*Result, error) {
	p, count, err := c.pictured(args)
	if err != nil {
		return nil, err
	}
	pic, err := picture.ForWidth(p.Type, p.Name, count, int(c.opt.width))
	if err != nil {
		return nil, err
	}
	return &Result{Node: view.Leaf(p.Name, p.Type.Summary()), text: func(w io.Writer, _ view.Options) error {
		if err := pic.Text(w, c.opt.colour); err != nil {
			return err
		}
		return datatype.WriteWarnings(w, p.Type)
	}}, nil
}

func (c *command) svg(args []string) (*Result, error) {
	p, count, err := c.pictured(args)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(c.opt.file, ".svg") {
		return nil, fault.Errorf(fault.Usage, 0, "mpipp --svg writes to files whose names end in .svg; %q does not.",
			c.opt.file)
	}
	pic, err := picture.New(p.Type, p.Name, count, picture.Options{})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := pic.SVG(&b); err != nil {
		return nil, err
	}
	return &Result{
		Node: view.Leaf(p.Name, p.Type.Summary()), File: &backend.File{Name: c.opt.file, Data: []byte(b.String())},
		text: func(w io.Writer, _ view.Options) error {
			if err := view.Write(w, "%s", pic.Head()); err != nil {
				return err
			}
			return datatype.WriteWarnings(w, p.Type)
		},
	}, nil
}
