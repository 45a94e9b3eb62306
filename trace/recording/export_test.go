package recording

// What the tests need of the insides.
var (
	Begun = begun
)

const (
	MetaName = metaName
	Format   = recordingFormat
)
