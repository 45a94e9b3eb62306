package exactreplay

// modes are the recording modes; order is the first.
var modes = []string{"order", "racing", "full"}
