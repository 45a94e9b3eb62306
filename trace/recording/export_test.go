package recording

// What the tests need of the insides.
var (
	Begun       = begun
	BuildIDNote = buildIDNote
)

const (
	MetaName = metaName
	Format   = recordingFormat
)
